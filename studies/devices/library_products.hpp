// SPDX-License-Identifier: Apache-2.0
// Which of the models of studies/devices/product_models.hpp predicts what a library computes, bit for bit, algorithm by
// algorithm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpu/device.hpp"
#include "gpu/device_emulator.hpp"
#include "gpu/library.hpp"
#include "reports/table.hpp"
#include "studies/devices/deadline.hpp"
#include "studies/devices/product_operands.hpp"

namespace ulpscope::studies {

/// Some that take a library's ways apart: short and long sums, few and many outputs; for an emulated device one small product.
std::vector<ProductShape> library_product_shapes(const gpu::Device& device);

/// The engine that emulates a device, for LibraryProductsConfig. @throws ulpscope::Error where there is none.
std::string engine_of_device(const gpu::Device& device);

/// How the products of a library are compared with models.
struct LibraryProductsConfig {
  std::string engine;                ///< of the device, a name of emu::engine_names(): `sm_90`
  std::vector<ProductShape> shapes;  ///< extents of the products
  std::size_t most_algorithms = 16;  ///< for each shape
  std::uint64_t seed = 0;            ///< the key of the operands
  /// Whole products are compared where the emulator can say what a model predicts, or where they have at most this many
  /// multiply-adds; else a sample of outputs is.
  const gpu::DeviceEmulator* emulator = nullptr;
  std::size_t most_on_host = std::size_t{1} << 23;  ///< see `emulator`
  /// Told which call is being compared.
  std::function<void(const std::string&)> progress = {};
  Deadline deadline = {};  ///< algorithms that are not done by then are `not checked`
};

/// One row for each shape and algorithm, on two products: of numbers near N(0, 1), and of numbers that cancel, so that little
/// is left but what the order of summation made.
///
///   explained        yes, no, error: the library could not do it, or not checked: there was no time
///   explanation      the simplest model that predicts all outputs compared, one with as many parts as declared before others;
///                    where there is none, the chain over all of K, promoted or not, that comes nearest; or what went wrong
///   alternatives     other models that predict them too, which these products cannot tell apart
///   also             the first of those
///   outputs          compared, of all three products
///   mismatches, max_ulp_difference, mean_ulp_difference, equal_share, relative_difference
///                    from what the explanation predicts
///
///   scale_mode_a, scale_mode_b, c
///                    the scaling modes and the format of C that the call is of; C itself is none, and scales of whole matrices
///                    are left at 1
///
/// @throws ulpscope::Error where there is no engine of that name.
reports::Table library_products(const gpu::Library& library, const gpu::LibraryCall& call, const LibraryProductsConfig& config);

/// Its columns, and no row.
reports::Table library_products_table();
/// The one row of a shape that there is no explanation of; `explained` is its word for that, `reason` its explanation.
reports::Table unexplained_products(const gpu::Library& library, const gpu::LibraryCall& call, const ProductShape& shape,
                                    const std::string& explained, const std::string& reason);

}  // namespace ulpscope::studies

// SPDX-License-Identifier: Apache-2.0
// What a matrix product costs and what it loses in each format that a device's library multiplies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpu/library.hpp"
#include "reports/table.hpp"
#include "studies/devices/device_work.hpp"
#include "studies/devices/product_operands.hpp"

namespace ulpscope::studies {

/// Squares of 256 to 8192, and linear layers: batches of 16, 32 and 64 (m) on 512, 1024 and 2048 inputs (k) and as many outputs
/// (n).
std::vector<ProductShape> device_cost_shapes();

/// What is measured.
struct DeviceCostConfig {
  std::vector<ProductShape> shapes = device_cost_shapes();  ///< extents of the products
  std::uint64_t seed = 0;                                   ///< the key of the operands
  /// Products of at most this many multiply-adds are compared with a float64 product of this processor, larger ones with one of
  /// the library.
  std::size_t most_on_host = std::size_t{1} << 24;
  /// Told which product is being measured.
  std::function<void(const std::string&)> progress = {};
  Deadline deadline = {};                                  ///< products that have not begun by then are not measured
  std::function<bool()> usable = {};                       ///< of the device (gpu::Device)
  WorkLog* log = nullptr;                                  ///< of products
  std::function<void(const reports::Table&)> so_far = {};  ///< each time that a product was measured
};

/// One row for each shape and format that the library takes, with its favourite algorithm. float32 is CUBLAS_COMPUTE_32F in the
/// default math mode, which multiplies without tf32; float16, bfloat16 and fp8 are multiplied to float16, bfloat16 and bfloat16
/// with float32 sums; fp8 with and without fast accumulation; fp8 and fp4 in the scaling modes that the library has.
///
///   format                of the operands, `A,B` where they differ
///   median_us, least_us   of one product on uniform random numbers (gpu::Library::time)
///   tflops                2 m n k / median time, in 10^12 a second
///   speedup_over_float32  ratio of median times
///   bytes                 of both operands and the result, without scales
///   error                 ||D - R|| / ||R|| in Frobenius norms: D the product of operands near N(0, 1), rounded to the format,
///                         after scaling (studies/devices/scaled_operands.hpp) where the mode has more scales than one;
///                         R the float64 product of the same operands as they were in float32
///   remark                what went wrong, if anything did, and why a product was not measured
///   scale_mode_a, scale_mode_b
///
/// Numbers that there are not are nan: times of a library without a clock, errors where nothing computes R, or
/// where more than 2^22 numbers would have to be scaled here.
reports::Table device_cost(const gpu::Library& library, const DeviceCostConfig& config);

}  // namespace ulpscope::studies

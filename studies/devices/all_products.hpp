// SPDX-License-Identifier: Apache-2.0
// studies/devices/library_products.hpp for all calls of all libraries of a device, in the order in which they tell most while
// the time lasts.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "gpu/library.hpp"
#include "reports/table.hpp"
#include "studies/devices/device_work.hpp"
#include "studies/devices/library_products.hpp"

namespace ulpscope::studies {

/// One call and one shape.
struct LibraryPiece {
  const gpu::Library* library;  ///< not owned
  gpu::LibraryCall call;        ///< one that the library offers
  ProductShape shape;           ///< extents of the product
};

/// Shape by shape; within a shape the formats take turns, those of the narrowest operands first.
std::vector<LibraryPiece> library_pieces(std::span<const std::shared_ptr<const gpu::Library>> libraries,
                                         const std::vector<ProductShape>& shapes);

/// Which products of all libraries, and by how many threads.
struct AllProductsConfig {
  LibraryProductsConfig each;  ///< of each library
  /// Threads that explain side by side, the device being asked by one of them at a time; 0: as many as there are, up to 8
  int threads = 0;
  Deadline deadline = {};                                  ///< what is not done by then is `not checked`
  std::function<bool()> usable = {};                       ///< of the device (gpu::Device)
  WorkLog* log = nullptr;                                  ///< of pieces
  std::function<void(const reports::Table&)> so_far = {};  ///< the pieces done, in their order, each time that one is
};

/// The rows of library_products for each piece, in the order of pieces.
reports::Table all_library_products(const std::vector<LibraryPiece>& pieces, const AllProductsConfig& config);

}  // namespace ulpscope::studies

// SPDX-License-Identifier: Apache-2.0
// How a matrix product falls into chains: the parts of K, and the scales that are applied around them.
#pragma once

#include <cstddef>
#include <vector>

#include "emu/engine_matmul.hpp"

namespace ulpscope::emu {

/// A chain of its own: products [begin, end), the `split`-th of the equal chains.
struct Part {
  std::size_t begin, end, split;  ///< products [begin, end), and the number of the chain from 0
};

/// The scales that the engine does not apply itself.
struct SoftwareScales {
  bool any = false;      ///< whether there are any
  bool along_k = false;  ///< they change along K, so that each part has its own
};
/// Those of a product.
template <class Float>
SoftwareScales software_scales(const EngineMatmul<Float>& problem) noexcept;

/// The parts of K in the order in which they are added. @throws Error where promote or split_k do not fit the engine.
template <class Float>
std::vector<Part> parts_of(const EngineMatmul<Float>& problem);

/// The scale of a grid over an operand of `rows` by `columns` at element (i, j).
inline float scale_at(const ScaleGrid& grid, std::size_t rows, std::size_t columns, std::size_t i, std::size_t j) noexcept {
  return grid.values[i / grid.rows_of_block(rows) * grid.columns + j / grid.columns_of_block(columns)];
}

}  // namespace ulpscope::emu

// SPDX-License-Identifier: Apache-2.0
// Where K is cut: by promotion, by split K, and where scales change.
#include "emu/matmul_parts.hpp"

#include <algorithm>
#include <string>

#include "emu/error.hpp"
#include "emu/product_chains.hpp"

namespace ulpscope::emu {

template <class Float>
SoftwareScales software_scales(const EngineMatmul<Float>& problem) noexcept {
  SoftwareScales scales;
  if (problem.engine.scales != EngineScales::none) return scales;
  scales.any = !problem.scale_a.empty() || !problem.scale_b.empty();
  scales.along_k = problem.scale_a.columns > 1 || problem.scale_b.rows > 1;
  return scales;
}

template <class Float>
std::vector<Part> parts_of(const EngineMatmul<Float>& problem) {
  const std::size_t depth = problem.a.columns();
  const auto step = static_cast<std::size_t>(std::max(problem.engine.products, 1));
  if (problem.promote % step != 0)
    throw Error("promote " + std::to_string(problem.promote) + ": the engine takes " + std::to_string(step) +
                " products in a step; give a multiple of that");
  if (problem.split_k == 0) throw Error("split_k 0: give 1 or more");

  std::vector<std::size_t> blocks;
  if (software_scales(problem).along_k) {
    if (problem.scale_a.columns > 1) blocks.push_back(problem.scale_a.columns_of_block(depth));
    if (problem.scale_b.rows > 1) blocks.push_back(problem.scale_b.rows_of_block(depth));
  }
  std::vector<Part> parts;
  for (std::size_t split = 0; const KRange& chain : equal_chains(depth, problem.split_k, step)) {
    for (const KRange& piece : pieces_of(chain, problem.promote, blocks)) parts.push_back({piece.begin, piece.end, split});
    ++split;
  }
  return parts;
}

template SoftwareScales software_scales(const EngineMatmul<float>&) noexcept;
template SoftwareScales software_scales(const EngineMatmul<double>&) noexcept;
template std::vector<Part> parts_of(const EngineMatmul<float>&);
template std::vector<Part> parts_of(const EngineMatmul<double>&);

}  // namespace ulpscope::emu

// SPDX-License-Identifier: Apache-2.0
// A float32 product tile by tile: panels are packed, chains run by the kernel of the engine, parts added up.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "emu/engine_matmul.hpp"
#include "emu/matmul_epilogue.hpp"
#include "emu/products/operands.hpp"
#include "emu/products/plan.hpp"

namespace ulpscope::emu::detail {

class Tiles {
 public:
  /// `kernels`: one for each part. All but d is kept by reference. @throws Error at an element that is no value of its format
  Tiles(const EngineMatmul<float>& problem, const std::vector<Part>& parts, const std::vector<Kernel>& kernels,
        std::span<float> d);

  void run() const;

 private:
  struct Tile;

  void run_tile(std::size_t row, std::size_t column) const;
  void run_part(std::size_t part, Tile& tile) const;
  /// Adds the chains of a part, scaled, to what those before came to.
  void join(std::size_t part, Tile& tile, std::vector<float>& joined) const;
  void pack_scales(const Kernel& kernel, std::size_t begin, std::size_t steps, Tile& tile) const;
  float with_specials(std::size_t i, std::size_t j, const Part& part, float start, float finite) const;
  float factor(const EngineOperand<float>& operand, std::size_t i, std::size_t j) const noexcept;
  /// The scale that the engine applies to element (i, k) of A or (k, j) of B, 1 where there is none.
  float engine_scale(const ScaleGrid& grid, const EngineOperand<float>& operand, std::size_t i, std::size_t j) const noexcept;
  void look_at_scales();
  float start_of(std::size_t i, std::size_t j) const noexcept;

  const EngineMatmul<float>& problem_;
  const std::vector<Part>& parts_;
  const std::vector<Kernel>& kernels_;
  std::span<float> d_;
  Epilogue<float> epilogue_;
  ReferenceChain<float> reference_;
  CheckedOperand a_, b_;
  bool single_;       ///< one part: its chain is the result
  std::size_t tile_;  ///< extent of a tile of D
};

}  // namespace ulpscope::emu::detail

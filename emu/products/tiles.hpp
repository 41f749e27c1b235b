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
#include "emu/products/workspace.hpp"

namespace ulpscope::emu::detail {

class Tiles {
 public:
  /// A plan with kernels. All but d is kept by reference. @throws Error at an element that is no value of its format
  Tiles(const EngineMatmul<float>& problem, const MatmulPlan& plan, std::span<float> d, Workspace& workspace);

  void run() const;

 private:
  void run_tile(Tile& tile) const;
  void run_part(std::size_t part, Tile& tile) const;
  void run_stretch(std::size_t stretch, Tile& tile) const;
  /// Adds the chains of a part, scaled, to what those before came to.
  void join(std::size_t part, Tile& tile) const;
  void begin(const Tile& tile, float* sums) const;
  void finish(Tile& tile, const float* totals) const;
  bool has_specials() const noexcept { return a_.has_specials() || b_.has_specials(); }
  float with_specials(std::size_t i, std::size_t j, const Part& part, float start, float finite) const;
  float factor(const EngineOperand<float>& operand, std::size_t i, std::size_t j) const noexcept;
  float start_of(std::size_t i, std::size_t j) const noexcept;

  const EngineMatmul<float>& problem_;
  const MatmulPlan& plan_;
  std::span<float> d_;
  Workspace& workspace_;
  const CheckedOperand &a_, &b_;
  Epilogue<float> epilogue_;
  ReferenceChain<float> reference_;
  bool single_;       ///< one part: its chain is the result
  std::size_t tile_;  ///< extent of a tile of D
};

}  // namespace ulpscope::emu::detail

// SPDX-License-Identifier: Apache-2.0
// How a matrix product is cut along K, and which kernel an engine has.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "emu/engine_matmul.hpp"
#include "emu/matmul_panels.hpp"
#include "emu/matmul_stages.hpp"

namespace ulpscope::emu::detail {

/// A chain of its own: products [begin, end), the `split`-th of the equal chains.
struct Part {
  std::size_t begin, end, split;
};

/// The scales that the engine does not apply itself.
struct SoftwareScales {
  bool any = false;
  bool along_k = false;  ///< they change along K, so that each part has its own
};
template <class Float>
SoftwareScales software_scales(const EngineMatmul<Float>& problem) noexcept;

/// The parts of K in the order in which they are added. @throws Error where promote or split_k do not fit the engine.
template <class Float>
std::vector<Part> parts_of(const EngineMatmul<Float>& problem);

/// The scale of a grid over an operand of `rows` by `columns` at element (i, j).
inline float scale_at(const ScaleGrid& grid, std::size_t rows, std::size_t columns, std::size_t i, std::size_t j) noexcept {
  const auto extent = [](std::size_t size, std::size_t count) { return (size + count - 1) / count; };
  return grid.values[i / extent(rows, grid.rows) * grid.columns + j / extent(columns, grid.columns)];
}

/// What runs the chains of a part.
class Kernel {
 public:
  explicit Kernel(const AlignedPlan& plan) : aligned_(plan) {}
  explicit Kernel(const StagesPlan& plan) : stages_(plan) {}

  std::size_t products() const noexcept { return aligned_ ? static_cast<std::size_t>(aligned_->products) : stages_->products; }
  bool wide() const noexcept { return !aligned_ || aligned_->wide; }
  std::size_t blocks() const noexcept { return stages_ ? stages_->blocks : 0; }
  void run(const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators) const {
    if (aligned_) return aligned_steps(*aligned_, a, b, steps, accumulators);
    stages_->float_chains ? chains_steps(*stages_, a, b, steps, accumulators)
                          : stages_steps(*stages_, a, b, steps, accumulators);
  }

 private:
  std::optional<AlignedPlan> aligned_;
  std::optional<StagesPlan> stages_;
};

/// The kernel of each part; nothing where only the reference can run the engine.
std::optional<std::vector<Kernel>> kernels_of(const EngineMatmul<float>& problem, const std::vector<Part>& parts);

/// The fast kernel's plan, where the engine is a single truncating sum that fits it.
std::optional<AlignedPlan> aligned_plan(const Engine& engine, Format a, Format b);

/// The plan of the general kernel for chains of `length` products, where the engine is one that it can run.
std::optional<StagesPlan> stages_plan(const Engine& engine, Format a, Format b, Format scales, std::size_t length);

}  // namespace ulpscope::emu::detail

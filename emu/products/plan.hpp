// SPDX-License-Identifier: Apache-2.0
// How a matrix product is cut along K, and which kernel an engine has.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "emu/engine_matmul.hpp"
#include "emu/matmul_parts.hpp"
#include "emu/products/panels.hpp"
#include "emu/products/stages.hpp"

namespace ulpscope::emu::detail {

/// What runs the chains of a part.
class Kernel {
 public:
  explicit Kernel(const AlignedPlan& plan) : aligned_(plan) {}
  explicit Kernel(const StagesPlan& plan) : stages_(plan) {}

  std::size_t products() const noexcept { return aligned_ ? static_cast<std::size_t>(aligned_->products) : stages_->products; }
  bool wide() const noexcept { return aligned_ ? aligned_->wide : stages_->wide; }
  std::size_t blocks() const noexcept { return stages_ ? stages_->blocks : 0; }
  void run(const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators) const {
    if (aligned_) return aligned_steps(*aligned_, a, b, steps, accumulators);
    stages_->run(*stages_, a, b, steps, accumulators);
  }

 private:
  std::optional<AlignedPlan> aligned_;
  std::optional<StagesPlan> stages_;
};

/// The kernel of each part; nothing where only the reference can run the engine.
std::optional<std::vector<Kernel>> kernels_of(const EngineMatmul<float>& problem, const std::vector<Part>& parts);

/// Whether every product of an engine joins its sum by one fused multiply-add to nearest even, as IEEE 754 has it.
bool is_fused_chain(const Engine& engine, Format accumulator);

/// The fast kernel's plan, where the engine is a single truncating sum that fits it.
std::optional<AlignedPlan> aligned_plan(const Engine& engine, Format a, Format b);

/// The plan of the general kernel for chains of `length` products, where the engine is one that it can run.
std::optional<StagesPlan> stages_plan(const Engine& engine, Format a, Format b, Format scales, std::size_t length);

}  // namespace ulpscope::emu::detail

// SPDX-License-Identifier: Apache-2.0
// How a matrix product is cut along K, and which kernel an engine has.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "emu/engine_matmul.hpp"
#include "emu/matmul_parts.hpp"
#include "emu/products/operands.hpp"
#include "emu/products/panels.hpp"
#include "emu/products/stages.hpp"

namespace ulpscope::emu::detail {

/// What runs the chains of a part.
class Kernel {
 public:
  explicit Kernel(const AlignedPlan& plan) : aligned_(plan) {}
  explicit Kernel(const StagesPlan& plan) : stages_(plan) {}

  std::size_t products() const noexcept { return aligned_ ? static_cast<std::size_t>(aligned_->products) : stages_->products; }
  std::size_t blocks() const noexcept { return stages_ ? stages_->blocks : 0; }
  /// How it reads operands of an engine.
  PanelLayout layout(const Engine& engine) const noexcept {
    return {products(),
            aligned_ || stages_->exponents,
            aligned_ ? aligned_->wide : stages_->wide,
            engine.subnormal_inputs_are_zero,
            engine.input_zeros_are_positive,
            engine.operands_become_float16};
  }
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

/// Products of a part that are packed together: the panels of a tile fit the second-level cache.
struct Stretch {
  std::size_t part, begin, end;  ///< products [begin, end) of the part
  std::size_t steps;             ///< of the kernel
};

/// All that follows from the kind of a product, which its numbers play no part in.
struct MatmulPlan {
  std::vector<Part> parts;
  std::optional<std::vector<Kernel>> kernels;  ///< one for each part
  std::vector<Stretch> stretches;              ///< of all parts, ascending; none without kernels
};
/// @throws Error where promote or split_k do not fit the engine
MatmulPlan plan_of(const EngineMatmul<float>& problem);

/// Plans of the products that were last asked for.
class Plans {
 public:
  /// As plan_of(). What it returns is there until the next call.
  const MatmulPlan& of(const EngineMatmul<float>& problem);

 private:
  /// What a plan follows from.
  struct Kind {
    Engine engine;
    Format a, b, scales;
    std::size_t depth, promote, split_k, block_of_a, block_of_b;  ///< products that share a scale; 0: all

    friend bool operator==(const Kind&, const Kind&) = default;
  };
  struct Known {
    Kind kind;
    MatmulPlan plan;
  };
  static Kind kind_of(const EngineMatmul<float>& problem) noexcept;

  std::vector<std::unique_ptr<const Known>> known_;  ///< the oldest first
};

}  // namespace ulpscope::emu::detail

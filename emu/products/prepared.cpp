// SPDX-License-Identifier: Apache-2.0
// Packs an operand stretch by stretch, and tells products that it was not packed for.
#include "emu/products/prepared.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "emu/error.hpp"
#include "emu/products/engine_scales.hpp"
#include "emu/tasks.hpp"

namespace ulpscope::emu::detail {
namespace {

const EngineOperand<float>& operand_of(const EngineMatmul<float>& problem, MatmulOperand which) noexcept {
  return which == MatmulOperand::a ? problem.a : problem.b;
}
const ScaleGrid& scales_of(const EngineMatmul<float>& problem, MatmulOperand which) noexcept {
  return which == MatmulOperand::a ? problem.scale_a : problem.scale_b;
}
const char* name_of(MatmulOperand which) noexcept { return which == MatmulOperand::a ? "A" : "B"; }

/// Whether kernels read operands of an engine so.
bool read(const std::vector<Kernel>& kernels, const Engine& engine, const std::vector<PanelLayout>& layouts) {
  return std::equal(kernels.begin(), kernels.end(), layouts.begin(), layouts.end(),
                    [&](const Kernel& kernel, const PanelLayout& layout) { return kernel.layout(engine) == layout; });
}

bool is_same(const EngineOperand<float>& x, const EngineOperand<float>& y) noexcept {
  return x.format == y.format && x.values.data() == y.values.data() && x.values.size() == y.values.size() &&
         x.shape.rows == y.shape.rows && x.shape.columns == y.shape.columns && x.shape.stride == y.shape.stride &&
         x.transposed == y.transposed;
}
bool is_same(const ScaleGrid& x, const ScaleGrid& y) noexcept {
  return x.format == y.format && x.values.data() == y.values.data() && x.values.size() == y.values.size() && x.rows == y.rows &&
         x.columns == y.columns;
}

}  // namespace

Prepared::Prepared(const EngineMatmul<float>& problem, MatmulOperand which)
    : which_(which), engine_(problem.engine), scales_(scales_of(problem, which)) {
  const MatmulPlan plan = plan_of(problem);
  const bool along_rows = which == MatmulOperand::a, scaled = problem.engine.scales != EngineScales::none;
  const EngineOperand<float>& operand = operand_of(problem, which);
  checked_.check(name_of(which), operand, along_rows, problem.threads);
  if (scaled) look_at_scales(engine_, scales_, along_rows, checked_);
  if (plan.kernels)
    for (const Kernel& kernel : *plan.kernels) layouts_.push_back(kernel.layout(engine_));
  stretches_ = plan.stretches;
  const std::size_t lines = along_rows ? operand.rows() : operand.columns();
  panels_ = (lines + panel_rows - 1) / panel_rows;
  along_rows ? rows_.resize(stretches_.size() * panels_) : columns_.resize(stretches_.size() * panels_);
  for_each_task(stretches_.size() * panels_, problem.threads, [&](std::size_t task) {
    const Stretch& stretch = stretches_[task / panels_];
    const std::size_t line = task % panels_ * panel_rows;
    const PanelLayout& layout = layouts_[stretch.part];
    const Kernel& kernel = (*plan.kernels)[stretch.part];
    if (along_rows) {
      checked_.pack_rows(layout, line, stretch.begin, stretch.end, rows_[task]);
      if (kernel.blocks() > 0) pack_row_scales(engine_, kernel, stretch, scales_, operand, line, rows_[task]);
    } else {
      checked_.pack_columns(layout, line, stretch.begin, stretch.end, columns_[task]);
      if (kernel.blocks() > 0) pack_column_scales(engine_, kernel, stretch, scales_, operand, line, columns_[task]);
    }
  });
}

void Prepared::check(const EngineMatmul<float>& problem, const MatmulPlan& plan, MatmulOperand which) const {
  const bool scaled = problem.engine.scales != EngineScales::none;
  const bool fits = which == which_ && is_same(operand_of(problem, which), checked_.operand()) &&
                    engine_.scales == problem.engine.scales && engine_.scale_products == problem.engine.scale_products &&
                    (!scaled || is_same(scales_of(problem, which), scales_)) && stretches_ == plan.stretches && plan.kernels &&
                    read(*plan.kernels, problem.engine, layouts_);
  if (!fits) throw Error(std::string(name_of(which)) + " was prepared for another product: prepare it for this one");
}

}  // namespace ulpscope::emu::detail

// SPDX-License-Identifier: Apache-2.0
// Checks the problem and hands it to the fastest way that gives its bits: tiles, the exact product, or the reference.
#include "emu/engine_matmul.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "emu/bulk.hpp"
#include "emu/decode.hpp"
#include "emu/error.hpp"
#include "emu/matmul_epilogue.hpp"
#include "emu/products/operands.hpp"
#include "emu/products/plan.hpp"
#include "emu/products/prepared.hpp"
#include "emu/products/tiles.hpp"
#include "emu/products/workspace.hpp"
#include "emu/tasks.hpp"

namespace ulpscope::emu {
namespace {

std::string shape_words(std::size_t rows, std::size_t columns) {
  return std::to_string(rows) + " by " + std::to_string(columns);
}

template <class Float>
void check(const EngineMatmul<Float>& problem, std::size_t d_size) {
  const auto &a = problem.a, &b = problem.b;
  const std::size_t elements = a.rows() * b.columns();
  if (a.columns() != b.rows())
    throw Error("A is " + shape_words(a.rows(), a.columns()) + ", B is " + shape_words(b.rows(), b.columns()) +
                ": the columns of A must be as many as the rows of B");
  if (!problem.c.empty() && problem.c.size() != elements)
    throw Error("C has " + std::to_string(problem.c.size()) + " elements, the product is " +
                shape_words(a.rows(), b.columns()));
  if (d_size < elements) throw Error("D has " + std::to_string(d_size) + " elements, the product " + std::to_string(elements));
  const auto check_grid = [](const char* name, const ScaleGrid& grid, std::size_t rows, std::size_t columns) {
    if (grid.empty()) return;
    if (grid.rows == 0 || grid.columns == 0 || grid.rows > rows || grid.columns > columns ||
        grid.values.size() != grid.rows * grid.columns)
      throw Error(std::string(name) + " is a grid of " + shape_words(grid.rows, grid.columns) + " over a matrix of " +
                  shape_words(rows, columns) + ": it does not fit");
  };
  check_grid("scale_a", problem.scale_a, a.rows(), a.columns());
  check_grid("scale_b", problem.scale_b, b.rows(), b.columns());
}

std::vector<float> row_major(const EngineOperand<float>& operand) {
  std::vector<float> values;
  values.reserve(operand.rows() * operand.columns());
  for (std::size_t i = 0; i < operand.rows(); ++i)
    for (std::size_t j = 0; j < operand.columns(); ++j) values.push_back(operand.at(i, j));
  return values;
}

void check_values(const char* name, const EngineOperand<double>& operand) {
  for (std::size_t i = 0; i < operand.rows(); ++i)
    for (std::size_t j = 0; j < operand.columns(); ++j) {
      const double x = operand.at(i, j);
      if (const double y = round_to(operand.format, x).value; x != y && !(std::isnan(x) && std::isnan(y)))
        throw detail::not_of_format(name, operand.format, i, j, x);
    }
}

/// Everything by the reference: engines without a kernel, and float64.
template <class Float>
void by_reference(const EngineMatmul<Float>& problem, const std::vector<Part>& parts, std::span<Float> d) {
  const Epilogue<Float> epilogue(problem);
  const ReferenceChain<Float> chain(problem);
  const std::size_t columns = problem.b.columns();
  const bool from_c = epilogue.chain_starts_with_c();
  for_each_task(problem.a.rows() * columns, problem.threads, [&](std::size_t at) {
    const std::size_t i = at / columns, j = at % columns;
    const Float start = from_c ? problem.c[at] : Float{0};
    Float total = start;
    if (parts.size() == 1 && !software_scales(problem).along_k) {
      total = chain(i, j, parts.front(), start);
    } else {
      Total<Float> sum(start);
      for (const Part& part : parts) sum.add(epilogue, part, chain(i, j, part, 0), i, j);
      total = sum.value();
    }
    d[at] = epilogue.finish(total, i, j);
  });
}

/// Whether every chain is one exact sum, rounded once, of numbers that the exact product takes.
bool is_exact_product(const EngineMatmul<float>& problem) {
  const Stage& stage = problem.engine.stages[0];
  const int precision = std::max(problem.a.format.precision(), problem.b.format.precision());
  return problem.engine.products == Stage::all && problem.engine.stage_count == 1 && stage.summing == Summing::exact &&
         stage.rounded && precision <= ExactMatrix::most_precision;
}

void by_exact_product(const EngineMatmul<float>& problem, const std::vector<Part>& parts, std::span<float> d) {
  const Epilogue<float> epilogue(problem);
  const std::size_t rows = problem.a.rows(), columns = problem.b.columns(), depth = problem.a.columns();
  const std::vector<float> a = row_major(problem.a), b = row_major(problem.b);
  const bool from_c = epilogue.chain_starts_with_c();
  const bool single = parts.size() == 1 && !software_scales(problem).along_k;
  std::vector<Total<float>> totals;
  for (std::size_t at = 0; at < d.size(); ++at) totals.emplace_back(from_c ? problem.c[at] : 0.0F);
  for (const Part& part : parts) {
    const ExactMatrix left(problem.a.format, std::span(a).subspan(part.begin), {rows, part.end - part.begin, depth});
    const ExactMatrix right(problem.b.format, std::span(b).subspan(part.begin * columns), {part.end - part.begin, columns});
    MatmulOptions options;
    options.rounding.rounding = problem.engine.stages[0].rounding;
    options.threads = problem.threads;
    const auto addend = [&](std::size_t i, std::size_t j) { return static_cast<double>(problem.c[i * columns + j]); };
    const bool with_c = single && from_c;
    exact_matmul(left, right, problem.engine.accumulator, d, options, with_c ? MatmulAddend(addend) : MatmulAddend());
    if (!single)
      for (std::size_t at = 0; at < d.size(); ++at) totals[at].add(epilogue, part, d[at], at / columns, at % columns);
  }
  for (std::size_t at = 0; at < d.size(); ++at)
    d[at] = epilogue.finish(single ? d[at] : totals[at].value(), at / columns, at % columns);
}

}  // namespace

PreparedOperand::PreparedOperand(const EngineMatmul<float>& problem, MatmulOperand which) {
  check(problem, problem.a.rows() * problem.b.columns());
  panels_ = std::make_unique<const detail::Prepared>(problem, which);
}
PreparedOperand::~PreparedOperand() = default;
PreparedOperand::PreparedOperand(PreparedOperand&&) noexcept = default;
PreparedOperand& PreparedOperand::operator=(PreparedOperand&&) noexcept = default;

MatmulWorkspace::MatmulWorkspace() : memory_(std::make_unique<detail::Workspace>()) {}
MatmulWorkspace::~MatmulWorkspace() = default;
MatmulWorkspace::MatmulWorkspace(MatmulWorkspace&&) noexcept = default;
MatmulWorkspace& MatmulWorkspace::operator=(MatmulWorkspace&&) noexcept = default;

void engine_matmul(const EngineMatmul<float>& problem, std::span<float> d, MatmulWorkspace& workspace) {
  check(problem, d.size());
  d = d.first(problem.a.rows() * problem.b.columns());
  detail::Workspace& memory = workspace.memory();
  const detail::MatmulPlan& plan = memory.plans.of(problem);
  if (is_exact_product(problem)) {
    by_exact_product(problem, plan.parts, d);
  } else if (plan.kernels) {
    const auto panels = [](const PreparedOperand* operand) { return operand == nullptr ? nullptr : &operand->panels(); };
    detail::Tiles(problem, plan, panels(problem.prepared_a), panels(problem.prepared_b), d, memory).run();
  } else {
    memory.a.check("A", problem.a, true, problem.threads);
    memory.b.check("B", problem.b, false, problem.threads);
    by_reference(problem, plan.parts, d);
  }
  if (problem.out != float32) round_to(problem.out, std::span<const float>(d), d);
}

void engine_matmul(const EngineMatmul<double>& problem, std::span<double> d, MatmulWorkspace&) {
  check(problem, d.size());
  check_values("A", problem.a);
  check_values("B", problem.b);
  d = d.first(problem.a.rows() * problem.b.columns());
  by_reference(problem, parts_of(problem), d);
  if (problem.out != float64) round_to(problem.out, std::span<const double>(d), d);
}

void engine_matmul(const EngineMatmul<float>& problem, std::span<float> d) {
  MatmulWorkspace workspace;
  engine_matmul(problem, d, workspace);
}

void engine_matmul(const EngineMatmul<double>& problem, std::span<double> d) {
  MatmulWorkspace workspace;
  engine_matmul(problem, d, workspace);
}

}  // namespace ulpscope::emu

// SPDX-License-Identifier: Apache-2.0
// Checks the problem and hands it to the fastest way that gives its bits: tiles, the exact product, or the reference.
#include "emu/engine_matmul.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "emu/bulk.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/exact_matmul.hpp"
#include "emu/exact_sum.hpp"
#include "emu/matmul_epilogue.hpp"
#include "emu/products/double_chains.hpp"
#include "emu/products/exact_tiles.hpp"
#include "emu/products/operands.hpp"
#include "emu/products/plan.hpp"
#include "emu/products/scaled_operands.hpp"
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
        grid.values.size() != grid.rows * grid.columns || (rows - 1) / grid.rows_of_block(rows) >= grid.rows ||
        (columns - 1) / grid.columns_of_block(columns) >= grid.columns)
      throw Error(std::string(name) + " is a grid of " + shape_words(grid.rows, grid.columns) + " over a matrix of " +
                  shape_words(rows, columns) + ": it does not fit");
  };
  check_grid("scale_a", problem.scale_a, a.rows(), a.columns());
  check_grid("scale_b", problem.scale_b, b.rows(), b.columns());
}

void check_values(const char* name, const EngineOperand<double>& operand, int threads) {
  if (operand.values.size() < operand.shape.extent())
    throw Error(std::string(name) + ": has " + std::to_string(operand.values.size()) + " values, its shape needs " +
                std::to_string(operand.shape.extent()));
  if (operand.format == float64) return;
  for_each_task(operand.shape.rows, threads, [&](std::size_t i) {
    const auto values = operand.values.subspan(operand.shape.at(i, 0), operand.shape.columns);
    std::vector<double> rounded(values.size());
    round_to(operand.format, values, std::span(rounded));
    for (std::size_t j = 0; j < values.size(); ++j)
      if (values[j] != rounded[j] && !(std::isnan(values[j]) && std::isnan(rounded[j])))
        throw operand.transposed ? detail::not_of_format(name, operand.format, j, i, values[j])
                                 : detail::not_of_format(name, operand.format, i, j, values[j]);
  });
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

/// Whether every chain is one exact sum, rounded once.
bool is_exact_product(const Engine& engine) {
  Engine exact = block_fma(Stage::all, 0, engine.accumulator, engine.stages[0].rounding);
  exact.stages[0].summing = Summing::exact;
  exact.stages[0].keeps_minus_zero = true;
  exact.nan_result = engine.nan_result;
  exact.nan_code = engine.nan_code;
  return engine == exact && engine.stages[0].rounding != Rounding::stochastic;
}

/// The codes of a part of K, row-major.
template <class Float>
std::vector<Code> codes_of(const EngineOperand<Float>& operand, std::size_t rows, std::size_t columns, std::size_t first_row,
                           std::size_t first_column) {
  std::vector<Code> codes;
  codes.reserve(rows * columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      codes.push_back(encode(operand.format, operand.at(first_row + i, first_column + j)));
  return codes;
}

/// One part of an exact product: by bounds, and what those do not decide term by term, or all by bins where that is much.
template <class Float>
void exact_part(const EngineMatmul<Float>& problem, const Part& part, bool with_c, std::span<Float> d) {
  const std::size_t rows = problem.a.rows(), columns = problem.b.columns(), depth = part.end - part.begin;
  const auto undecided = detail::exact_sums(problem, part, with_c, d);
  MatmulOptions options;
  options.rounding.rounding = problem.engine.stages[0].rounding;
  options.threads = problem.threads;
  const bool has_bins = std::max(problem.a.format.precision(), problem.b.format.precision()) <= ExactMatrix::most_precision;
  if (constexpr std::size_t term_by_term_costs = 16; has_bins && undecided.size() * term_by_term_costs > d.size()) {
    const ExactMatrix left(problem.a.format, codes_of(problem.a, rows, depth, 0, part.begin), {rows, depth});
    const ExactMatrix right(problem.b.format, codes_of(problem.b, depth, columns, part.begin, 0), {depth, columns});
    const auto addend = [&](std::size_t i, std::size_t j) { return static_cast<double>(problem.c[i * columns + j]); };
    exact_matmul(left, right, problem.engine.accumulator, d, options, with_c ? MatmulAddend(addend) : MatmulAddend());
    return;
  }
  for_each_task(undecided.size(), problem.threads, [&](std::size_t task) {
    const std::size_t at = undecided[task], i = at / columns, j = at % columns;
    ExactSum sum;
    for (std::size_t k = part.begin; k < part.end; ++k)
      sum.add_product(problem.a.format, encode(problem.a.format, problem.a.at(i, k)), problem.b.format,
                      encode(problem.b.format, problem.b.at(k, j)));
    if (with_c) sum.add(static_cast<double>(problem.c[at]));
    d[at] = static_cast<Float>(sum.rounded(problem.engine.accumulator, options.rounding).value);
  });
}

template <class Float>
void by_exact_product(const EngineMatmul<Float>& problem, const std::vector<Part>& parts, std::span<Float> d) {
  const Epilogue<Float> epilogue(problem);
  const std::size_t columns = problem.b.columns();
  const bool from_c = epilogue.chain_starts_with_c();
  const bool single = parts.size() == 1 && !software_scales(problem).along_k;
  std::vector<Total<Float>> totals;
  for (std::size_t at = 0; !single && at < d.size(); ++at) totals.emplace_back(from_c ? problem.c[at] : Float{0});
  for (const Part& part : parts) {
    exact_part(problem, part, single && from_c, d);
    if (!single)
      for (std::size_t at = 0; at < d.size(); ++at) totals[at].add(epilogue, part, d[at], at / columns, at % columns);
  }
  for (std::size_t at = 0; at < d.size(); ++at)
    d[at] = epilogue.finish(single ? d[at] : totals[at].value(), at / columns, at % columns);
}

/// Processors differ in the sign and payload of NaNs that their additions make: every NaN is what decode() gives.
template <class Float>
void make_nans_alike(std::span<Float> d) {
  for (Float& x : d) x = x == x ? x : std::numeric_limits<Float>::quiet_NaN();
}

}  // namespace

MatmulWorkspace::MatmulWorkspace() : memory_(std::make_unique<detail::Workspace>()) {}
MatmulWorkspace::~MatmulWorkspace() = default;
MatmulWorkspace::MatmulWorkspace(MatmulWorkspace&&) noexcept = default;
MatmulWorkspace& MatmulWorkspace::operator=(MatmulWorkspace&&) noexcept = default;

void engine_matmul(const EngineMatmul<float>& problem, std::span<float> d, MatmulWorkspace& workspace) {
  check(problem, d.size());
  d = d.first(problem.a.rows() * problem.b.columns());
  detail::Workspace& memory = workspace.memory();
  if (problem.engine.product_exponent != 0) {
    memory.a.check("A", problem.a, true, problem.threads);
    memory.b.check("B", problem.b, false, problem.threads);
    return engine_matmul(detail::with_scaled_operands(problem, memory.scaled_a, memory.scaled_b), d, workspace);
  }
  const detail::MatmulPlan& plan = memory.plans.of(problem);
  if (is_exact_product(problem.engine)) {
    memory.a.check("A", problem.a, true, problem.threads);
    memory.b.check("B", problem.b, false, problem.threads);
    by_exact_product(problem, plan.parts, d);
  } else if (plan.kernels) {
    detail::Tiles(problem, plan, d, memory).run();
  } else {
    memory.a.check("A", problem.a, true, problem.threads);
    memory.b.check("B", problem.b, false, problem.threads);
    by_reference(problem, plan.parts, d);
  }
  make_nans_alike(d);
  if (problem.out != float32) round_to(problem.out, std::span<const float>(d), d);
}

void engine_matmul(const EngineMatmul<double>& problem, std::span<double> d, MatmulWorkspace& workspace) {
  check(problem, d.size());
  check_values("A", problem.a, problem.threads);
  check_values("B", problem.b, problem.threads);
  if (problem.engine.product_exponent != 0) {
    std::vector<double> a, b;
    return engine_matmul(detail::with_scaled_operands(problem, a, b), d, workspace);
  }
  d = d.first(problem.a.rows() * problem.b.columns());
  const auto parts = parts_of(problem);
  if (detail::adds_in_doubles(problem.engine)) {
    detail::double_chains(problem, parts, d);
  } else if (is_exact_product(problem.engine)) {
    by_exact_product(problem, parts, d);
  } else {
    by_reference(problem, parts, d);
  }
  make_nans_alike(d);
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

// SPDX-License-Identifier: Apache-2.0
#include "emu/engine_matmul.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "emu/bulk.hpp"
#include "emu/decode.hpp"
#include "emu/error.hpp"
#include "emu/matmul_epilogue.hpp"
#include "emu/matmul_operands.hpp"
#include "emu/matmul_plan.hpp"
#include "emu/tasks.hpp"

namespace ulpscope::emu {
namespace {

using detail::CheckedOperand;
using detail::Epilogue;
using detail::panel_columns;
using detail::panel_rows;
using detail::Part;
using detail::ReferenceChain;
using detail::Total;

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
  detail::for_each_task(problem.a.rows() * columns, problem.threads, [&](std::size_t at) {
    const std::size_t i = at / columns, j = at % columns;
    const Float start = from_c ? problem.c[at] : Float{0};
    Float total = start;
    if (parts.size() == 1 && !detail::software_scales(problem).along_k) {
      total = chain(i, j, parts.front(), start);
    } else {
      Total<Float> sum(start);
      for (const Part& part : parts) sum.add(epilogue, part, chain(i, j, part, 0), i, j);
      total = sum.value();
    }
    d[at] = epilogue.finish(total, i, j);
  });
}

/// float32 by panels and the kernel of the engine.
class Tiled {
 public:
  Tiled(const EngineMatmul<float>& problem, const detail::AlignedPlan& plan, const std::vector<Part>& parts, std::span<float> d)
      : problem_(problem),
        plan_(plan),
        parts_(parts),
        d_(d),
        epilogue_(problem),
        reference_(problem),
        a_("A", problem.a, true, problem.threads),
        b_("B", problem.b, false, problem.threads),
        layout_{static_cast<std::size_t>(plan.products), plan.wide, problem.engine.subnormal_inputs_are_zero} {}

  void run() const {
    const std::size_t across = (problem_.b.columns() + tile - 1) / tile, down = (problem_.a.rows() + tile - 1) / tile;
    detail::for_each_task(across * down, problem_.threads,
                          [&](std::size_t task) { run_tile(task / across * tile, task % across * tile); });
  }

 private:
  // A tile of D, and the stretch of K whose panels fit the second-level cache together.
  static constexpr std::size_t tile = 256, stretch = 512;

  struct Panels {
    std::vector<detail::RowPanel> a;
    std::vector<detail::ColumnPanel> b;
  };

  void run_tile(std::size_t row, std::size_t column) const {
    const std::size_t row_panels = (std::min(tile, problem_.a.rows() - row) + panel_rows - 1) / panel_rows;
    const std::size_t column_panels = (std::min(tile, problem_.b.columns() - column) + panel_columns - 1) / panel_columns;
    Panels panels{std::vector<detail::RowPanel>(row_panels), std::vector<detail::ColumnPanel>(column_panels)};
    constexpr std::size_t square = panel_rows * panel_columns;
    detail::Lines<float> chains;
    chains.resize(row_panels * column_panels * square);
    const bool single = parts_.size() == 1 && !detail::software_scales(problem_).along_k;
    const bool from_c = epilogue_.chain_starts_with_c();
    std::vector<Total<float>> totals;

    const auto for_each_output = [&](auto act) {
      for (std::size_t r = 0; r < row_panels; ++r)
        for (std::size_t q = 0; q < column_panels; ++q)
          for (std::size_t i = row + r * panel_rows; i < std::min(row + (r + 1) * panel_rows, problem_.a.rows()); ++i)
            for (std::size_t j = column + q * panel_columns;
                 j < std::min(column + (q + 1) * panel_columns, problem_.b.columns()); ++j)
              act(i, j,
                  (r * column_panels + q) * square + (i - row - r * panel_rows) * panel_columns +
                      (j - column - q * panel_columns));
    };
    const auto start = [&](std::size_t i, std::size_t j) { return from_c ? problem_.c[i * problem_.b.columns() + j] : 0.0F; };
    if (!single) {
      totals.assign(row_panels * column_panels * square, Total<float>(0));
      for_each_output([&](std::size_t i, std::size_t j, std::size_t at) { totals[at] = Total<float>(start(i, j)); });
    }

    for (const Part& part : parts_) {
      std::fill_n(chains.data(), row_panels * column_panels * square, 0.0F);
      if (single) for_each_output([&](std::size_t i, std::size_t j, std::size_t at) { chains[at] = start(i, j); });
      run_part(part, row, column, panels, chains.data());
      for_each_output([&](std::size_t i, std::size_t j, std::size_t at) {
        const float value = with_specials(i, j, part, single ? start(i, j) : 0.0F, chains[at]);
        if (single) {
          d_[i * problem_.b.columns() + j] = epilogue_.finish(value, i, j);
        } else {
          totals[at].add(epilogue_, part, value, i, j);
        }
      });
    }
    if (!single)
      for_each_output([&](std::size_t i, std::size_t j, std::size_t at) {
        d_[i * problem_.b.columns() + j] = epilogue_.finish(totals[at].value(), i, j);
      });
  }

  void run_part(const Part& part, std::size_t row, std::size_t column, Panels& panels, float* chains) const {
    const std::size_t distance = std::max(stretch / layout_.products, std::size_t{1}) * layout_.products;
    for (std::size_t begin = part.begin; begin < part.end; begin += distance) {
      const std::size_t end = std::min(part.end, begin + distance);
      const std::size_t steps = (end - begin + layout_.products - 1) / layout_.products;
      for (std::size_t r = 0; r < panels.a.size(); ++r) a_.pack_rows(layout_, row + r * panel_rows, begin, end, panels.a[r]);
      for (std::size_t q = 0; q < panels.b.size(); ++q)
        b_.pack_columns(layout_, column + q * panel_columns, begin, end, panels.b[q]);
      for (std::size_t q = 0; q < panels.b.size(); ++q)
        for (std::size_t r = 0; r < panels.a.size(); ++r)
          detail::aligned_steps(plan_, panels.a[r], panels.b[q], steps,
                                chains + (r * panels.b.size() + q) * panel_rows * panel_columns);
    }
  }

  /// The result of a chain whose infinite and NaN operands the panels have left out as zeros.
  float with_specials(std::size_t i, std::size_t j, const Part& part, float start, float finite) const {
    if (!a_.has_specials() && !b_.has_specials()) return finite;
    bool nan = std::isnan(start), plus = start == infinity, minus = start == -infinity, any = false;
    const auto see = [&](std::uint32_t k) {
      if (k < part.begin || k >= part.end) return;
      any = true;
      const double product = static_cast<double>(factor(problem_.a, i, k)) * static_cast<double>(factor(problem_.b, k, j));
      nan |= std::isnan(product);
      plus |= product == static_cast<double>(infinity);
      minus |= product == -static_cast<double>(infinity);
    };
    for (const std::uint32_t k : a_.specials(i)) see(k);
    for (const std::uint32_t k : b_.specials(j)) see(k);
    if (!any) return finite;
    if (nan || (plus && minus)) return nan_value();
    // The finite part may have overflowed to the other infinity before: the reference knows.
    if (std::isinf(finite) && (finite > 0) != plus) return reference_(i, j, part, start);
    return plus ? infinity : -infinity;
  }

  float factor(const EngineOperand<float>& operand, std::size_t i, std::size_t j) const noexcept {
    const float x = operand.at(i, j);
    const double least = detail::power_of_two(operand.format.min_exponent());
    return layout_.flush && std::abs(static_cast<double>(x)) < least ? 0 : x;
  }
  float nan_value() const noexcept { return static_cast<float>(decode(problem_.engine.accumulator, problem_.engine.nan_code)); }

  static constexpr float infinity = __builtin_inff();
  const EngineMatmul<float>& problem_;
  const detail::AlignedPlan& plan_;
  const std::vector<Part>& parts_;
  std::span<float> d_;
  Epilogue<float> epilogue_;
  ReferenceChain<float> reference_;
  CheckedOperand a_, b_;
  detail::PanelLayout layout_;
};

}  // namespace

void engine_matmul(const EngineMatmul<float>& problem, std::span<float> d) {
  check(problem, d.size());
  d = d.first(problem.a.rows() * problem.b.columns());
  const auto parts = detail::parts_of(problem);
  const auto plan = detail::aligned_plan(problem.engine, problem.a.format, problem.b.format);
  if (plan) {
    Tiled(problem, *plan, parts, d).run();
  } else {
    CheckedOperand("A", problem.a, true, problem.threads);
    CheckedOperand("B", problem.b, false, problem.threads);
    by_reference(problem, parts, d);
  }
  if (problem.out != float32) round_to(problem.out, std::span<const float>(d), d);
}

void engine_matmul(const EngineMatmul<double>& problem, std::span<double> d) {
  check(problem, d.size());
  check_values("A", problem.a);
  check_values("B", problem.b);
  d = d.first(problem.a.rows() * problem.b.columns());
  by_reference(problem, detail::parts_of(problem), d);
  if (problem.out != float64) round_to(problem.out, std::span<const double>(d), d);
}

}  // namespace ulpscope::emu

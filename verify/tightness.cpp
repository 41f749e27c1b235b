// SPDX-License-Identifier: Apache-2.0
// Errors of many products, each divided by its bound.
#include "verify/tightness.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <span>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/engine_bound.hpp"
#include "emu/exact_matmul.hpp"
#include "emu/names.hpp"
#include "tensors/parallel.hpp"
#include "tensors/synthetic.hpp"

namespace ulpscope::verify {
namespace {

using emu::MatrixShape;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::vector<float> drawn(const std::string& distribution, MatrixShape shape, std::uint64_t seed, emu::Format format) {
  const std::string words = distribution + ":" + std::to_string(shape.rows) + "x" + std::to_string(shape.columns);
  std::vector<float> values(shape.extent());
  tensors::synthetic(words, seed).source->read(0, std::span(values));
  emu::round_to<float>(format, values, values, {.policy = emu::Policy::saturating});
  return values;
}

/// Operands, their exact product rounded once to float64, and the sums of magnitudes, the same.
struct Problem {
  MatrixShape of_a, of_b;
  std::vector<float> a, b;
  std::vector<double> exact, magnitude;
};

std::vector<double> exact_product(emu::Format format, const std::vector<float>& a, MatrixShape of_a,
                                  const std::vector<float>& b, MatrixShape of_b) {
  std::vector<double> out(of_a.rows * of_b.columns);
  emu::exact_matmul<double>(emu::ExactMatrix(format, a, of_a), emu::ExactMatrix(format, b, of_b), emu::float64, out,
                            {.threads = 1});
  return out;
}

std::vector<float> magnitudes(std::vector<float> values) {
  for (float& x : values) x = std::fabs(x);
  return values;
}

constexpr const char* cancelling = "cancelling";

/// What product j of the first half adds, product j of the second takes back.
void cancel(Problem& p) {
  const std::size_t k = p.of_b.rows, half = k / 2;
  for (std::size_t j = 0; j + 1 < half; ++j) {
    for (std::size_t i = 0; i < p.of_a.rows; ++i) p.a[p.of_a.at(i, half + j)] = -p.a[p.of_a.at(i, j)];
    for (std::size_t i = 0; i < p.of_b.columns; ++i) p.b[p.of_b.at(half + j, i)] = p.b[p.of_b.at(j, i)];
  }
}

Problem problem_of(const TightnessConfig& config, const TightnessRow& row) {
  Problem p{{config.shape.rows, row.length}, {row.length, config.shape.columns}, {}, {}, {}, {}};
  const emu::Format in = row.accumulation.in;
  const std::string words = row.distribution == cancelling ? "normal:0,1" : row.distribution;
  p.a = drawn(words, p.of_a, config.seed, in);
  p.b = drawn(words, p.of_b, config.seed + 1, in);
  if (row.distribution == cancelling) cancel(p);
  p.exact = exact_product(in, p.a, p.of_a, p.b, p.of_b);
  p.magnitude = exact_product(in, magnitudes(p.a), p.of_a, magnitudes(p.b), p.of_b);
  return p;
}

Shares shares_of(std::vector<double> values) {
  if (values.empty()) return {nan, nan, nan, nan};
  std::sort(values.begin(), values.end());
  const auto quantile = [&](std::size_t parts, std::size_t of) { return values[(values.size() * parts + of - 1) / of - 1]; };
  return {quantile(1, 2), quantile(9, 10), quantile(99, 100), values.back()};
}

/// An error as a part of what is allowed: that of nothing is nothing.
double share(double error, double allowed) { return error == 0 ? 0 : error / allowed; }

void fill(TightnessRow& row, const TightnessConfig& config) {
  const Problem problem = problem_of(config, row);
  const studies::Accumulation& by = row.accumulation;
  const emu::Chain chain{
      .promote = by.promote, .largest_a = studies::largest(problem.a), .largest_b = studies::largest(problem.b)};
  const auto bound = emu::engine_bound(by.engine, by.in, by.in, row.length, chain);
  row.bounded = bound.has_value();
  if (!bound) {
    row.relative = row.probable_relative = nan;
    row.observed_over_bound = row.observed_over_probable = {nan, nan, nan, nan};
    return;
  }
  emu::ErrorBound likely = *bound;
  likely.relative = emu::probable(*bound, config.false_alarm / static_cast<double>(problem.exact.size()));
  row.relative = bound->relative;
  row.probable_relative = likely.relative;
  const std::vector<double> computed = studies::product_on(by, {problem.a, problem.of_a}, {problem.b, problem.of_b});
  std::vector<double> of_bound, of_likely;
  for (std::size_t i = 0; i < computed.size(); ++i) {
    const double value = computed[i];
    if (!std::isfinite(value)) {
      ++row.nonfinite;
      continue;
    }
    const double error = std::fabs(value - problem.exact[i]);
    of_bound.push_back(share(error, bound->allowed(problem.magnitude[i])));
    of_likely.push_back(share(error, likely.allowed(problem.magnitude[i])));
  }
  row.elements = of_bound.size();
  row.observed_over_bound = shares_of(std::move(of_bound));
  row.observed_over_probable = shares_of(std::move(of_likely));
}

}  // namespace

std::vector<TightnessRow> tightness(const TightnessConfig& config) {
  std::vector<TightnessRow> rows;
  std::uint64_t total = 0, done = 0;
  for (const studies::Accumulation& accumulation : config.accumulations)
    for (const std::string& distribution : config.distributions)
      for (const std::size_t length : config.lengths) {
        TightnessRow row;
        row.accumulation = accumulation;
        row.distribution = distribution;
        row.length = length;
        rows.push_back(row);
        total += length;
      }
  std::vector<std::size_t> longest_first(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) longest_first[i] = i;
  std::stable_sort(longest_first.begin(), longest_first.end(),
                   [&](std::size_t x, std::size_t y) { return rows[x].length > rows[y].length; });
  std::mutex one_at_a_time;
  tensors::for_each_index(rows.size(), config.threads, [&](std::size_t i) {
    TightnessRow& row = rows[longest_first[i]];
    fill(row, config);
    if (!config.progress) return;
    const std::lock_guard lock(one_at_a_time);
    config.progress(done += row.length, total);
  });
  return rows;
}

reports::Table tightness_table(const std::vector<TightnessRow>& rows) {
  reports::Table table{"tightness",
                       {"engine", "evidence", "in", "acc", "promote", "distribution", "k", "elements", "nonfinite",
                        "relative_bound", "probable_relative_bound", "median_of_bound", "q90_of_bound", "q99_of_bound",
                        "max_of_bound", "median_of_probable", "q90_of_probable", "q99_of_probable", "max_of_probable"},
                       {}};
  for (const TightnessRow& row : rows) {
    const studies::Accumulation& by = row.accumulation;
    const Shares &d = row.observed_over_bound, &p = row.observed_over_probable;
    table.rows.push_back({by.name, by.evidence, emu::format_name(by.in), emu::format_name(by.engine.accumulator),
                          reports::whole(by.promote), row.distribution, reports::whole(row.length),
                          reports::whole(row.elements), reports::whole(row.nonfinite), row.relative, row.probable_relative,
                          d.median, d.q90, d.q99, d.max, p.median, p.q90, p.q99, p.max});
  }
  return table;
}

}  // namespace ulpscope::verify

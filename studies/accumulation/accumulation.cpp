// SPDX-License-Identifier: Apache-2.0
// Draws operands, multiplies them on engines and exactly, and sums up the errors; jobs that share operands share the exact
// product.
#include "studies/accumulation/accumulation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <span>
#include <type_traits>
#include <utility>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/engine_bound.hpp"
#include "emu/engine_matmul.hpp"
#include "emu/exact_matmul.hpp"
#include "emu/names.hpp"
#include "emu/split_bound.hpp"
#include "emu/split_matmul.hpp"
#include "products/exact_product.hpp"
#include "studies/accumulation/operands.hpp"
#include "studies/census/error_sums.hpp"
#include "tensors/parallel.hpp"

namespace ulpscope::studies {
namespace {

using emu::MatrixShape;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::vector<float> magnitudes(const std::vector<float>& values, double least) {
  std::vector<float> out(values.size());
  std::transform(values.begin(), values.end(), out.begin(),
                 [&](float x) { return x == 0 ? x : std::max(std::fabs(x), static_cast<float>(least)); });
  return out;
}

/// The operands of one length, distribution and format, and what there is to know about their product.
struct Problem {
  MatrixShape of_a{}, of_b{};
  std::vector<float> a, b;          ///< rounded
  std::vector<double> exact;        ///< a b, rounded once
  std::vector<double> absolute;     ///< |a||b|
  std::vector<double> never_below;  ///< the same with subnormal operands counted as the least normal number
  double rounding = 0, rms_exact = 0;
};

Problem problem_of(const AccumulationConfig& config, const std::string& distribution, emu::Format in, std::size_t length) {
  Problem problem;
  problem.of_a = {config.shape.rows, length};
  problem.of_b = {length, config.shape.columns};
  const auto a = draw_matrix(distribution, problem.of_a, config.seed),
             b = draw_matrix(distribution, problem.of_b, config.seed + 1);
  problem.a = rounded_matrix(in, a);
  problem.b = rounded_matrix(in, b);
  problem.exact.resize(config.shape.rows * config.shape.columns);
  if (in.precision() <= emu::ExactMatrix::most_precision) {
    emu::exact_matmul<double>(emu::ExactMatrix(in, problem.a, problem.of_a), emu::ExactMatrix(in, problem.b, problem.of_b),
                              emu::float64, problem.exact, {.threads = 1});
  } else {
    const std::vector<double> of_a(problem.a.begin(), problem.a.end()), of_b(problem.b.begin(), problem.b.end());
    emu::EngineMatmul<double> product{};
    product.a = {in, of_a, problem.of_a};
    product.b = {in, of_b, problem.of_b};
    product.out = emu::float64;
    product.threads = 1;
    products::exact_product(product, problem.exact);
  }
  const auto product = [&](const std::vector<float>& x, const std::vector<float>& y) {
    return float64_product(x, problem.of_a, y, problem.of_b);
  };
  const double least = emu::power_of_two(in.min_exponent());
  problem.absolute = product(magnitudes(problem.a, 0), magnitudes(problem.b, 0));
  problem.never_below = product(magnitudes(problem.a, least), magnitudes(problem.b, least));
  const std::vector<double> unrounded = product(a, b);
  std::vector<double> differences(unrounded.size());
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] = problem.exact[i] - unrounded[i];
  problem.rounding = problem.a == a && problem.b == b ? 0 : frobenius_norm(differences) / frobenius_norm(unrounded);
  problem.rms_exact = frobenius_norm(problem.exact) / std::sqrt(static_cast<double>(problem.exact.size()));
  return problem;
}

AccumulationErrors errors_of(const Accumulation& accumulation, const Problem& problem) {
  const std::vector<double> computed = product_on(accumulation, {problem.a, problem.of_a}, {problem.b, problem.of_b});
  const emu::Chain chain{.promote = accumulation.promote,
                         .magnitudes = emu::Magnitudes::floored,
                         .largest_a = largest(problem.a),
                         .largest_b = largest(problem.b)};
  const std::size_t k = problem.of_a.columns;
  const auto bound = accumulation.split ? emu::split_bound(*accumulation.split, k, chain)
                                        : emu::engine_bound(accumulation.engine, accumulation.in, accumulation.in, k, chain);
  AccumulationErrors out;
  const bool bounded = bound && std::isfinite(bound->relative);
  out.bound = bounded ? 0 : nan;
  out.rounding = problem.rounding;
  out.rms_exact = problem.rms_exact;
  SquareSum squares;
  double sum = 0, sum_signed = 0, sum_rel = 0, sum_signed_rel = 0;
  std::uint64_t nonzero = 0;
  for (std::size_t i = 0; i < computed.size(); ++i) {
    const double value = computed[i], exact = problem.exact[i];
    const bool finite = std::isfinite(value);
    const double error = finite ? value - exact : value < 0 ? -infinity : infinity, size = std::fabs(error);
    const auto relative_to = [&](double of) { return finite ? error / of : of < 0 ? -error : error; };  // `of` may be NaN
    out.nonfinite += finite ? 0 : 1;
    out.max_abs = std::max(out.max_abs, size);
    sum += size;
    sum_signed += error;
    squares.add(error);
    if (problem.absolute[i] != 0) {
      out.componentwise = std::max(out.componentwise, std::fabs(relative_to(problem.absolute[i])));
      if (bounded) out.bound = std::max(out.bound, bound->allowed(problem.never_below[i]) / problem.absolute[i]);
    }
    if (exact == 0) continue;
    ++nonzero;
    const double relative = relative_to(exact);
    out.max_rel = std::max(out.max_rel, std::fabs(relative));
    sum_rel += std::fabs(relative);
    sum_signed_rel += relative;
  }
  if (out.nonfinite != 0) out.bound = nan;
  const auto count = static_cast<double>(computed.size()), with_rel = static_cast<double>(nonzero);
  out.mean_abs = sum / count;
  out.mean_signed = sum_signed / count;
  out.rms = root_mean(squares, computed.size());
  out.mean_rel = sum_rel / with_rel;
  out.mean_signed_rel = sum_signed_rel / with_rel;
  out.frobenius = std::isinf(out.rms) ? infinity : out.rms / problem.rms_exact;
  return out;
}

/// The rows that share operands.
struct Job {
  std::size_t distribution, length;
  std::vector<std::size_t> accumulations;
};

/// The longest sums first where lengths ascend, so that no thread begins one when the others have finished.
std::vector<Job> jobs_of(const AccumulationConfig& config) {
  std::vector<std::pair<emu::Format, std::vector<std::size_t>>> by_format;
  for (std::size_t i = 0; i < config.accumulations.size(); ++i) {
    const emu::Format in = config.accumulations[i].in;
    auto at = std::find_if(by_format.begin(), by_format.end(), [&](const auto& known) { return known.first == in; });
    if (at == by_format.end()) at = by_format.insert(by_format.end(), {in, {}});
    at->second.push_back(i);
  }
  std::vector<Job> jobs;
  for (std::size_t k = config.lengths.size(); k-- > 0;)
    for (std::size_t d = 0; d < config.distributions.size(); ++d)
      for (const auto& [in, accumulations] : by_format) jobs.push_back({d, k, accumulations});
  return jobs;
}

}  // namespace

std::vector<double> product_on(const Accumulation& accumulation, const AccumulationOperand& a, const AccumulationOperand& b) {
  std::vector<double> c(a.shape.rows * b.shape.columns);
  const auto multiply = [&]<class Float>(std::span<const Float> of_a, std::span<const Float> of_b, std::span<Float> out) {
    emu::EngineMatmul<Float> product{};
    product.engine = accumulation.engine;
    product.a = {accumulation.in, of_a, a.shape};
    product.b = {accumulation.in, of_b, b.shape};
    product.promote = accumulation.promote;
    product.out = std::is_same_v<Float, float> ? emu::float32 : emu::float64;
    product.threads = 1;
    accumulation.split ? emu::split_matmul(*accumulation.split, product, out) : emu::engine_matmul(product, out);
  };
  if (emu::fits_float(accumulation.engine.accumulator)) {
    std::vector<float> out(c.size());
    multiply(a.values, b.values, std::span(out));
    std::ranges::copy(out, c.begin());
  } else {
    const std::vector<double> of_a(a.values.begin(), a.values.end()), of_b(b.values.begin(), b.values.end());
    multiply(std::span<const double>(of_a), std::span<const double>(of_b), std::span(c));
  }
  return c;
}

double largest(std::span<const float> values) {
  float most = 0;
  for (const float x : values) most = std::max(most, std::fabs(x));
  return static_cast<double>(most);
}

std::vector<AccumulationRow> accumulate(const AccumulationConfig& config) {
  const std::size_t distributions = config.distributions.size(), lengths = config.lengths.size();
  std::vector<AccumulationRow> rows;
  for (const Accumulation& accumulation : config.accumulations)
    for (const std::string& distribution : config.distributions)
      for (const std::size_t length : config.lengths)
        rows.push_back({accumulation, distribution, length, config.shape.rows * config.shape.columns, {}});

  const std::vector<Job> jobs = jobs_of(config);
  std::uint64_t total = 0, done = 0;
  for (const Job& job : jobs) total += config.lengths[job.length] * job.accumulations.size();
  std::mutex one_at_a_time;
  tensors::for_each_index(jobs.size(), config.threads, [&](std::size_t j) {
    const Job& job = jobs[j];
    const std::size_t length = config.lengths[job.length];
    const emu::Format in = config.accumulations[job.accumulations.front()].in;
    const Problem problem = problem_of(config, config.distributions[job.distribution], in, length);
    for (const std::size_t i : job.accumulations) {
      AccumulationRow& row = rows[(i * distributions + job.distribution) * lengths + job.length];
      row.errors = errors_of(row.accumulation, problem);
      if (!config.progress) continue;
      const std::lock_guard lock(one_at_a_time);
      config.progress(done += length, total);
    }
  });
  return rows;
}

reports::Table accumulation_table(const std::vector<AccumulationRow>& rows) {
  reports::Table table{"accumulation", {}, {}};
  for (const AccumulationRow& row : rows) {
    const Accumulation& by = row.accumulation;
    const AccumulationErrors& e = row.errors;
    table.add({{"engine", by.name},
               {"evidence", by.evidence},
               {"in", emu::format_name(by.in)},
               {"acc", emu::format_name(by.engine.accumulator)},
               {"promote", reports::whole(by.promote)},
               {"distribution", row.distribution},
               {"k", reports::whole(row.length)},
               {"elements", reports::whole(row.elements)},
               {"nonfinite", reports::whole(e.nonfinite)},
               {"max_abs_error", e.max_abs},
               {"mean_abs_error", e.mean_abs},
               {"rms_error", e.rms},
               {"mean_signed_error", e.mean_signed},
               {"max_rel_error", e.max_rel},
               {"mean_rel_error", e.mean_rel},
               {"mean_signed_rel_error", e.mean_signed_rel},
               {"rel_frobenius_error", e.frobenius},
               {"max_componentwise_error", e.componentwise},
               {"componentwise_bound", e.bound},
               {"input_rel_frobenius_error", e.rounding},
               {"rms_exact", e.rms_exact}});
  }
  return table;
}

}  // namespace ulpscope::studies

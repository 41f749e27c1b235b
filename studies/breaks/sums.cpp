// SPDX-License-Identifier: Apache-2.0
// Every sum is a loop with a state: one step of it rounded, and the term that the step adds without rounding.
#include "studies/breaks/sums.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "studies/breaks/rounded_arithmetic.hpp"
#include "tensors/synthetic.hpp"

namespace ulpscope::studies {
namespace {

constexpr double learning_rate = 0.01, beta2 = 0.999;  // torch.optim.Adam's default of beta2
constexpr double thousandth = 0.001;

struct State {
  double sum = 0, compensation = 0;
};

/// The n-th term, from 1; of an inner product its operands.
struct Step {
  std::uint64_t n = 0;
  double x = 0, y = 0;
};

void add_rounded(RoundedArithmetic& in, State& state, double term) {
  const double rounded = in.round(term);
  state.sum = in.add(state.sum, rounded);
}

/// W. Kahan, "Further remarks on reducing truncation errors", Communications of the ACM 8 (1965).
void add_compensated(RoundedArithmetic& in, State& state, double term) {
  const double rounded = in.round(term);
  const double y = in.sub(rounded, state.compensation);
  const double sum = in.add(state.sum, y);
  const double added = in.sub(sum, state.sum);
  state.compensation = in.sub(added, y);
  state.sum = sum;
}

void add_product(RoundedArithmetic& in, State& state, const Step& step) {
  const double x = in.round(step.x), y = in.round(step.y);
  const double product = in.mul(x, y);
  state.sum = in.add(state.sum, product);
}

struct Loop {
  const char* name;
  double start;
  std::uint64_t terms;  ///< 0: as many as asked for
  void (*rounded)(RoundedArithmetic& in, State& state, const Step& step);
  double (*term)(double sum, const Step& step);  ///< that the unrounded sum grows by
};

constexpr auto reciprocal = [](double, const Step& step) { return 1 / static_cast<double>(step.n); };
constexpr auto one = [](double, const Step&) { return 1.0; };
constexpr auto a_thousandth = [](double, const Step&) { return thousandth; };
constexpr auto product = [](double, const Step& step) { return step.x * step.y; };
constexpr auto descent = [](double w, const Step&) { return -learning_rate * (w - 1); };
constexpr auto moment = [](double v, const Step&) { return (beta2 * v + (1 - beta2)) - v; };

constexpr std::array loops{
    Loop{"harmonic", 0, 0, [](RoundedArithmetic& in, State& s, const Step& step) { add_rounded(in, s, reciprocal(0, step)); },
         reciprocal},
    Loop{"ones", 0, 0, [](RoundedArithmetic& in, State& s, const Step&) { add_rounded(in, s, 1); }, one},
    Loop{"thousandths", 1, 1000, [](RoundedArithmetic& in, State& s, const Step&) { add_rounded(in, s, thousandth); },
         a_thousandth},
    Loop{"thousandths_kahan", 1, 1000, [](RoundedArithmetic& in, State& s, const Step&) { add_compensated(in, s, thousandth); },
         a_thousandth},
    Loop{"sgd_weight", 0, 0,
         [](RoundedArithmetic& in, State& s, const Step& step) { s.sum = in.round(s.sum + descent(s.sum, step)); }, descent},
    Loop{"adam_second_moment", 0, 0,
         [](RoundedArithmetic& in, State& s, const Step&) { s.sum = in.round(beta2 * s.sum + (1 - beta2)); }, moment}};

/// What a run ends with, and the first step from which on nothing changes; 0: changes still, or by chance.
struct End {
  double sum;
  std::uint64_t stops_at;
};

/// Inner products begin again after `terms` of them.
Step step_of(const SumOperands::Pair* operands, std::uint64_t n, std::uint64_t terms) {
  if (operands == nullptr) return {n};
  const std::uint64_t place = (n - 1) % terms;
  return {n, operands->x[place], operands->y[place]};
}

/// A last term that happens to be small stops no sum: as many terms again must change nothing.
End run_once(const Loop& loop, std::uint64_t terms, emu::Rounding rounding, RoundedArithmetic in,
             const SumOperands::Pair* operands) {
  State state{in.round(loop.start)};
  const auto changes = [&](std::uint64_t n) {
    const double before = state.sum;
    loop.rounded(in, state, step_of(operands, n, terms));
    const bool both_nan = std::isnan(before) && std::isnan(state.sum);
    return state.sum != before && !both_nan;
  };
  std::uint64_t last_change = 0;
  for (std::uint64_t n = 1; n <= terms; ++n)
    if (changes(n)) last_change = n;
  const double sum = state.sum;
  if (rounding == emu::Rounding::stochastic || last_change == terms) return {sum, 0};
  for (std::uint64_t n = terms + 1; n <= 2 * terms; ++n)
    if (changes(n)) return {sum, 0};
  return {sum, last_change + 1};
}

/// The unrounded sum, and the sum of magnitudes.
struct Exact {
  double sum, magnitudes;
};
Exact exactly(const Loop& loop, std::uint64_t terms, const SumOperands::Pair* operands) {
  Exact out{loop.start, std::fabs(loop.start)};
  for (std::uint64_t n = 1; n <= terms; ++n) {
    const double term = loop.term(out.sum, step_of(operands, n, terms));
    out.sum += term;
    out.magnitudes += std::fabs(term);
  }
  return out;
}

SumRow row_of(const Loop& loop, emu::Format format, const emu::RoundingOptions& options, const SumConfig& config,
              const SumOperands::Pair* operands) {
  const std::uint64_t terms = loop.terms != 0 ? loop.terms : config.terms;
  const Exact exact = exactly(loop, terms, operands);
  const bool by_chance = options.rounding == emu::Rounding::stochastic;
  const std::uint64_t runs = by_chance ? config.repetitions : 1;
  SumRow row{.name = loop.name, .format = format, .rounding = options.rounding, .terms = terms, .exact = exact.sum};
  double sum = 0, squares = 0;
  for (std::uint64_t run = 0; run < runs; ++run) {
    const End end = run_once(loop, terms, options.rounding, RoundedArithmetic(format, options, config.seed + run), operands);
    sum += end.sum;
    squares += (end.sum - exact.sum) * (end.sum - exact.sum);
    row.stops_at = end.stops_at;
  }
  const auto count = static_cast<double>(runs);
  row.value = sum / count;
  const double bias = row.value - exact.sum;
  const double variance = squares / count - bias * bias;
  if (by_chance) row.deviation = variance < 0 ? 0 : std::sqrt(variance);
  row.rel_error = std::sqrt(squares / count) / exact.magnitudes;
  return row;
}

SumOperands::Pair drawn(const std::string& distribution, std::uint64_t count, std::uint64_t seed) {
  const std::string words = distribution + ":" + std::to_string(count);
  SumOperands::Pair pair{std::vector<double>(count), std::vector<double>(count)};
  if (count == 0) return pair;
  tensors::synthetic(words, seed).source->read(0, std::span(pair.x));
  tensors::synthetic(words, seed + 1).source->read(0, std::span(pair.y));
  return pair;
}

}  // namespace

SumOperands draw_operands(const SumConfig& config) {
  const std::uint64_t most = config.lengths.empty() ? 0 : *std::max_element(config.lengths.begin(), config.lengths.end());
  return {.uniform = drawn("uniform:0,1", most, config.seed), .normal = drawn("normal:0,1", most, config.seed)};
}

std::vector<SumRow> sums_of(emu::Format format, const emu::RoundingOptions& options, const SumConfig& config,
                            const SumOperands& operands) {
  std::vector<SumRow> rows;
  for (const Loop& loop : loops) rows.push_back(row_of(loop, format, options, config, nullptr));
  for (const std::uint64_t length : config.lengths) {
    rows.push_back(row_of({"dot_uniform", 0, length, add_product, product}, format, options, config, &operands.uniform));
    rows.push_back(row_of({"dot_normal", 0, length, add_product, product}, format, options, config, &operands.normal));
  }
  return rows;
}

}  // namespace ulpscope::studies

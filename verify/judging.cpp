// SPDX-License-Identifier: Apache-2.0
// Blocks of elements in vectors; element by element where something is not finite, or a format has no vectors.
#include "verify/judging.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "emu/bulk.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"

namespace ulpscope::verify {
namespace {

/// The greatest magnitude that does not become less where it overflows.
double greatest_kept(const LastRounding& last) {
  const double huge = std::numeric_limits<double>::max();
  const auto stays_finite = [&](double x) { return std::isfinite(emu::round_to(last.out, x, last.options).value); };
  return stays_finite(huge) && stays_finite(-huge) ? emu::max_finite(last.out) : std::numeric_limits<double>::infinity();
}

constexpr double infinity = std::numeric_limits<double>::infinity();

/// std::ldexp(), quickly where the power is a normal number.
double times_power_of_two(double x, int exponent) {
  return exponent >= -1022 && exponent <= 1023 ? x * emu::power_of_two(exponent) : std::ldexp(x, exponent);
}

void keep(std::vector<WorstElement>& worst, const WorstElement& element) {
  if (element.standing == Standing::equal) return;
  if (worst.size() == Judge::most_worst && !is_worse(element, worst.back())) return;
  worst.insert(std::upper_bound(worst.begin(), worst.end(), element, is_worse), element);
  if (worst.size() > Judge::most_worst) worst.pop_back();
}

std::uint64_t& count_of(Verdict& counts, Standing standing) {
  return *std::array{&counts.equal, &counts.within, &counts.beyond, &counts.nonfinite}[static_cast<std::size_t>(standing)];
}

}  // namespace

bool is_worse(const WorstElement& a, const WorstElement& b) {
  if (is_wrong(a.standing) != is_wrong(b.standing)) return is_wrong(a.standing);
  if (a.of_bound != b.of_bound) return a.of_bound > b.of_bound;
  return a.index < b.index;
}

Judge::Judge(const Expectation& expectation, const LastRounding& last)
    : expectation_(expectation),
      last_(last),
      greatest_(greatest_kept(last)),
      question_{.min_exponent = last.out.min_exponent(),
                .fraction_bits = last.out.fraction_bits,
                .least_normal = emu::min_normal(last.out),
                .greatest = greatest_,
                .signs_of_zero = expectation.is_bitwise(),
                .admits_zero = expectation.may_admit_zero()},
      in_vectors_(emu::fits_float(last.out) && !last.out.is_integer() && last.options.rounding != emu::Rounding::stochastic),
      in_float_(is_conversion_to_float(last)) {}

void Judge::add(JudgedPart& part, std::uint64_t first, std::span<const Expected> expected,
                std::span<const double> outputs) const {
  ExpectedBlock block;
  block.in_range = false;
  for (std::size_t done = 0; done < expected.size(); done += block.count) {
    block.count = std::min(ExpectedBlock::size, expected.size() - done);
    for (std::size_t i = 0; i < block.count; ++i) {
      const Expected& one = expected[done + i];
      block.value[i] = one.value, block.radius[i] = one.radius, block.allowed[i] = one.allowed;
      block.may_overflow[i] = one.may_overflow;
    }
    add(part, first + done, block, outputs.subspan(done, block.count));
  }
}

void Judge::add(JudgedPart& part, std::uint64_t first, ExpectedBlock& expected, std::span<const double> outputs) const {
  JudgedBlock block;
  JudgedSums sums{};
  if (in_vectors_) {
    std::copy_n(outputs.begin(), expected.count, block.output.begin());
    for (JudgedBlock::Numbers* numbers : {&expected.value, &expected.radius, &expected.allowed, &block.output})
      std::fill(numbers->begin() + static_cast<std::ptrdiff_t>(expected.count), numbers->end(), 0.0);
    find_ends(expected, block);
    round_ends(expected.count, block);
    sums = find_states(question_, expected, block);
  }
  if (sums.plain) {
    if (!sums.decided) decide(part, first, expected, block);
    return add_plain(part, first, expected, block, sums);
  }
  for (std::size_t i = 0; i < expected.count; ++i) {
    const Expected one = expected.at(i);
    add_one(part, first + i, judge_by_what(expectation_, first + i, one, outputs[i], last_), one, outputs[i]);
  }
}

void Judge::round_ends(std::size_t count, JudgedBlock& block) const {
  if (in_float_) return round_ends_to_float(count, block);
  for (JudgedBlock::Ends* ends : {&block.exact, &block.outer, &block.inner})
    for (JudgedBlock::Numbers* numbers : {&ends->low, &ends->high}) {
      const std::span<double> some = std::span(*numbers).first(count);
      emu::round_to(last_.out, std::span<const double>(some), some, last_.options);
    }
}

void Judge::decide(JudgedPart& part, std::uint64_t first, const ExpectedBlock& expected, JudgedBlock& block) const {
  for (std::size_t i = 0; i < expected.count; ++i) {
    std::uint8_t& state = block.state[i];
    if (state < JudgedBlock::open) continue;
    const Expected one = expected.at(i);
    if ((state & JudgedBlock::zero_may_pass) != 0 && zero_passes(expectation_, first + i, one, last_)) ++part.counts.zeros_pass;
    state &= static_cast<std::uint8_t>(~JudgedBlock::zero_may_pass);
    if (state == JudgedBlock::open)
      state = static_cast<std::uint8_t>(judge(expectation_, first + i, one, block.output[i], last_));
  }
}

void Judge::add_plain(JudgedPart& part, std::uint64_t first, const ExpectedBlock& expected, const JudgedBlock& block,
                      const JudgedSums& sums) const {
  Verdict& counts = part.counts;
  counts.count += expected.count, part.finite += expected.count;
  counts.unseen_share = std::min(counts.unseen_share, sums.unseen_share);
  counts.max_ulp = std::max(counts.max_ulp, sums.max_ulp);
  counts.max_abs_error = std::max(counts.max_abs_error, sums.max_abs_error);
  counts.max_of_bound = std::max(counts.max_of_bound, std::min(sums.max_of_bound, 1.0));
  counts.zeros_pass += sums.zeros_pass;
  part.signed_ulp += sums.signed_ulp, part.abs_ulp += sums.abs_ulp;
  part.exact.ordinary() += sums.exact_squares, part.error.ordinary() += sums.error_squares;

  if (sums.decided) {
    counts.equal += sums.equal, counts.within += sums.within;
    counts.histogram.merge(sums.histogram);
    if (counts.worst.size() == most_worst && sums.max_unequal < counts.worst.back().of_bound) return;
  } else {
    for (std::size_t i = 0; i < expected.count; ++i) {
      const auto standing = static_cast<Standing>(block.state[i]);
      ++count_of(counts, standing);
      counts.histogram.add(standing == Standing::equal ? 0 : block.error_ulp[i]);
    }
  }

  double unlike = counts.worst.size() == most_worst ? counts.worst.back().of_bound : 0;
  for (std::size_t i = 0; i < expected.count; ++i) {
    const auto standing = static_cast<Standing>(block.state[i]);
    if (standing == Standing::equal || (standing == Standing::within && block.of_bound[i] < unlike)) continue;
    // Some are admitted beyond their bound.
    const double of_bound = is_wrong(standing) ? block.of_bound[i] : std::min(block.of_bound[i], 1.0);
    keep(counts.worst,
         {first + i, standing, block.output[i], expected.value[i], block.error_ulp[i], expected.allowed[i], of_bound});
    if (counts.worst.size() == most_worst) unlike = std::min(counts.worst.back().of_bound, 1.0);
    if (!is_wrong(standing)) continue;
    counts.max_of_bound = std::max(counts.max_of_bound, of_bound);
    part.wrong.push_back(first + i), part.wrong_outputs.push_back(block.output[i]);
  }
}

void Judge::add_odds(StochasticOdds& odds, double exact, double output) const {
  if (!std::isfinite(exact) || !std::isfinite(output) || std::fabs(exact) > emu::max_finite(last_.out)) return;
  if (last_.options.flush_subnormals && std::fabs(exact) < emu::min_normal(last_.out)) return;  // not by its fraction alone
  const auto neighbour = [&](emu::Rounding direction) {
    emu::RoundingOptions options = last_.options;
    options.rounding = direction;
    return emu::round_to(last_.out, exact, options).value;
  };
  odds.add(exact, output, last_.options, neighbour(emu::Rounding::toward_zero),
           neighbour(exact < 0 ? emu::Rounding::downward : emu::Rounding::upward));
}

void Judge::add_one(JudgedPart& part, std::uint64_t index, JudgedElement judged, const Expected& expected,
                    double output) const {
  const Standing standing = judged.standing;
  Verdict& counts = part.counts;
  ++counts.count;
  ++count_of(counts, standing);
  if (!std::isfinite(expected.value)) ++counts.nonfinite_expected;
  if (zero_passes(expectation_, index, expected, last_)) ++counts.zeros_pass;
  if (std::isfinite(expected.value) && expected.value != 0)
    counts.unseen_share = std::min(counts.unseen_share, (expected.allowed + expected.radius) / std::fabs(expected.value));
  if (is_wrong(standing)) part.wrong.push_back(index), part.wrong_outputs.push_back(output);

  // Else what is right beside an infinity or a NaN is so by other rules.
  const bool may_overflow = std::isfinite(expected.value) || expected.may_overflow != Overflow::none;
  WorstElement element{index, standing, output, expected.value, 0, expected.allowed, 0};
  if (std::isfinite(expected.value) && std::isfinite(output)) {
    // What saturates is held to what it becomes.
    const double exact = std::copysign(std::min(std::fabs(expected.value), greatest_), expected.value);
    const double error = output - exact;
    const int spacing = emu::spacing_exponent(last_.out, exact);
    // What is rounded right counts by its own error of half an ulp or less; what float64 cannot tell from right as right.
    element.error_ulp = times_power_of_two(error, -spacing);
    element.of_bound = error == 0 ? 0 : std::fabs(error) / (expected.allowed + times_power_of_two(0.5, spacing));
    if (!is_wrong(standing)) element.of_bound = std::min(element.of_bound, 1.0);  // some are admitted beyond it
    ++part.finite;
    part.signed_ulp += element.error_ulp, part.abs_ulp += std::fabs(element.error_ulp);
    counts.max_ulp = std::max(counts.max_ulp, std::fabs(element.error_ulp));
    counts.max_abs_error = std::max(counts.max_abs_error, std::fabs(error));
    counts.max_of_bound = std::max(counts.max_of_bound, element.of_bound);
    part.exact.add(exact), part.error.add(error);
  } else if (is_wrong(standing) || (standing == Standing::within && may_overflow && !judged.is_admitted)) {
    // Beyond any distance, be it wrong or what a correct kernel may overflow to.
    element.error_ulp = element.of_bound = counts.max_ulp = infinity;
    if (!is_wrong(standing)) {
      ++counts.nonfinite_admitted;
      if (expected.may_overflow == Overflow::any) ++counts.unheld;
    }
  }
  counts.histogram.add(standing == Standing::equal ? 0 : element.error_ulp);
  keep(counts.worst, element);
  if (last_.options.rounding == emu::Rounding::stochastic && expectation_.is_bitwise() && !is_wrong(standing))
    add_odds(part.odds, expected.value, output);
}

}  // namespace ulpscope::verify

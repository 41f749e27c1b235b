// SPDX-License-Identifier: Apache-2.0
// Judges elements in chunks and merges what each chunk found.
#include "verify/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/stop.hpp"
#include "studies/census/error_sums.hpp"
#include "studies/diff/diff.hpp"
#include "tensors/parallel.hpp"
#include "tensors/tensor.hpp"
#include "verify/patterns.hpp"

namespace ulpscope::verify {
namespace {

constexpr std::size_t most_worst = 10, most_samples = 256;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

bool is_wrong(Standing standing) { return standing == Standing::beyond || standing == Standing::nonfinite; }

/// Wrong ones first, then by how far they are off, then by index.
bool worse(const WorstElement& a, const WorstElement& b) {
  if (is_wrong(a.standing) != is_wrong(b.standing)) return is_wrong(a.standing);
  if (a.of_bound != b.of_bound) return a.of_bound > b.of_bound;
  return a.index < b.index;
}

/// What one chunk of elements adds to a verdict.
struct Part {
  Verdict counts;
  double signed_ulp = 0, abs_ulp = 0;
  std::uint64_t finite = 0;
  studies::SquareSum exact, error;
  std::vector<std::uint64_t> wrong;
  std::vector<double> wrong_outputs;
};

/// std::ldexp(), quickly where the power is a normal number.
double times_power_of_two(double x, int exponent) {
  return exponent >= -1022 && exponent <= 1023 ? x * emu::power_of_two(exponent) : std::ldexp(x, exponent);
}

class Judge {
 public:
  Judge(const Expectation& expectation, const LastRounding& last)
      : expectation_(expectation), last_(last), least_normal_(emu::min_normal(last.out)) {}

  void add(Part& part, std::uint64_t index, const Expected& expected, double output) const {
    const Standing standing = judge(expectation_, index, expected, output, last_);
    Verdict& counts = part.counts;
    ++counts.count;
    ++*std::array{&counts.equal, &counts.within, &counts.beyond, &counts.nonfinite}[static_cast<std::size_t>(standing)];
    if (!std::isfinite(expected.value)) ++counts.nonfinite_expected;
    if (may_be_zero(expected) && zero_passes(expectation_, index, expected, last_)) ++counts.zeros_pass;
    see_share(counts, expected);
    if (is_wrong(standing)) part.wrong.push_back(index), part.wrong_outputs.push_back(output);
    measure(part, {index, standing, output, expected.value, 0, expected.allowed, 0});
  }

 private:
  /// False of what zero_passes() is false of, of most elements.
  bool may_be_zero(const Expected& expected) const {
    const double size = std::fabs(expected.value);
    return !(size > 2 * (expected.allowed + expected.radius) && size > least_normal_);
  }

  void see_share(Verdict& counts, const Expected& expected) const {
    if (!std::isfinite(expected.value) || expected.value == 0) return;
    const double size = std::fabs(expected.value), unseen = expected.allowed + expected.radius;
    constexpr double margin = 1 + 0x1p-50;  // for the rounding of the product: a quotient that is less is never left out
    if (unseen <= counts.unseen_share * size * margin) counts.unseen_share = std::min(counts.unseen_share, unseen / size);
  }

  void measure(Part& part, WorstElement element) const {
    Verdict& counts = part.counts;
    if (std::isfinite(element.exact) && std::isfinite(element.output)) {
      const double error = element.output - element.exact;
      const int spacing = emu::spacing_exponent(last_.out, element.exact);
      // What is rounded right counts by its own error of half an ulp or less; what float64 cannot tell from right as right.
      element.error_ulp = times_power_of_two(error, -spacing);
      element.of_bound = error == 0 ? 0 : std::fabs(error) / (element.allowed + times_power_of_two(0.5, spacing));
      if (!is_wrong(element.standing)) element.of_bound = std::min(element.of_bound, 1.0);  // some are admitted beyond it
      ++part.finite;
      part.signed_ulp += element.error_ulp;
      part.abs_ulp += std::fabs(element.error_ulp);
      counts.max_ulp = std::max(counts.max_ulp, std::fabs(element.error_ulp));
      counts.max_abs_error = std::max(counts.max_abs_error, std::fabs(error));
      counts.max_of_bound = std::max(counts.max_of_bound, element.of_bound);
      part.exact.add(element.exact), part.error.add(error);
    } else if (is_wrong(element.standing)) {
      element.error_ulp = element.of_bound = infinity;
    }
    counts.histogram.add(element.standing == Standing::equal ? 0 : element.error_ulp);
    keep(counts.worst, element);
  }

  static void keep(std::vector<WorstElement>& worst, const WorstElement& element) {
    if (element.standing == Standing::equal) return;
    if (worst.size() == most_worst && !worse(element, worst.back())) return;
    worst.insert(std::upper_bound(worst.begin(), worst.end(), element, worse), element);
    if (worst.size() > most_worst) worst.pop_back();
  }

  const Expectation& expectation_;
  const LastRounding& last_;
  double least_normal_;
};

/// Elements judged at a time: whole rows where they are short, as many as suit the kernels.
std::uint64_t chunk_of(const std::vector<std::uint64_t>& shape, std::uint64_t elements) {
  const std::uint64_t row = shape.empty() ? 1 : std::max<std::uint64_t>(shape.back(), 1);
  const std::uint64_t rows = std::max<std::uint64_t>(elements / row, 1);
  return row * (rows < 12 ? rows : rows / 12 * 12);
}

void merge(Part& total, Part& part, WrongPlaces& places) {
  Verdict &to = total.counts, &from = part.counts;
  to.count += from.count, to.equal += from.equal, to.within += from.within, to.beyond += from.beyond;
  to.unseen_share = std::min(to.unseen_share, from.unseen_share);
  to.nonfinite += from.nonfinite, to.nonfinite_expected += from.nonfinite_expected, to.zeros_pass += from.zeros_pass;
  to.max_ulp = std::max(to.max_ulp, from.max_ulp);
  to.max_abs_error = std::max(to.max_abs_error, from.max_abs_error);
  to.max_of_bound = std::max(to.max_of_bound, from.max_of_bound);
  for (std::size_t i = 0; i < to.histogram.counts.size(); ++i) to.histogram.counts[i] += from.histogram.counts[i];
  total.signed_ulp += part.signed_ulp, total.abs_ulp += part.abs_ulp, total.finite += part.finite;
  total.exact.merge(part.exact), total.error.merge(part.error);
  to.worst.insert(to.worst.end(), from.worst.begin(), from.worst.end());
  std::sort(to.worst.begin(), to.worst.end(), worse);
  to.worst.resize(std::min(to.worst.size(), most_worst));
  for (std::size_t i = 0; i < part.wrong.size(); ++i) {
    places.add(part.wrong[i]);
    if (total.wrong.size() >= most_samples) continue;
    total.wrong.push_back(part.wrong[i]);
    total.wrong_outputs.push_back(part.wrong_outputs[i]);
  }
}

void finish(Verdict& verdict, const Part& total) {
  const double n = static_cast<double>(total.finite);
  const bool any = total.finite != 0;
  verdict.bias_ulp = any ? total.signed_ulp / n : nan;
  verdict.mean_abs_ulp = any ? total.abs_ulp / n : nan;
  verdict.rms_error = any ? studies::root_mean(total.error, total.finite) : nan;
  verdict.rel_frobenius_error = !any ? nan
                                : total.error.is_zero()
                                    ? 0
                                    : studies::root_mean(total.error, 1) / studies::root_mean(total.exact, 1);
}

/// What explains outputs that are wrong as numbers of `last.out`, and are those of a narrower format: the exact results,
/// rounded to it. Empty where it is none of these.
std::string narrower_format(const Expectation& expectation, const Part& total, const LastRounding& last) {
  constexpr std::size_t least = 8, most = 16;
  if (total.wrong.size() < least || last.out.precision() < emu::float32.precision()) return {};
  const std::size_t samples = std::min(total.wrong.size(), most);
  for (const emu::Format narrow : {emu::bfloat16, emu::float16}) {
    std::size_t are = 0, nearest = 0;
    for (std::size_t i = 0; i < samples; ++i) {
      const double output = total.wrong_outputs[i];
      std::array<Expected, 1> one;
      expectation.expect(total.wrong[i], one);
      are += emu::round_to(narrow, output).value == output ? 1 : 0;
      nearest += emu::round_to(narrow, one[0].value).value == output ? 1 : 0;
    }
    const std::string name = emu::format_name(narrow);
    if (are == samples && 2 * nearest >= samples)
      return fmt::format("{} wrong elements looked at are numbers of {}, {} of them the exact result rounded to it: --out {}?",
                         samples, name, nearest, name);
  }
  return {};
}

}  // namespace

void check_values(const tensors::Tensor& output, emu::Format format, std::uint64_t first, std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isnan(values[i]) && emu::round_to(format, values[i]).value != values[i] && !std::isinf(values[i]))
      throw Error(fmt::format("{}: element {} is {}, no number of {}, which the output is said to hold", output.label,
                              studies::place_text(first + i, output.shape), values[i], emu::format_name(format)));
}

Verdict verify(const Expectation& expectation, const tensors::Tensor& output, const VerdictOptions& options) {
  const std::vector<std::uint64_t> shape = expectation.shape();
  if (shape != output.shape)
    throw Error(output.label + " " + tensors::shape_words(output.shape) + ": the result of these inputs is " +
                tensors::shape_words(shape));
  const std::uint64_t count = output.count(), chunk = chunk_of(shape, options.elements_at_a_time);
  const std::uint64_t chunks = (count + chunk - 1) / chunk;
  const Judge judge(expectation, options.last);
  std::vector<Part> parts(static_cast<std::size_t>(chunks));
  std::mutex telling;
  std::uint64_t told = 0;
  tensors::for_each_index(parts.size(), options.threads, [&](std::size_t i) {
    const std::uint64_t first = i * chunk;
    const auto size = static_cast<std::size_t>(std::min(chunk, count - first));
    std::vector<Expected> expected(size);
    std::vector<double> values(size);
    expectation.expect(first, expected);
    output.source->read(first, std::span(values));
    if (output.dtype.format != options.last.out) check_values(output, options.last.out, first, values);
    emu::stop_if_asked();
    for (std::size_t e = 0; e < size; ++e) judge.add(parts[i], first + e, expected[e], values[e]);
    if (!options.progress) return;
    const std::lock_guard lock(telling);
    options.progress(told += size, count);
  });
  Part total;
  WrongPlaces places(shape);
  for (Part& part : parts) merge(total, part, places);
  Verdict verdict = std::move(total.counts);
  verdict.label = output.label;
  verdict.bound = expectation.bound();
  verdict.refusal = expectation.refusal();
  verdict.out = options.last.out;
  verdict.shape = shape;
  finish(verdict, total);
  verdict.patterns = places.sentences();
  if (const std::string known = expectation.diagnosis(total.wrong, total.wrong_outputs, options.last); !known.empty())
    verdict.patterns.push_back(known);
  else if (const std::string narrow = narrower_format(expectation, total, options.last); !narrow.empty())
    verdict.patterns.push_back(narrow);
  return verdict;
}

Outcome Verdict::outcome() const {
  if (wrong() != 0) return Outcome::fail;
  return !refusal.empty() || zeros_pass == count ? Outcome::vacuous : Outcome::pass;
}

std::string_view name_of(Outcome outcome) noexcept {
  constexpr std::array<std::string_view, 3> names{"pass", "fail", "vacuous"};
  return names[static_cast<std::size_t>(outcome)];
}

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// What the study found, as sentences made of its numbers.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/math.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "studies/breaks/breaks.hpp"
#include "studies/census/sweep.hpp"

namespace ulpscope::studies {
namespace {

using reports::Finding;
using reports::Severity;

std::string power(int k) { return "2^" + std::to_string(k); }
std::int64_t whole(std::uint64_t n) { return static_cast<std::int64_t>(n); }

std::string beyond(const ScalePoint& point) {
  const std::string what = point.outcome == ScaleOutcome::nonfinite ? "results are infinite or NaN"
                           : point.outcome == ScaleOutcome::zero    ? "all results are zero"
                                                                    : "results are wrong";
  const std::string why = point.cause == ScaleCause::result   ? "the format does not hold them"
                          : point.cause == ScaleCause::inputs ? "the format does not hold the inputs"
                                                              : "the format holds inputs and results, not what is between";
  return "at " + power(point.log2_scale) + " " + what + ": " + why;
}

std::string right_from_to(const Curve& curve) {
  const auto right = curve.window().right;
  if (right.empty()) return "at no scale";
  return "from " + power(right.front().log2_scale) + " to " + power(right.back().log2_scale);
}

/// `wide`: the same function with operations in float32, if that was measured.
Finding curve_finding(const Curve& curve, const Curve* wide) {
  const Curve::Window window = curve.window();
  const std::string function(curve.of.function->name), format = emu::format_name(curve.of.format);
  std::string sentence = function + " in " + format + " is right " + right_from_to(curve);
  if (window.right.empty() && !curve.points.empty()) sentence += "; " + beyond(curve.points[curve.points.size() / 2]);
  for (const ScalePoint* const end : {window.below, window.above})
    if (end != nullptr) sentence += "; " + beyond(*end);
  if (wide != nullptr) sentence += "; with operations in float32 it is right " + right_from_to(*wide);
  const std::uint64_t right = curve.scales_right(), held = curve.scales_held();
  return {.what = "scales_right",
          .where = function + ", " + format,
          .value = whole(right),
          .threshold = whole(held),
          .source = "derived: scales at which the function of the rounded inputs, rounded once, has a right bit",
          .severity = right == held ? Severity::good
                      : right == 0  ? Severity::bad
                                    : Severity::warning,
          .sentence = sentence + "."};
}

/// The least magnitude that overflows to nearest: half a spacing above the largest number (IEEE 754-2019, 7.4).
double overflow_threshold(emu::Format format) {
  const double largest = emu::max_finite(format);
  return largest + std::ldexp(1.0, emu::spacing_exponent(format, largest) - 1);
}

/// Nothing of what is no worse than in float32.
std::optional<Finding> limit_finding(const LimitRow& row) {
  const std::string format = emu::format_name(row.format);
  const bool short_range = row.format.max_exponent() < emu::float32.max_exponent();
  Finding found{.what = row.what, .where = format, .value = row.value, .threshold = "", .source = "", .sentence = ""};
  if (row.what == "exp_last_finite" && short_range) {
    const double least = emu::log(overflow_threshold(row.format));
    found.threshold = least;
    found.source = "derived: the logarithm of the least number that overflows to nearest";
    found.severity = Severity::warning;
    found.sentence = "exp(x) overflows in " + format + " above x = " + digits(least, 6) + "; " + digits(row.value, 10) +
                     " is the last number below.";
  } else if (row.what == "square_last_finite" && short_range) {
    const double least = std::sqrt(overflow_threshold(row.format));
    found.threshold = least;
    found.source = "derived: the root of the least number that overflows to nearest";
    found.severity = Severity::warning;
    found.sentence = "x^2 overflows in " + format + " above |x| = " + digits(row.value, 10) + ".";
  } else if (row.what == "update_of_one_first_kept" || row.what == "update_of_one_first_kept_down") {
    found.threshold = 0.001;
    found.source = "torch.optim.Adam's default learning rate: about the update of a weight by one step";
    found.severity = row.value > 0.001 ? Severity::bad : Severity::good;
    found.sentence = "A weight of 1 in " + format + " does not change where less than " + digits(row.value, 6) + " is " +
                     (row.what == "update_of_one_first_kept" ? "added to it." : "taken from it.");
  } else if (row.what == "epsilon_1e-8" && row.value == 0) {
    found.threshold = 1e-8;
    found.source = "torch.optim.Adam's default";
    found.severity = Severity::bad;
    found.sentence = "Adam's epsilon of 1e-8 is 0 in " + format + ": a gradient whose square is 0 gives 0/0.";
  } else if (row.what == "beta2_0.999" && row.value == 1) {
    found.threshold = 0.999;
    found.source = "torch.optim.Adam's default";
    found.severity = Severity::bad;
    found.sentence = "Adam's beta2 of 0.999 is 1 in " + format + ": 1 - beta2 computed there is 0.";
  } else {
    return std::nullopt;
  }
  return found;
}

std::string title_of(const SumRow& row) {
  struct Title {
    std::string_view name, title;
  };
  constexpr std::array titles{Title{"harmonic", "The harmonic sum"},
                              Title{"ones", "A sum of ones"},
                              Title{"thousandths", "1 + 1000 times 0.001"},
                              Title{"thousandths_kahan", "1 + 1000 times 0.001, compensated,"},
                              Title{"sgd_weight", "A weight that descends from 0 to 1 at a rate of 0.01"},
                              Title{"adam_second_moment", "Adam's second moment of gradients of 1"},
                              Title{"dot_uniform", "An inner product of uniform numbers"},
                              Title{"dot_normal", "An inner product of normal numbers"}};
  const auto* const found =
      std::find_if(titles.begin(), titles.end(), [&](const Title& title) { return title.name == row.name; });
  return std::string(found->title);
}

/// `by_chance`: the same sum under stochastic rounding, if that was measured. Nothing of sums that err no more than by the
/// rounding of their value.
std::optional<Finding> sum_finding(const SumRow& row, const SumRow* by_chance) {
  const double unit_roundoff = std::ldexp(0.5, -row.format.fraction_bits);
  if (row.rel_error <= unit_roundoff) return std::nullopt;
  const std::string format = emu::format_name(row.format);
  std::string sentence = title_of(row) + " in " + format;
  if (!std::isfinite(row.value))
    sentence += " overflows";
  else if (row.stops_at != 0)
    sentence += " stops at " + digits(row.value, 10) + " with term " + std::to_string(row.stops_at);
  else
    sentence += " is " + digits(row.value, 10);
  sentence += "; " + std::to_string(row.terms) + " terms give " + digits(row.exact, 6);
  if (by_chance != nullptr && std::isfinite(by_chance->value))
    sentence += ", stochastic rounding " + digits(by_chance->value, 4) + " +- " + digits(by_chance->deviation, 2);
  else if (by_chance != nullptr)
    sentence += "; stochastic rounding overflows";
  return Finding{.what = "rel_error",
                 .where = row.name + " of " + std::to_string(row.terms) + ", " + format,
                 .value = row.rel_error,
                 .threshold = unit_roundoff,
                 .source = "derived: rounding the exact sum once errs by no more",
                 .severity = row.stops_at != 0 || !std::isfinite(row.value) ? Severity::bad : Severity::warning,
                 .sentence = sentence + "."};
}

/// The rows of one rounding: to nearest even where it was measured, else the first.
struct Shown {
  std::vector<const Curve*> narrow, wide;  ///< wide: beside each narrow one, or null
  std::vector<const LimitRow*> limits;
  std::vector<const SumRow*> sums, by_chance;  ///< by_chance: beside each, or null
  emu::Rounding rounding{};
};

template <class Row, class Same>
const Row* find(const std::vector<Row>& rows, Same same) {
  const auto found = std::find_if(rows.begin(), rows.end(), same);
  return found == rows.end() ? nullptr : &*found;
}

Shown shown_of(const BreaksResult& result) {
  Shown shown;
  const bool nearest = std::any_of(result.sums.begin(), result.sums.end(),
                                   [](const SumRow& row) { return row.rounding == emu::Rounding::nearest_even; });
  shown.rounding = nearest || result.sums.empty() ? emu::Rounding::nearest_even : result.sums.front().rounding;
  for (const Curve& curve : result.curves) {
    if (curve.of.options.rounding != shown.rounding || curve.of.arithmetic != curve.of.format) continue;
    shown.narrow.push_back(&curve);
    shown.wide.push_back(find(result.curves, [&](const Curve& other) {
      return other.of.function == curve.of.function && other.of.format == curve.of.format &&
             other.of.options == curve.of.options && other.of.arithmetic != curve.of.format;
    }));
  }
  for (const LimitRow& row : result.limits)
    if (row.rounding == shown.rounding) shown.limits.push_back(&row);
  for (const SumRow& row : result.sums) {
    if (row.rounding != shown.rounding) continue;
    shown.sums.push_back(&row);
    shown.by_chance.push_back(find(result.sums, [&](const SumRow& other) {
      return other.rounding == emu::Rounding::stochastic && other.name == row.name && other.format == row.format &&
             other.terms == row.terms && &other != &row;
    }));
  }
  return shown;
}

bool breaks(const Curve* curve) { return curve != nullptr && curve->scales_right() < curve->scales_held(); }

/// The study's question, answered.
Finding answer(const Shown& shown) {
  const auto broken = std::count_if(shown.narrow.begin(), shown.narrow.end(), breaks);
  const auto broken_wide = std::count_if(shown.wide.begin(), shown.wide.end(), breaks);
  const auto stopped = std::count_if(shown.sums.begin(), shown.sums.end(),
                                     [](const SumRow* row) { return row->stops_at != 0 && std::isfinite(row->value); });
  std::vector<std::pair<emu::Format, int>> by_format;
  for (const Curve* const curve : shown.narrow) {
    if (by_format.empty() || find(by_format, [&](const auto& one) { return one.first == curve->of.format; }) == nullptr)
      by_format.emplace_back(curve->of.format, 0);
    for (auto& [format, count] : by_format) count += format == curve->of.format && breaks(curve) ? 1 : 0;
  }
  std::vector<std::string> counts;
  for (const auto& [format, count] : by_format) counts.push_back(emu::format_name(format) + " " + std::to_string(count));
  return {.what = "curves_broken",
          .where = std::string(emu::name_of(shown.rounding)),
          .value = static_cast<std::int64_t>(broken),
          .threshold = std::int64_t{0},
          .source = "chosen: arithmetic should break nothing whose inputs and results the format holds",
          .severity = broken == 0 ? Severity::good : Severity::warning,
          .sentence = "Of " + std::to_string(shown.narrow.size()) + " pairs of a function and a format " +
                      std::to_string(broken) + " break at scales at which the format holds inputs and results (" +
                      emu::comma_separated(counts) + "), " + std::to_string(broken_wide) + " with operations in float32; " +
                      std::to_string(stopped) + " of " + std::to_string(shown.sums.size()) + " sums stop growing."};
}

}  // namespace

std::vector<Finding> breaks_findings(const BreaksResult& result) {
  const Shown shown = shown_of(result);
  std::vector<Finding> findings{answer(shown)};
  for (std::size_t i = 0; i < shown.narrow.size(); ++i) findings.push_back(curve_finding(*shown.narrow[i], shown.wide[i]));
  for (const LimitRow* const row : shown.limits)
    if (auto found = limit_finding(*row)) findings.push_back(std::move(*found));
  for (std::size_t i = 0; i < shown.sums.size(); ++i) {
    const bool longest = std::none_of(shown.sums.begin(), shown.sums.end(), [&](const SumRow* other) {
      return other->name == shown.sums[i]->name && other->format == shown.sums[i]->format &&
             other->terms > shown.sums[i]->terms;
    });
    if (!longest) continue;
    if (auto found = sum_finding(*shown.sums[i], shown.by_chance[i])) findings.push_back(std::move(*found));
  }
  return findings;
}

}  // namespace ulpscope::studies

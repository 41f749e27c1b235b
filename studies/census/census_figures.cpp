// SPDX-License-Identifier: Apache-2.0
// Counts as the data of figures.
#include "studies/census/census_figures.hpp"

#include <algorithm>
#include <map>

#include "emu/decode.hpp"
#include "emu/math.hpp"
#include "emu/names.hpp"

namespace ulpscope::studies {
namespace {

using emu::Outcome;

reports::ExponentHistogram histogram(const TensorResults& results) {
  reports::ExponentHistogram out;
  const std::vector<std::uint64_t>& counts = results.exponents.counts;
  const auto nonzero = [](std::uint64_t c) { return c != 0; };
  const auto first = std::find_if(counts.begin(), counts.end(), nonzero);
  const auto last = std::find_if(counts.rbegin(), counts.rend(), nonzero).base();
  if (first < last) out.counts.assign(first, last);
  out.first_exponent = ExponentCounts::least + static_cast<int>(first - counts.begin());
  if (out.counts.empty()) out.first_exponent = 0;
  out.zeros = results.exponents.zeros;
  out.nonfinite = results.exponents.infinite + results.exponents.nan;
  for (const CensusRow& row : results.census) {
    const emu::Format f = row.format;
    // Nearest rounding overflows from the midpoint above the largest finite value on.
    const double threshold = emu::max_finite(f) + emu::power_of_two(std::max(f.max_exponent() - f.fraction_bits - 1, -1074));
    const int least = f.min_spacing_exponent() - 1;
    out.formats.push_back({emu::format_name(f), least, f.is_integer() ? least : f.min_exponent(), emu::log2(threshold)});
  }
  return out;
}

reports::ScaleWindow window(const TensorResults& results) {
  reports::ScaleWindow out;
  std::map<int, std::size_t> column;
  for (const SweepRow& row : results.sweep) column.emplace(row.log2_scale, 0);
  for (auto& [k, index] : column) {
    index = out.log2_scale.size();
    out.log2_scale.push_back(k);
  }
  for (const SweepRow& row : results.sweep) {
    const std::string name = emu::format_name(row.format);
    if (out.lines.empty() || out.lines.back().format != name) out.lines.push_back({name, {}, {}});
    const double whole = std::max(1.0, static_cast<double>(row.sums.count()));
    out.lines.back().to_zero_percent.push_back(100 * static_cast<double>(row.sums.of(Outcome::to_zero)) / whole);
    out.lines.back().overflow_percent.push_back(100 * static_cast<double>(row.sums.of(Outcome::overflow)) / whole);
  }
  return out;
}

}  // namespace

std::string facts_of(const TensorResults& results) {
  std::string text = results.tensor.dtype.name + ", " +
                     (results.tensor.shape.empty() ? "scalar" : tensors::shape_text(results.tensor.shape)) + ", " +
                     std::to_string(results.tensor.count()) + " elements";
  if (!results.census.empty() && results.census.front().sums.nonzero != 0) {
    const ErrorSums& sums = results.census.front().sums;
    text += ", magnitudes " + digits(sums.smallest.magnitude) + " to " + digits(sums.largest.magnitude);
  }
  return text;
}

reports::Figure histogram_of(const TensorResults& results, const std::string& name) {
  reports::ExponentHistogram data = histogram(results);
  std::string caption = "Bars: elements in each binade. Strips: what a format does there.";
  const auto left_out = [&](std::uint64_t count, const char* what) {
    if (count > 0) caption += " Not drawn: " + percent(count, results.tensor.count()) + ", " + what + ".";
  };
  left_out(data.zeros, "zero");
  left_out(data.nonfinite, "infinite or NaN");
  return {.name = name,
          .title = "Where the elements are.",
          .caption = caption,
          .description = "Share of the elements of " + results.tensor.label +
                         " by binary exponent; below it for each format the ranges that become zero, are subnormal, normal, or "
                         "overflow.",
          .data = std::move(data)};
}

reports::Figure window_of(const TensorResults& results, const std::string& name) {
  return {.name = name,
          .title = "What a loss scale changes.",
          .caption = "Elements lost to zero (solid) and to overflow (dashed). Tinted: scales without overflow that lose least.",
          .description = "Percentage of the elements of " + results.tensor.label +
                         " lost to zero and to overflow for each loss scale, and the best scales of each format.",
          .data = window(results)};
}

}  // namespace ulpscope::studies

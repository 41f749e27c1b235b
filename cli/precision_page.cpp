// SPDX-License-Identifier: Apache-2.0
// Turns rows into verdicts, figures and sections, the worst first.
#include "cli/precision_page.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "cli/losses.hpp"
#include "emu/decode.hpp"
#include "emu/math.hpp"
#include "emu/names.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::cli {
namespace {

using emu::Outcome;
using reports::Verdict;
using studies::ErrorSums;

std::string advice_text(const studies::Advice& advice) {
  const std::string scale = "2^" + std::to_string(advice.use_log2);
  if (advice.overflowing != 0)
    return "; no scale tried is free of overflow, least at " + scale + " (" +
           studies::percent(advice.overflowing, advice.count) + " overflows)";
  if (advice.use_log2 == 0) return "; no scale loses less";
  return "; use " + scale + ", which loses " +
         (advice.lost_to_zero == 0 ? std::string("none") : studies::percent(advice.lost_to_zero, advice.count));
}

Verdict verdict(const std::string& tensor, const studies::CensusRow& row, const studies::Scaling& scaling,
                const studies::Advice* advice) {
  const ErrorSums& sums = row.sums;
  const Verdict::Severity how_bad = severity(sums);
  std::string text = emu::format_name(row.format) + ": ";
  const std::string at = scaling.rule == studies::ScaleRule::none ? " at scale 1" : " under scale " + scaling.word;
  const auto share = [&](Outcome outcome) { return studies::percent(sums.of(outcome), sums.count()); };
  if (sums.count() == 0) return {how_bad, text + tensor + " is empty."};
  std::vector<std::string> parts;
  if (sums.of(Outcome::overflow) != 0) parts.push_back(share(Outcome::overflow) + " of " + tensor + " overflows");
  if (sums.of(Outcome::to_zero) != 0) parts.push_back(share(Outcome::to_zero) + " of " + tensor + " becomes 0");
  if (parts.empty() && percent_of(sums, Outcome::subnormal) > notable_subnormals_percent)
    parts.push_back(share(Outcome::subnormal) + " of " + tensor + " is subnormal");
  if (parts.empty()) return {how_bad, text + tensor + " fits" + at + ": nothing overflows, nothing becomes 0."};
  for (std::size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : " and ") + parts[i];
  return {how_bad, text + at + (advice != nullptr ? advice_text(*advice) : std::string()) + "."};
}

reports::ExponentHistogram histogram(const Findings& findings) {
  reports::ExponentHistogram out;
  out.title = findings.tensor.label;
  const std::vector<std::uint64_t>& counts = findings.exponents.counts;
  const auto nonzero = [](std::uint64_t c) { return c != 0; };
  const auto first = std::find_if(counts.begin(), counts.end(), nonzero);
  const auto last = std::find_if(counts.rbegin(), counts.rend(), nonzero).base();
  if (first < last) out.counts.assign(first, last);
  out.first_exponent = studies::ExponentCounts::least + static_cast<int>(first - counts.begin());
  if (out.counts.empty()) out.first_exponent = 0;
  out.zeros = findings.exponents.zeros;
  out.nonfinite = findings.exponents.infinite + findings.exponents.nan;
  for (const studies::CensusRow& row : findings.census) {
    const emu::Format f = row.format;
    // Nearest rounding overflows from the midpoint above the largest finite value on.
    const double threshold = emu::max_finite(f) + emu::power_of_two(std::max(f.max_exponent() - f.fraction_bits - 1, -1074));
    out.formats.push_back({emu::format_name(f), f.min_spacing_exponent() - 1, f.min_exponent(), emu::log2(threshold)});
  }
  return out;
}

std::string facts(const Findings& findings) {
  std::string text = findings.tensor.dtype.name + ", " +
                     (findings.tensor.shape.empty() ? "scalar" : tensors::shape_text(findings.tensor.shape)) + ", " +
                     std::to_string(findings.tensor.count()) + " elements";
  if (!findings.census.empty() && findings.census.front().sums.nonzero != 0) {
    const ErrorSums& sums = findings.census.front().sums;
    text += ", magnitudes " + studies::digits(sums.smallest.magnitude) + " to " + studies::digits(sums.largest.magnitude);
  }
  return text;
}

/// What the page says of a tensor; its verdicts and rows come in the order of `formats`, indices into its census.
reports::TensorSection section_of(const Findings& found, const std::vector<std::size_t>& formats,
                                  const studies::Scaling& scaling, const emu::RoundingOptions& options) {
  const std::vector<studies::Advice> advice = studies::advise(found.sweep);
  reports::TensorSection section;
  section.tensor = found.tensor.label;
  section.facts = facts(found);
  for (const std::size_t i : formats)
    section.verdicts.push_back(verdict(found.tensor.name.empty() ? found.tensor.label : found.tensor.name, found.census[i],
                                       scaling, i < advice.size() ? &advice[i] : nullptr));
  section.histograms = {histogram(found)};
  if (!found.sweep.empty()) section.windows = {scale_window(found.tensor.label, found.sweep)};
  section.errors = studies::census_table(found.census, scaling, options);
  return section;
}

/// A tensor, and its formats with the worst first.
struct Ranked {
  std::size_t tensor;
  std::vector<std::size_t> formats;
};

/// Tensors by the worst of their rows, so that they come in the order of the shares that the page says of them first.
std::vector<Ranked> ranked(const std::vector<Findings>& findings, const studies::Scaling& scaling,
                           const emu::RoundingOptions& options) {
  std::vector<studies::CensusRow> rows;
  std::vector<std::pair<std::size_t, std::size_t>> place;  // tensor and format of each row
  for (std::size_t tensor = 0; tensor < findings.size(); ++tensor)
    for (std::size_t format = 0; format < findings[tensor].census.size(); ++format) {
      rows.push_back(findings[tensor].census[format]);
      place.emplace_back(tensor, format);
    }
  std::vector<Ranked> out;
  std::map<std::size_t, std::size_t> rank;
  for (const std::size_t row : selected(studies::census_table(rows, scaling, options), {{}, worst_first()})) {
    const auto [tensor, format] = place[row];
    if (rank.emplace(tensor, out.size()).second) out.push_back({tensor, {}});
    out[rank.at(tensor)].formats.push_back(format);
  }
  return out;
}

}  // namespace

reports::ScaleWindow scale_window(const std::string& tensor, const std::vector<studies::SweepRow>& rows) {
  reports::ScaleWindow out;
  out.title = tensor;
  std::map<int, std::size_t> column;
  for (const studies::SweepRow& row : rows) column.emplace(row.log2_scale, 0);
  for (auto& [k, index] : column) {
    index = out.log2_scale.size();
    out.log2_scale.push_back(k);
  }
  for (const studies::SweepRow& row : rows) {
    const std::string name = emu::format_name(row.format);
    if (out.lines.empty() || out.lines.back().format != name) out.lines.push_back({name, {}, {}});
    const double whole = std::max(1.0, static_cast<double>(row.sums.count()));
    out.lines.back().to_zero_percent.push_back(100 * static_cast<double>(row.sums.of(Outcome::to_zero)) / whole);
    out.lines.back().overflow_percent.push_back(100 * static_cast<double>(row.sums.of(Outcome::overflow)) / whole);
  }
  return out;
}

reports::Page precision_page(const std::vector<Findings>& findings, const studies::Scaling& scaling,
                             const emu::RoundingOptions& options, const std::string& command) {
  reports::Page page;
  page.title = "Precision report";
  page.settings = "rounding " + std::string(emu::name_of(options.rounding)) + ", policy " +
                  std::string(emu::name_of(options.policy)) + ", scale " + scaling.word;
  page.command = command;
  page.order =
      "Worst first: by the share that overflows, then by that which becomes 0, then by that which is subnormal, in the "
      "worst of the formats.";
  for (const Ranked& each : ranked(findings, scaling, options))
    page.sections.push_back(section_of(findings[each.tensor], each.formats, scaling, options));
  return page;
}

}  // namespace ulpscope::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/precision_page.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "emu/decode.hpp"
#include "emu/math.hpp"
#include "emu/names.hpp"
#include "studies/info.hpp"

namespace ulpscope::cli {
namespace {

using emu::Outcome;
using reports::Verdict;
using studies::ErrorSums;

double lost_share(const ErrorSums& sums) {
  if (sums.count() == 0) return 0;
  return static_cast<double>(sums.of(Outcome::overflow) + sums.of(Outcome::to_zero)) / static_cast<double>(sums.count());
}
double subnormal_share(const ErrorSums& sums) {
  return sums.count() == 0 ? 0 : static_cast<double>(sums.of(Outcome::subnormal)) / static_cast<double>(sums.count());
}

/// Larger is worse: what the formats lose together, subnormals counting a little.
double badness(const Findings& findings) {
  double sum = 0;
  for (const studies::CensusRow& row : findings.census) sum += lost_share(row.sums) + subnormal_share(row.sums) / 100;
  return sum;
}

/// Shares beyond which a format no longer serves, or wants a look.
constexpr double bad_share = 0.01, notable_subnormals = 0.05;

Verdict::Severity severity(const ErrorSums& sums) {
  if (sums.of(Outcome::overflow) != 0 || lost_share(sums) > bad_share) return Verdict::Severity::bad;
  if (sums.of(Outcome::to_zero) != 0 || subnormal_share(sums) > notable_subnormals) return Verdict::Severity::warning;
  return Verdict::Severity::good;
}

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
  if (parts.empty() && subnormal_share(sums) > notable_subnormals)
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
    const double threshold =
        emu::max_finite(f) + emu::detail::power_of_two(std::max(f.max_exponent() - f.fraction_bits - 1, -1074));
    out.formats.push_back({emu::format_name(f), f.min_spacing_exponent() - 1, f.min_exponent(), emu::log2(threshold)});
  }
  return out;
}

reports::ScaleWindow window(const Findings& findings) {
  reports::ScaleWindow out;
  out.title = findings.tensor.label;
  std::map<int, std::size_t> column;
  for (const studies::SweepRow& row : findings.sweep) column.emplace(row.log2_scale, 0);
  for (auto& [k, index] : column) {
    index = out.log2_scale.size();
    out.log2_scale.push_back(k);
  }
  for (const studies::SweepRow& row : findings.sweep) {
    const std::string name = emu::format_name(row.format);
    if (out.lines.empty() || out.lines.back().format != name) out.lines.push_back({name, {}, {}});
    const double whole = std::max(1.0, static_cast<double>(row.sums.count()));
    out.lines.back().to_zero_percent.push_back(100 * static_cast<double>(row.sums.of(Outcome::to_zero)) / whole);
    out.lines.back().overflow_percent.push_back(100 * static_cast<double>(row.sums.of(Outcome::overflow)) / whole);
  }
  return out;
}

std::string facts(const Findings& findings) {
  std::string text = findings.tensor.dtype.name + ", " +
                     (findings.tensor.shape.empty() ? "scalar" : studies::shape_text(findings.tensor.shape)) + ", " +
                     std::to_string(findings.tensor.count()) + " elements";
  if (!findings.census.empty() && findings.census.front().sums.nonzero != 0) {
    const ErrorSums& sums = findings.census.front().sums;
    text += ", magnitudes " + studies::digits(sums.smallest.magnitude) + " to " + studies::digits(sums.largest.magnitude);
  }
  return text;
}

}  // namespace

reports::Page precision_page(const std::vector<Findings>& findings, const studies::Scaling& scaling,
                             const emu::RoundingOptions& options, const std::string& command) {
  reports::Page page;
  page.title = "Precision report";
  page.settings = "rounding " + std::string(emu::name_of(options.rounding)) + ", policy " +
                  std::string(emu::name_of(options.policy)) + ", scale " + scaling.word;
  page.command = command;
  std::vector<std::pair<double, reports::TensorSection>> sections;
  for (const Findings& found : findings) {
    const std::vector<studies::Advice> advice = studies::advise(found.sweep);
    reports::TensorSection section;
    section.tensor = found.tensor.label;
    section.facts = facts(found);
    for (std::size_t i = 0; i < found.census.size(); ++i)
      section.verdicts.push_back(verdict(found.tensor.name.empty() ? found.tensor.label : found.tensor.name, found.census[i],
                                         scaling, i < advice.size() ? &advice[i] : nullptr));
    std::stable_sort(section.verdicts.begin(), section.verdicts.end(),
                     [](const Verdict& a, const Verdict& b) { return a.severity > b.severity; });
    section.histograms = {histogram(found)};
    if (!found.sweep.empty()) section.windows = {window(found)};
    section.errors = studies::census_table(found.census, scaling, options);
    sections.emplace_back(badness(found), std::move(section));
  }
  std::stable_sort(sections.begin(), sections.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (auto& [score, section] : sections) page.sections.push_back(std::move(section));
  return page;
}

}  // namespace ulpscope::cli

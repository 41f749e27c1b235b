// SPDX-License-Identifier: Apache-2.0
// Thresholds with their sources, and what they decide.
#include "studies/census/census_findings.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "emu/names.hpp"

namespace ulpscope::studies {
namespace {

using emu::Outcome;
using reports::Severity;

/// A share of the elements, as percent_of() has it, above which a finding has a severity.
struct Threshold {
  Outcome outcome;
  double percent;
  Severity severity;
  const char* source;
};

// The first that is exceeded decides.
constexpr std::array thresholds{
    Threshold{Outcome::overflow, 0, Severity::bad,
              "IEEE 754-2019, 7.4: the result of an overflow does not depend on how large the value is"},
    Threshold{Outcome::to_zero, 1, Severity::bad, "chosen: 1 in 100 nonzero elements is seen in sums over the tensor"},
    Threshold{Outcome::to_zero, 0, Severity::warning, "chosen: that an element is lost is said however few they are"},
    Threshold{Outcome::subnormal, 5, Severity::warning, "chosen: 1 in 20 elements has fewer bits than the format's precision"}};

const Threshold* exceeded(const ErrorSums& sums) {
  const auto* const at = std::find_if(thresholds.begin(), thresholds.end(),
                                      [&](const Threshold& t) { return percent_of(sums, t.outcome) > t.percent; });
  return at == thresholds.end() ? nullptr : &*at;
}

std::string sentence_of(const CensusRow& row, const Scaling& scaling, const std::string& tensor) {
  const ErrorSums& sums = row.sums;
  const std::string text = emu::format_name(row.format) + ": ";
  if (sums.count() == 0) return text + tensor + " is empty.";
  const std::string at = scaling.rule == ScaleRule::none ? " at scale 1" : " under scale " + scaling.word;
  std::vector<std::string> parts;
  if (const std::uint64_t nonfinite = not_held(sums, row.format); nonfinite != 0)
    parts.push_back(percent(nonfinite, sums.count()) + " of " + tensor + " is infinite or NaN, which the format does not have");
  const auto add = [&](Outcome outcome, const char* becomes) {
    parts.push_back(percent(sums.of(outcome), sums.count()) + " of " + tensor + becomes);
  };
  if (sums.of(Outcome::overflow) != 0) add(Outcome::overflow, " overflows");
  if (const std::uint64_t zeroed = sums.of(Outcome::to_zero); zeroed != 0)
    parts.push_back(percent(zeroed, sums.nonzero) + " of " +
                    (sums.nonzero == sums.count() ? tensor : "the numbers other than 0 in " + tensor) + " becomes 0");
  if (parts.empty() && exceeded(sums) != nullptr) add(Outcome::subnormal, " is subnormal");
  if (parts.empty()) return text + tensor + " fits" + at + ": nothing overflows, nothing becomes 0.";
  std::string all = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) all += (i + 1 < parts.size() ? ", " : " and ") + parts[i];
  return text + all + at + ".";
}

/// Elements of which there is something to lose.
std::uint64_t losable(const ErrorSums& sums, emu::Format format) { return sums.nonzero + not_held(sums, format); }

}  // namespace

double percent_of(const ErrorSums& sums, Outcome outcome) {
  const std::uint64_t whole = outcome == Outcome::to_zero && sums.nonzero != 0 ? sums.nonzero : sums.count();
  return 100 * static_cast<double>(sums.of(outcome)) / static_cast<double>(whole);
}

std::uint64_t not_held(const ErrorSums& sums, emu::Format format) {
  return (format.has_infinity() ? 0 : sums.of(Outcome::infinite)) + (format.has_nan() ? 0 : sums.of(Outcome::nan));
}

std::uint64_t lost_elements(const ErrorSums& sums, emu::Format format) {
  return sums.of(Outcome::overflow) + sums.of(Outcome::to_zero) + not_held(sums, format);
}

double lost_percent(const ErrorSums& sums, emu::Format format) {
  const std::uint64_t whole = losable(sums, format);
  return whole == 0 ? 0 : 100 * static_cast<double>(lost_elements(sums, format)) / static_cast<double>(whole);
}

std::string lost_words(const ErrorSums& sums, emu::Format format) {
  const std::uint64_t whole = losable(sums, format);
  return percent(lost_elements(sums, format), whole) + (whole == sums.count() ? "" : " of the numbers other than 0");
}

Severity severity(const ErrorSums& sums, emu::Format format) {
  if (not_held(sums, format) != 0) return Severity::bad;
  const Threshold* const threshold = exceeded(sums);
  return threshold == nullptr ? Severity::good : threshold->severity;
}

reports::Finding finding_of(const CensusRow& row, const Scaling& scaling, const std::string& tensor, const std::string& cause) {
  const Threshold* const decided = exceeded(row.sums);
  const Threshold& threshold = decided == nullptr ? thresholds.back() : *decided;
  reports::Finding finding{.what = std::string(emu::name_of(threshold.outcome)) + "%",
                           .where = row.tensor + ", " + emu::format_name(row.format),
                           .value = percent_of(row.sums, threshold.outcome),
                           .threshold = threshold.percent,
                           .source = threshold.source,
                           .severity = severity(row.sums, row.format),
                           .sentence = sentence_of(row, scaling, tensor) + (cause.empty() ? "" : " ") + cause};
  if (const std::uint64_t nonfinite = not_held(row.sums, row.format); nonfinite != 0) {
    finding.what = "nonfinite%";
    finding.value = 100 * static_cast<double>(nonfinite) / static_cast<double>(row.sums.count());
    finding.threshold = 0.0;
    finding.source = "IEEE 754-2019, 6.1 and 6.2: no number stands for an infinity or a NaN";
  }
  return finding;
}

reports::Finding finding_of(const Advice& advice) {
  const std::uint64_t lost = advice.lost_to_zero + advice.overflowing + advice.not_held;
  return {.what = "lost_at_best_scale",
          .where = advice.tensor + ", " + emu::format_name(advice.format) + ", 2^" + std::to_string(advice.use_log2),
          .value = static_cast<std::int64_t>(lost),
          .threshold = std::int64_t{0},
          .source = "chosen: a loss scale should lose no element to zero or overflow",
          .severity = lost == 0                                                                  ? Severity::good
                      : advice.overflowing == 0 && advice.not_held == 0 && lost < advice.nonzero ? Severity::warning
                                                                                                 : Severity::bad,
          .sentence = sentence(advice)};
}

std::vector<Judged> judge(const std::vector<CensusRow>& census, const std::vector<SweepRow>& sweep) {
  std::vector<Judged> all;
  const std::vector<Advice> advice = advise(sweep);
  for (const CensusRow& row : census) {
    Judged judged{.row = &row};
    const auto of_format = std::find_if(advice.begin(), advice.end(), [&](const Advice& a) { return a.format == row.format; });
    if (of_format != advice.end())
      judged.best = &*std::find_if(sweep.begin(), sweep.end(), [&](const SweepRow& r) {
        return r.format == row.format && r.log2_scale == of_format->use_log2;
      });
    const ErrorSums& best = judged.sums();
    if (severity(row.sums, row.format) == Severity::good)
      judged.fate = TensorFate::fits;
    else if (severity(best, row.format) == Severity::good)
      judged.fate = TensorFate::mended;
    else if (judged.lost() == 0)
      judged.fate = TensorFate::few_bits;
    else
      judged.fate = TensorFate::lossy;
    all.push_back(judged);
  }
  return all;
}

}  // namespace ulpscope::studies

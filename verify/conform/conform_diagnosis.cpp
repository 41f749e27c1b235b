// SPDX-License-Identifier: Apache-2.0
// Findings as sentences.
#include <fmt/format.h>

#include "verify/conform/conform.hpp"

namespace ulpscope::verify {
namespace {

/// What the subject does, after "is what ... gives".
std::string in_words(const ConformFinding& finding) {
  switch (finding.fault) {
    case Fault::rounding_mode: return "rounding " + finding.explanation;
    case Fault::tie:
      return finding.explanation.starts_with("ties ") ? "sending " + finding.explanation
                                                      : "sending ties as " + finding.explanation + " does";
    case Fault::double_rounding: return "rounding twice, " + finding.explanation + ",";
    case Fault::overflow: return "the " + finding.explanation + " policy";
    case Fault::flush:
      return finding.explanation == "flush_subnormals" ? "flushing subnormal results to zero"
                                                       : "taking subnormal inputs for zero";
    default: return finding.explanation;
  }
}

/// `All 12 mismatches are`, `12 mismatches are`, `It is`.
std::string subject_of(const ConformFinding& finding, bool alone) {
  if (finding.count == 1) return alone ? "It is" : "1 mismatch is";
  return fmt::format("{}{} mismatches are", alone ? "All " : "", finding.count);
}

std::string sentence(const ConformFinding& finding, bool alone) {
  const std::string count = subject_of(finding, alone);
  if (finding.explanation.empty()) return fmt::format("{} {}: {}", count, name_of(finding.fault), meaning_of(finding.fault));
  std::string out = fmt::format("{} what {} gives", count, in_words(finding));
  if (finding.otherwise != 0)
    out += fmt::format(" (on {} other inputs, where that would be wrong too, the subject does not do so)", finding.otherwise);
  return out;
}

}  // namespace

std::string diagnosis(const Conformance& result, const std::string& subject) {
  if (result.compared == 0) return subject + ": nothing was compared.";
  if (result.mismatches == 0) return fmt::format("{}: all {} results are right.", subject, result.compared);
  const bool alone = result.findings.size() == 1;
  std::string out;
  for (const ConformFinding& finding : result.findings) out += (out.empty() ? "" : "; ") + sentence(finding, alone);
  return fmt::format("{}: {} of {} results {} wrong. {}.", subject, result.mismatches, result.compared,
                     result.mismatches == 1 ? "is" : "are", out);
}

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// What an explanation says: a sentence, remarks, a table.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "emu/catalogue.hpp"
#include "emu/names.hpp"
#include "verify/explain/explain.hpp"

namespace ulpscope::verify {
namespace {

/// "61.2%"; 100% and 0% mean all and none.
std::string percent(std::uint64_t part, std::uint64_t all) {
  if (part == all) return "100%";
  const double share = 100.0 * static_cast<double>(part) / static_cast<double>(all);
  if (share > 99.99) return "over 99.99%";
  return part != 0 && share < 0.01 ? "under 0.01%" : fmt::format("{:.2f}%", share);
}

std::string elements(std::uint64_t part, std::uint64_t all) {
  return part == all ? fmt::format("all {} elements", all) : fmt::format("{} of {} elements", part, all);
}

std::string claim_words(const Claim& claim) {
  const auto& config = claim.config;
  std::string words = claim.engine() + ", " + emu::format_name(claim.a());
  if (claim.b() != claim.a()) words += " by " + emu::format_name(claim.b());
  words += " into " + emu::format_name(config.acc);
  if (config.out != config.acc) words += ", out " + emu::format_name(config.out);
  if (config.promote != 0) words += fmt::format(", promoted every {}", config.promote);
  if (config.split_k != 1) words += fmt::format(", split-K = {}", config.split_k);
  return words;
}

/// Net gain over the claim, as a share of what it gets wrong.
double lift(const ExplainResult& result, const Finding& finding) {
  return (static_cast<double>(finding.matched) - static_cast<double>(result.equal())) / static_cast<double>(result.wrong);
}

std::size_t group_size(const ExplainResult& result) {
  std::size_t size = 0;
  for (const Finding& finding : result.findings) size += finding.group == result.findings.front().group ? 1 : 0;
  return size;
}

/// Whether all that cannot be told apart concern what is added to the product.
bool is_about_c(const ExplainResult& result) {
  constexpr std::array words{"c=", "alpha", "beta"};
  return std::ranges::all_of(result.findings, [&](const Finding& finding) {
    return finding.group != result.findings.front().group ||
           std::ranges::any_of(words, [&](const char* word) { return finding.hypothesis.word().starts_with(word); });
  });
}

}  // namespace

std::string_view name_of(ExplainVerdict verdict) noexcept {
  constexpr std::array<std::string_view, 5> names{"holds", "explained", "unexplained", "undecided", "vacuous"};
  return names[static_cast<std::size_t>(verdict)];
}

std::string verdict_sentence(const ExplainResult& r) {
  const std::string claim = claim_words(r.claim);
  switch (r.verdict) {
    case ExplainVerdict::holds: return fmt::format("claims {}, and is: {} to the bit", claim, elements(r.count, r.count));
    case ExplainVerdict::vacuous:
      if (r.count == 0) return "nothing to explain: D has no elements";
      return fmt::format(
          "claims {}, and reproduces {}, but so does each of the {} other ways to sum: this data tells nothing apart", claim,
          elements(r.count, r.count), r.sums);
    case ExplainVerdict::explained: {
      const Finding& best = r.findings.front();
      return fmt::format(
          "claims {}, behaves as {}, otherwise as claimed: {} of {} elements to the bit, {} of the {} that the claim gets "
          "wrong",
          claim, best.hypothesis.sentence(), percent(best.matched, r.count), r.count, percent(best.matched_of_wrong, r.wrong),
          r.wrong);
    }
    case ExplainVerdict::undecided:
      return fmt::format(
          "claims {}, which reproduces {} of {} elements; the rest fits {}, but is too little to tell that from chance", claim,
          percent(r.equal(), r.count), r.count, r.findings.front().hypothesis.sentence());
    case ExplainVerdict::unexplained: break;
  }
  const std::size_t tried = r.tried - std::min(r.skipped, r.tried);
  std::string text =
      fmt::format("claims {}, which reproduces {} of {} elements; ", claim, percent(r.equal(), r.count), r.count);
  if (tried == 0) return text + "no hypothesis was tried in time";
  text += fmt::format("none of the {} hypotheses {}explains the rest", tried, r.skipped != 0 ? "tried in time " : "");
  if (r.findings.empty()) return text;
  const Finding& best = r.findings.front();
  if (best.matched <= r.equal()) return text + ", and none comes nearer";
  return text + fmt::format(": the best, {}, reproduces {} (chance level {:.2f}%)", best.hypothesis.sentence(),
                            percent(best.matched, r.count), 100 * r.chance);
}

std::vector<std::string> remarks(const ExplainResult& r) {
  std::vector<std::string> lines;
  if (r.verdict == ExplainVerdict::holds)
    lines.push_back(fmt::format("{} of {} other ways to sum {}would have been seen on this data", r.distinct,
                                r.sums - std::min(r.skipped, r.sums), r.skipped != 0 ? "that were tried " : ""));
  if (r.skipped != 0)
    lines.push_back(
        fmt::format("stopped after {:g} seconds: {} of {} hypotheses were not tried, or not to the end; --seconds 0 tries all",
                    r.seconds, r.skipped, r.tried));
  if (r.verdict == ExplainVerdict::unexplained && !r.tiles.empty())
    lines.push_back("all that the claim gets wrong is in " + r.tiles);
  if (r.verdict == ExplainVerdict::unexplained && !r.matrices.empty())
    lines.push_back(fmt::format("D is as of {}, but for how its sums are rounded", r.matrices));
  if (r.verdict != ExplainVerdict::explained && r.verdict != ExplainVerdict::undecided) return lines;
  if (const std::size_t same = group_size(r); same > 1)
    lines.push_back(fmt::format(
        "these {} cannot be told apart by this data; the simplest is named. Data that can: {}", same,
        is_about_c(r) ? "another C, alpha and beta"
                      : "longer K, a wide range of exponents, shapes that are not square and no multiples of a tile"));
  if (r.verdict == ExplainVerdict::undecided)
    lines.push_back(fmt::format("the elements that differ hold {} bits of evidence, {} hypotheses ask for {}: give more data",
                                r.evidence_bits, r.tried, r.needed_bits()));
  return lines;
}

reports::Table explain_table(const ExplainResult& r, const std::function<std::string(const Hypothesis&)>& command) {
  reports::Table table{
      "explain",
      {"hypothesis", "group", "explains", "count", "matched", "wrong", "matched_of_wrong", "lift", "sentence", "command"},
      {}};
  table.rows.push_back({"claim", reports::whole(0), r.wrong == 0 ? "yes" : "no", reports::whole(r.count),
                        reports::whole(r.equal()), reports::whole(r.wrong), reports::whole(0), 0.0, claim_words(r.claim),
                        command({})});
  for (const Finding& finding : r.findings)
    table.rows.push_back({finding.hypothesis.word(), reports::whole(finding.group), finding.explains ? "yes" : "no",
                          reports::whole(r.count), reports::whole(finding.matched), reports::whole(r.wrong),
                          reports::whole(finding.matched_of_wrong), lift(r, finding), finding.hypothesis.sentence(),
                          finding.hypothesis.has_command() ? command(finding.hypothesis) : ""});
  return table;
}

}  // namespace ulpscope::verify

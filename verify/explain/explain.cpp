// SPDX-License-Identifier: Apache-2.0
// Tries hypotheses on growing samples, and counts the survivors over all of D.
#include "verify/explain/explain.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <limits>
#include <span>
#include <utility>

#include "emu/error.hpp"
#include "tensors/parallel.hpp"
#include "tensors/tensor.hpp"
#include "verify/explain/explain_sample.hpp"
#include "verify/explain/missing_products.hpp"
#include "verify/explain/placements.hpp"

namespace ulpscope::verify {
namespace {

/// Sizes of the samples: every single cause meets the first, every pair the smaller one, those that survive it the second, then
/// all of D.
struct SampleSize {
  std::size_t outputs, products;
};
constexpr SampleSize of_singles{256, std::size_t{1} << 17}, of_pairs{36, std::size_t{1} << 15},
    second_size{4096, std::size_t{1} << 24};
/// A hypothesis survives a sample where it misses no more than this share of it.
constexpr double most_missed = 0.02;
/// Hypotheses that are listed where none explains D, those of which they are the best, and the most that meet all of D.
constexpr std::size_t best_listed = 5, best_compared = 40, most_confirmed = 64;

class Search {
 public:
  Search(const ExplainConfig& config, const Claim& claim, const MatmulData& data, std::vector<double> d)
      : config_(config), claim_(claim), evidence_(data, claim.kernel, std::move(d), config.product.threads) {
    second_ = sample(second_size);
  }

  const ReplayedOutputs& evidence() const noexcept { return evidence_; }
  /// The fewest choices that a finding makes which explains D.
  std::uint64_t choices(const std::vector<Finding>& findings) const {
    std::uint64_t fewest = std::numeric_limits<std::uint64_t>::max();
    for (const Finding& finding : findings)
      if (finding.explains) fewest = std::min(fewest, choices(finding));
    return fewest;
  }
  /// Those that a finding makes.
  std::uint64_t choices(const Finding& finding) const { return evidence_.choices(finding.hypothesis.kernel(claim_.kernel)); }
  /// Hypotheses that were not tried, or not to the end, since the time was over.
  std::size_t skipped() const noexcept { return skipped_; }
  Region sample(SampleSize size) const { return evidence_.sample(size.outputs, size.products); }
  bool explains(const Score& score) const {
    const auto enough = [&](std::uint64_t part, std::uint64_t all) {
      return static_cast<double>(part) >= config_.at_least * static_cast<double>(all);
    };
    return enough(score.matched, evidence_.count()) && enough(score.matched_of_wrong, evidence_.wrong());
  }

  /// Scores of hypotheses on the second sample where the claim holds there too.
  std::size_t distinct(const std::vector<Hypothesis>& hypotheses) const {
    const std::vector<Score> scores = scored(hypotheses, second_);
    return static_cast<std::size_t>(std::count_if(scores.begin(), scores.end(), [](const Score& s) { return s.changed != 0; }));
  }

  /// Those that explain D, in their order; without any the best ones, best first. Tried on `first` at first.
  std::vector<Finding> find(const std::vector<Hypothesis>& hypotheses, const Region& first) const {
    const std::vector<Score> scores = scored(hypotheses, first);
    std::vector<std::size_t> best = best_first(scores);
    std::vector<std::size_t> alive = surviving(best, scores, first);
    if (second_.count() > first.count() && alive.size() > 1) alive = surviving_second(hypotheses, alive);
    std::vector<Finding> findings = confirmed(hypotheses, first_of(alive, most_confirmed));
    std::erase_if(findings, [](const Finding& finding) { return !finding.explains; });
    if (!findings.empty()) return findings;
    std::erase_if(best, [&](std::size_t i) { return scores[i].changed == 0; });
    return confirmed(hypotheses, best_on_second(hypotheses, first_of(best, best_compared)));
  }

  /// The median share of a sample that hypotheses reproduce which are not the claim there.
  double median_share(const std::vector<Hypothesis>& hypotheses, const Region& region) const {
    std::vector<std::uint64_t> matched;
    for (const Score& score : scored(hypotheses, region))
      if (score.changed != 0) matched.push_back(score.matched);
    if (matched.empty()) return 0;
    std::nth_element(matched.begin(), matched.begin() + static_cast<std::ptrdiff_t>(matched.size() / 2), matched.end());
    return static_cast<double>(matched[matched.size() / 2]) / static_cast<double>(region.count());
  }

 private:
  static std::vector<std::size_t> first_of(std::vector<std::size_t> indices, std::size_t most) {
    if (indices.size() > most) indices.resize(most);
    return indices;
  }

  Score score(const Hypothesis& hypothesis, const Region& region) const {
    try {
      return evidence_.score(hypothesis.kernel(claim_.kernel), region);
    } catch (const Error&) {  // formats that do not go together
      return {};
    }
  }
  std::vector<Score> scored(const std::vector<Hypothesis>& hypotheses, const Region& region) const {
    std::vector<Score> scores(hypotheses.size());
    tensors::for_each_index(hypotheses.size(), config_.product.threads, [&](std::size_t i) {
      if (!is_over()) scores[i] = score(hypotheses[i], region);
    });
    return scores;
  }
  /// Whether the time is over; one more hypothesis is skipped then.
  bool is_over() const {
    if (config_.seconds == 0 || std::chrono::steady_clock::now() - start_ < std::chrono::duration<double>(config_.seconds))
      return false;
    ++skipped_;
    return true;
  }

  /// Indices by the number of elements matched; the simpler hypothesis first where it is the same.
  static std::vector<std::size_t> best_first(const std::vector<Score>& scores) {
    std::vector<std::size_t> order(scores.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t x, std::size_t y) { return scores[x].matched > scores[y].matched; });
    return order;
  }

  bool survives(const Score& score, const Region& region) const {
    const auto count = static_cast<double>(region.count());
    const double missed = std::max(1.0, std::max(most_missed, 2 * (1 - config_.at_least)) * count);
    return score.changed != 0 && count - static_cast<double>(score.matched) <= missed;
  }
  std::vector<std::size_t> surviving(std::vector<std::size_t> indices, const std::vector<Score>& scores,
                                     const Region& region) const {
    std::erase_if(indices, [&](std::size_t i) { return !survives(scores[i], region); });
    return indices;
  }
  std::vector<Score> scored_on_second(const std::vector<Hypothesis>& hypotheses, const std::vector<std::size_t>& some) const {
    std::vector<Hypothesis> left;
    for (const std::size_t i : some) left.push_back(hypotheses[i]);
    return scored(left, second_);
  }
  std::vector<std::size_t> surviving_second(const std::vector<Hypothesis>& hypotheses,
                                            const std::vector<std::size_t>& alive) const {
    const std::vector<Score> scores = scored_on_second(hypotheses, alive);
    std::vector<std::size_t> out;
    for (const std::size_t i : surviving(best_first(scores), scores, second_)) out.push_back(alive[i]);
    return out;
  }
  std::vector<std::size_t> best_on_second(const std::vector<Hypothesis>& hypotheses,
                                          const std::vector<std::size_t>& some) const {
    std::vector<std::size_t> out;
    for (const std::size_t i : first_of(best_first(scored_on_second(hypotheses, some)), best_listed)) out.push_back(some[i]);
    return out;
  }

  std::vector<Finding> confirmed(const std::vector<Hypothesis>& hypotheses, std::vector<std::size_t> indices) const {
    std::sort(indices.begin(), indices.end());
    std::vector<Finding> findings;
    for (const std::size_t i : indices) {
      if (is_over()) continue;
      const Score score = evidence_.score_all(hypotheses[i].kernel(claim_.kernel));
      findings.push_back({hypotheses[i], score.matched, score.matched_of_wrong, score.digest, 0, explains(score)});
    }
    return findings;
  }

  const ExplainConfig& config_;
  const Claim& claim_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  mutable std::atomic<std::size_t> skipped_ = 0;
  ReplayedOutputs evidence_;
  Region second_;
};

/// Placements as findings: each accounts for all of D.
std::vector<Finding> placed_findings(const Search& search, const Claim& claim, std::size_t& tried) {
  std::vector<Finding> findings;
  const ReplayedOutputs& evidence = search.evidence();
  for (Placement& placement : placements(claim, evidence.d(), evidence.claimed())) {
    tried += static_cast<std::size_t>(placement.tried);
    findings.push_back({Hypothesis{{std::move(placement.cause)}}, evidence.count(), evidence.wrong(), 0, 0, true});
  }
  return findings;
}

/// What may have left those products out, or taken them twice.
std::vector<Cause> causes_of(const Claim& claim, const MissingProducts& missing, double least_share) {
  std::vector<Cause> causes;
  for (const auto& [range, twice, share] : missing.found) {
    if (share < least_share) continue;
    causes.push_back((twice ? taken_twice : left_out)(range, claim.shape.k));
    if (twice) continue;
    for (Cause& cause : lost_part_causes(claim, range)) causes.push_back(std::move(cause));
  }
  return causes;
}

void number_groups(std::vector<Finding>& findings) {
  std::size_t groups = 0;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    for (std::size_t j = 0; j < i && findings[i].group == 0; ++j)
      if (findings[j].digest == findings[i].digest) findings[i].group = findings[j].group;
    if (findings[i].group == 0) findings[i].group = ++groups;
  }
}

std::vector<double> values_of(const ExplainConfig& config, const Claim& claim) {
  if (config.d.shape != claim.shape.d)
    throw Error(config.d.label + " (" + tensors::shape_text(config.d.shape) + "): the product of these operands is (" +
                tensors::shape_text(claim.shape.d) + ")");
  std::vector<double> values(static_cast<std::size_t>(config.d.count()));
  config.d.source->read(0, std::span(values));
  return values;
}

}  // namespace

std::uint64_t ExplainResult::needed_bits() const { return static_cast<std::uint64_t>(std::bit_width(tried)) + 4 + choices; }

ExplainResult explain(const ExplainConfig& config) {
  ExplainResult result{.claim = claim_of(config.product), .findings = {}};
  std::vector<double> d = values_of(config, result.claim);
  const MatmulData data = load_matmul(config.product);
  result.count = d.size();
  if (d.empty()) {
    result.verdict = ExplainVerdict::vacuous;
    return result;
  }
  const Search search(config, result.claim, data, std::move(d));
  result.wrong = search.evidence().wrong();
  if (result.wrong == 0) {
    const std::vector<Hypothesis> sums = summation_hypotheses(result.claim);
    result.tried = result.sums = sums.size();
    result.distinct = search.distinct(sums);
    result.verdict = result.distinct == 0 ? ExplainVerdict::vacuous : ExplainVerdict::holds;
    return result;
  }
  const std::vector<Hypothesis> singles = single_hypotheses(result.claim);
  result.tried = singles.size();
  const Region sample = search.sample(of_singles);
  result.findings = placed_findings(search, result.claim, result.tried);
  if (result.findings.empty()) result.findings = search.find(singles, sample);
  const auto explained = [](const std::vector<Finding>& all) { return !all.empty() && all.front().explains; };
  const auto look = [&](const std::vector<Hypothesis>& more, const Region& first, std::uint64_t read_off_of) {
    result.tried += more.size();
    const std::vector<Finding> found = search.find(more, first);
    if (explained(found)) result.findings.clear(), result.tried += static_cast<std::size_t>(read_off_of);
    result.findings.insert(result.findings.end(), found.begin(), found.end());
  };
  if (!explained(result.findings)) {
    result.chance = search.median_share(singles, sample);
    const MissingProducts missing = missing_products(result.claim, data, search.evidence());
    constexpr double nearly_all = 0.9;
    look(each_alone(causes_of(result.claim, missing, 0)), sample, missing.tried);
    if (!explained(result.findings))
      look(hypotheses_with(result.claim, causes_of(result.claim, missing, nearly_all)), search.sample(of_pairs), missing.tried);
  }
  for (const auto hypotheses_of : {paired_hypotheses, tile_hypotheses})
    if (!explained(result.findings)) look(hypotheses_of(result.claim), search.sample(of_pairs), 0);
  const auto better = [&](const Finding& x, const Finding& y) {
    return x.matched != y.matched ? x.matched > y.matched : search.choices(x) < search.choices(y);
  };
  std::stable_sort(result.findings.begin(), result.findings.end(), better);
  number_groups(result.findings);
  result.skipped = search.skipped(), result.seconds = config.seconds;
  result.evidence_bits = search.evidence().bits(config.product.out, config.product.acc);
  if (!explained(result.findings)) return result;
  result.choices = search.choices(result.findings);
  result.verdict = result.evidence_bits < result.needed_bits() ? ExplainVerdict::undecided : ExplainVerdict::explained;
  return result;
}

}  // namespace ulpscope::verify

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
#include "verify/explain/block_scales.hpp"
#include "verify/explain/explain_sample.hpp"
#include "verify/explain/factors.hpp"
#include "verify/explain/last_tiles.hpp"
#include "verify/explain/missing_products.hpp"
#include "verify/explain/placements.hpp"
#include "verify/explain/tile_placements.hpp"
#include "verify/explain/wrong_tiles.hpp"

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
/// Of the time, the shares after which no hypothesis is tried, and those that come nearest are not compared any more.
constexpr double share_of_trying = 0.8, share_of_comparing = 0.9;

/// What a replay costs beside others: the claimed sums are the cheapest, split products are several products each.
int cost_of(const Kernel& kernel, const Kernel& claimed) {
  if (kernel.chain.split) return 2;
  return kernel.chain.engine == claimed.chain.engine && !kernel.some ? 0 : 1;
}

/// Hypotheses, and how much of a sample they reproduce.
struct Tried {
  std::vector<Hypothesis> hypotheses;
  Region sample;
  std::vector<Score> scores;  ///< nothing changed where the time was over
};

class Search {
 public:
  Search(const ExplainConfig& config, const Claim& claim, const MatmulData& data, std::vector<double> d)
      : config_(config),
        claim_(claim),
        evidence_(data, claim.kernel, std::move(d), config.product.threads),
        start_(std::chrono::steady_clock::now()) {
    second_ = sample(second_size);
  }

  const ReplayedOutputs& evidence() const noexcept { return evidence_; }
  /// Hypotheses that were not tried, or not to the end, since the time was over.
  std::size_t skipped() const noexcept { return skipped_; }
  Region sample(SampleSize size) const { return evidence_.sample(size.outputs, size.products); }
  bool explains(const Score& score) const {
    const auto enough = [&](std::uint64_t part, std::uint64_t all) {
      return static_cast<double>(part) >= config_.at_least * static_cast<double>(all);
    };
    return enough(score.matched, evidence_.count()) && enough(score.matched_of_wrong, evidence_.wrong());
  }

  /// Hypotheses that are not the claim on the second sample, where the claim holds. The time does not end it before one is.
  std::size_t distinct(const std::vector<Hypothesis>& hypotheses) const {
    std::atomic<std::size_t> distinct = 0;
    tensors::for_each_index(hypotheses.size(), config_.product.threads, [&](std::size_t i) {
      if (distinct > 0 && (!config_.counts_sums || is_over()))
        ++skipped_;
      else
        distinct += score(hypotheses[i], second_).changed != 0 ? 1 : 0;
    });
    return distinct;
  }

  /// Tries hypotheses on a sample; those that are not in time count as skipped.
  Tried tried(std::vector<Hypothesis> hypotheses, const Region& sample) const {
    std::vector<Score> scores = scored(hypotheses, sample, share_of_trying, &skipped_);
    return {std::move(hypotheses), sample, std::move(scores)};
  }
  /// Those that explain D, in their order.
  std::vector<Finding> explaining(const Tried& tried) const {
    std::vector<std::size_t> alive = surviving(best_first(tried.scores), tried.scores, tried.sample);
    if (second_.count() > tried.sample.count() && alive.size() > 1 && !is_over())
      alive = surviving_second(tried.hypotheses, alive);
    alive = first_of(alive, most_confirmed);
    std::sort(alive.begin(), alive.end());
    std::vector<Finding> findings;
    for (const std::size_t i : alive) {
      if (!findings.empty() && is_over())
        ++skipped_;
      else if (Finding finding = confirmed(tried.hypotheses[i]); finding.explains)
        findings.push_back(std::move(finding));
    }
    return findings;
  }
  /// Those that come nearest, in their order, where none explains D.
  std::vector<Finding> best(const Tried& tried) const {
    std::vector<std::size_t> best = best_first(tried.scores);
    std::erase_if(best, [&](std::size_t i) { return tried.scores[i].changed == 0; });
    best = best_on_second(tried.hypotheses, first_of(best, best_compared));
    std::sort(best.begin(), best.end());
    std::vector<Finding> findings;
    for (const std::size_t i : best)
      if (!is_over()) findings.push_back(confirmed(tried.hypotheses[i]));
    return findings;
  }
  /// Whether this share of the time is over.
  bool is_over(double share = 1) const {
    const std::chrono::duration<double> most(share * config_.seconds);
    return config_.seconds != 0 && std::chrono::steady_clock::now() - start_ >= most;
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
  /// The cheapest first, but for those that a share of the time does not suffice for, which count as skipped.
  std::vector<Score> scored(const std::vector<Hypothesis>& hypotheses, const Region& region, double share,
                            std::atomic<std::size_t>* skipped) const {
    std::vector<std::size_t> order(hypotheses.size());
    std::vector<int> costs;
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (const Hypothesis& hypothesis : hypotheses) costs.push_back(cost_of(hypothesis.kernel(claim_.kernel), claim_.kernel));
    std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return costs[x] < costs[y]; });
    std::vector<Score> scores(hypotheses.size());
    std::atomic<std::size_t> next = 0;
    tensors::for_each_index(hypotheses.size(), config_.product.threads, [&](std::size_t) {
      const std::size_t i = order[next++];  // an index of the loop is no order
      if (!is_over(share))
        scores[i] = score(hypotheses[i], region);
      else if (skipped != nullptr)
        ++*skipped;
    });
    return scores;
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
  std::vector<Score> scored_on_second(const std::vector<Hypothesis>& hypotheses, const std::vector<std::size_t>& some,
                                      double share, std::atomic<std::size_t>* skipped) const {
    std::vector<Hypothesis> left;
    for (const std::size_t i : some) left.push_back(hypotheses[i]);
    return scored(left, second_, share, skipped);
  }
  std::vector<std::size_t> surviving_second(const std::vector<Hypothesis>& hypotheses,
                                            const std::vector<std::size_t>& alive) const {
    const std::vector<Score> scores = scored_on_second(hypotheses, alive, 1, &skipped_);
    std::vector<std::size_t> out;
    for (const std::size_t i : surviving(best_first(scores), scores, second_)) out.push_back(alive[i]);
    return out;
  }
  std::vector<std::size_t> best_on_second(const std::vector<Hypothesis>& hypotheses,
                                          const std::vector<std::size_t>& some) const {
    std::vector<std::size_t> out;
    const std::vector<Score> scores = scored_on_second(hypotheses, some, share_of_comparing, nullptr);
    for (const std::size_t i : first_of(best_first(scores), best_listed)) out.push_back(some[i]);
    return out;
  }

  Finding confirmed(const Hypothesis& hypothesis) const {
    const Kernel kernel = hypothesis.kernel(claim_.kernel);
    const Score score = evidence_.score_all(kernel);
    return {hypothesis, score.matched, score.matched_of_wrong, score.digest, 0, explains(score), evidence_.choices(kernel)};
  }

  const ExplainConfig& config_;
  const Claim& claim_;
  mutable std::atomic<std::size_t> skipped_ = 0;
  ReplayedOutputs evidence_;
  std::chrono::steady_clock::time_point start_;  // when the claim had been replayed
  Region second_;
};

/// The median share of a sample that hypotheses reproduce which are not the claim there.
double median_share(const Tried& tried) {
  std::vector<std::uint64_t> matched;
  for (const Score& score : tried.scores)
    if (score.changed != 0) matched.push_back(score.matched);
  if (matched.empty()) return 0;
  std::nth_element(matched.begin(), matched.begin() + static_cast<std::ptrdiff_t>(matched.size() / 2), matched.end());
  return static_cast<double>(matched[matched.size() / 2]) / static_cast<double>(tried.sample.count());
}

/// Placements as findings: each accounts for all of D.
std::vector<Finding> placed_findings(const Search& search, const Claim& claim, std::size_t& tried) {
  std::vector<Finding> findings;
  const ReplayedOutputs& evidence = search.evidence();
  for (Placement& placement : placements(claim, evidence.d(), evidence.claimed())) {
    tried += static_cast<std::size_t>(placement.tried);
    findings.push_back(
        {Hypothesis{{std::move(placement.cause)}}, evidence.count(), evidence.wrong(), 0, 0, true, placement.choices});
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

/// Of those that explain D.
std::uint64_t fewest_choices(const std::vector<Finding>& findings) {
  std::uint64_t fewest = std::numeric_limits<std::uint64_t>::max();
  for (const Finding& finding : findings)
    if (finding.explains) fewest = std::min(fewest, finding.choices);
  return fewest;
}

/// From what is simple to what is not, until something explains D; without anything what comes nearest of each kind.
void search_all(const Search& search, const MatmulData& data, ExplainResult& result) {
  const Claim& claim = result.claim;
  std::vector<Tried> all;
  const auto look = [&](std::vector<Hypothesis> hypotheses, const Region& sample, std::uint64_t read_off_of) {
    result.tried += hypotheses.size();
    all.push_back(search.tried(std::move(hypotheses), sample));
    result.findings = search.explaining(all.back());
    if (!result.findings.empty()) result.tried += static_cast<std::size_t>(read_off_of);
  };
  const std::vector<WrongTiles> tiles = wrong_tiles(claim.shape, [&](std::size_t i) { return search.evidence().is_wrong(i); });
  if (!tiles.empty()) result.tiles = sentence_of(claim, narrowest(tiles));
  // Everywhere, then where all that is wrong is.
  const auto look_in_tiles_too = [&](std::vector<Hypothesis> hypotheses, const Region& sample, std::uint64_t read_off_of) {
    look(hypotheses, sample, read_off_of);
    if (!result.findings.empty() || tiles.empty()) return;
    for (Hypothesis& hypothesis : hypotheses) hypothesis.causes.push_back(only_in(claim, narrowest(tiles)));
    look(std::move(hypotheses), sample, read_off_of);
  };
  const Region sample = search.sample(of_singles), small_sample = search.sample(of_pairs);
  look_in_tiles_too(single_hypotheses(claim), sample, 0);
  if (!result.findings.empty()) return;
  const Factors read_off = factors(claim, search.evidence());
  look(each_alone(read_off.simple), sample, 0);
  if (result.findings.empty()) look(each_alone(read_off.others), sample, read_off.tried);
  if (result.findings.empty() && read_off.is_likely) look(hypotheses_with(claim, read_off.simple), small_sample, 0);
  if (!result.findings.empty()) return;
  OffBlocks off = off_blocks(claim, data, search.evidence());
  look_in_tiles_too(each_alone(std::move(off.causes)), small_sample, off.tried);
  if (!result.findings.empty()) return;
  look_in_tiles_too(each_alone(last_tile_causes(claim, search.evidence())), small_sample, 0);
  if (!result.findings.empty()) return;
  const MissingProducts missing =
      search.is_over(share_of_trying) ? MissingProducts{} : missing_products(claim, data, search.evidence());
  constexpr double nearly_all = 0.9;
  look_in_tiles_too(each_alone(causes_of(claim, missing, 0)), sample, missing.tried);
  const std::vector<Cause> likely = causes_of(claim, missing, nearly_all);
  if (result.findings.empty()) look(hypotheses_with(claim, likely), small_sample, missing.tried);
  for (const auto hypotheses_of : {paired_hypotheses, tile_hypotheses})
    if (result.findings.empty()) look(hypotheses_of(claim), small_sample, 0);
  if (!result.findings.empty()) return;
  result.chance = median_share(all.front());
  for (const Tried& tried : all) {
    const std::vector<Finding> best = search.best(tried);
    result.findings.insert(result.findings.end(), best.begin(), best.end());
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
  result.wrong = search.evidence().wrong(), result.seconds = config.seconds;
  if (result.wrong == 0) {
    const std::vector<Hypothesis> sums = summation_hypotheses(result.claim);
    result.tried = result.sums = sums.size();
    result.distinct = search.distinct(sums), result.skipped = search.skipped();
    result.verdict = result.distinct == 0 ? ExplainVerdict::vacuous : ExplainVerdict::holds;
    return result;
  }
  result.findings = placed_findings(search, result.claim, result.tried);
  if (result.findings.empty())
    search_all(search, data, result);
  else
    result.tried += single_hypotheses(result.claim).size();
  const auto better = [](const Finding& x, const Finding& y) {
    return x.matched != y.matched ? x.matched > y.matched : x.choices < y.choices;
  };
  std::stable_sort(result.findings.begin(), result.findings.end(), better);
  number_groups(result.findings);
  result.skipped = search.skipped();
  result.evidence_bits = search.evidence().bits(config.product.out, config.product.acc);
  if (result.findings.empty() || !result.findings.front().explains) return result;
  result.choices = fewest_choices(result.findings);
  result.verdict = result.evidence_bits < result.needed_bits() ? ExplainVerdict::undecided : ExplainVerdict::explained;
  return result;
}

}  // namespace ulpscope::verify

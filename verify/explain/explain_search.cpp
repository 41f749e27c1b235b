// SPDX-License-Identifier: Apache-2.0
// Sizes of samples, shares of the time, and what survives.
#include "verify/explain/explain_search.hpp"

#include <algorithm>
#include <utility>

#include "emu/error.hpp"
#include "tensors/parallel.hpp"

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

std::vector<std::size_t> first_of(std::vector<std::size_t> indices, std::size_t most) {
  if (indices.size() > most) indices.resize(most);
  return indices;
}

/// Indices by the number of elements matched; the simpler hypothesis first where it is the same.
std::vector<std::size_t> best_first(const std::vector<Score>& scores) {
  std::vector<std::size_t> order(scores.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t x, std::size_t y) { return scores[x].matched > scores[y].matched; });
  return order;
}

Region sample_of(const ReplayedOutputs& evidence, SampleSize size) { return evidence.sample(size.outputs, size.products); }

}  // namespace

HypothesisSearch::HypothesisSearch(const ExplainConfig& config, const Claim& claim, const MatmulData& data,
                                   std::vector<double> d)
    : config_(config),
      claim_(claim),
      evidence_(data, claim.kernel, std::move(d), config.product.threads),
      start_(std::chrono::steady_clock::now()),
      second_(sample_of(evidence_, second_size)) {}

Region HypothesisSearch::sample_of_singles() const { return sample_of(evidence_, of_singles); }
Region HypothesisSearch::sample_of_pairs() const { return sample_of(evidence_, of_pairs); }
bool HypothesisSearch::is_trying_over() const { return is_over(share_of_trying); }

bool HypothesisSearch::explains(const Score& score) const {
  const auto enough = [&](std::uint64_t part, std::uint64_t all) {
    return static_cast<double>(part) >= config_.at_least * static_cast<double>(all);
  };
  return enough(score.matched, evidence_.count()) && enough(score.matched_of_wrong, evidence_.wrong());
}

std::size_t HypothesisSearch::distinct(const std::vector<Hypothesis>& hypotheses) const {
  std::atomic<std::size_t> distinct = 0;
  tensors::for_each_index(hypotheses.size(), config_.product.threads, [&](std::size_t i) {
    if (distinct > 0 && (!config_.counts_sums || is_over(1)))
      ++skipped_;
    else
      distinct += score(hypotheses[i], second_).changed != 0 ? 1 : 0;
  });
  return distinct;
}

Tried HypothesisSearch::tried(std::vector<Hypothesis> hypotheses, const Region& sample) const {
  std::vector<Score> scores = scored(hypotheses, sample, share_of_trying, &skipped_);
  return {std::move(hypotheses), sample, std::move(scores)};
}

std::vector<Finding> HypothesisSearch::explaining(const Tried& tried) const {
  std::vector<std::size_t> alive = surviving(best_first(tried.scores), tried.scores, tried.sample);
  if (second_.count() > tried.sample.count() && alive.size() > 1 && !is_over(1))
    alive = surviving_second(tried.hypotheses, alive);
  alive = first_of(alive, most_confirmed);
  std::sort(alive.begin(), alive.end());
  std::vector<Finding> findings;
  for (const std::size_t i : alive) {
    if (!findings.empty() && is_over(1))
      ++skipped_;
    else if (Finding finding = confirmed(tried.hypotheses[i]); finding.explains)
      findings.push_back(std::move(finding));
  }
  return findings;
}

std::vector<Finding> HypothesisSearch::best(const Tried& tried) const {
  std::vector<std::size_t> best = best_first(tried.scores);
  std::erase_if(best, [&](std::size_t i) { return tried.scores[i].changed == 0; });
  best = best_on_second(tried.hypotheses, first_of(best, best_compared));
  std::sort(best.begin(), best.end());
  std::vector<Finding> findings;
  for (const std::size_t i : best)
    if (!is_over(1)) findings.push_back(confirmed(tried.hypotheses[i]));
  return findings;
}

bool HypothesisSearch::is_over(double share) const {
  const std::chrono::duration<double> most(share * config_.seconds);
  return config_.seconds != 0 && std::chrono::steady_clock::now() - start_ >= most;
}

Score HypothesisSearch::score(const Hypothesis& hypothesis, const Region& region) const {
  try {
    return evidence_.score(hypothesis.kernel(claim_.kernel), region);
  } catch (const Error&) {  // formats that do not go together
    return {};
  }
}

/// The cheapest first, but for those that a share of the time does not suffice for, which count as skipped.
std::vector<Score> HypothesisSearch::scored(const std::vector<Hypothesis>& hypotheses, const Region& region, double share,
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

bool HypothesisSearch::survives(const Score& score, const Region& region) const {
  const auto count = static_cast<double>(region.count());
  const double missed = std::max(1.0, std::max(most_missed, 2 * (1 - config_.at_least)) * count);
  return score.changed != 0 && count - static_cast<double>(score.matched) <= missed;
}

std::vector<std::size_t> HypothesisSearch::surviving(std::vector<std::size_t> indices, const std::vector<Score>& scores,
                                                     const Region& region) const {
  std::erase_if(indices, [&](std::size_t i) { return !survives(scores[i], region); });
  return indices;
}

std::vector<Score> HypothesisSearch::scored_on_second(const std::vector<Hypothesis>& hypotheses,
                                                      const std::vector<std::size_t>& some, double share,
                                                      std::atomic<std::size_t>* skipped) const {
  std::vector<Hypothesis> left;
  for (const std::size_t i : some) left.push_back(hypotheses[i]);
  return scored(left, second_, share, skipped);
}

std::vector<std::size_t> HypothesisSearch::surviving_second(const std::vector<Hypothesis>& hypotheses,
                                                            const std::vector<std::size_t>& alive) const {
  const std::vector<Score> scores = scored_on_second(hypotheses, alive, 1, &skipped_);
  std::vector<std::size_t> out;
  for (const std::size_t i : surviving(best_first(scores), scores, second_)) out.push_back(alive[i]);
  return out;
}

std::vector<std::size_t> HypothesisSearch::best_on_second(const std::vector<Hypothesis>& hypotheses,
                                                          const std::vector<std::size_t>& some) const {
  std::vector<std::size_t> out;
  const std::vector<Score> scores = scored_on_second(hypotheses, some, share_of_comparing, nullptr);
  for (const std::size_t i : first_of(best_first(scores), best_listed)) out.push_back(some[i]);
  return out;
}

Finding HypothesisSearch::confirmed(const Hypothesis& hypothesis) const {
  const Kernel kernel = hypothesis.kernel(claim_.kernel);
  const Score score = evidence_.score_all(kernel);
  return {hypothesis, score.matched, score.matched_of_wrong, score.digest, 0, explains(score), evidence_.choices(kernel)};
}

}  // namespace ulpscope::verify

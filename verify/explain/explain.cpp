// SPDX-License-Identifier: Apache-2.0
// Which hypotheses are tried, from what is simple to what is not.
#include "verify/explain/explain.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>
#include <utility>

#include "emu/error.hpp"
#include "tensors/tensor.hpp"
#include "verify/explain/block_scales.hpp"
#include "verify/explain/explain_sample.hpp"
#include "verify/explain/explain_search.hpp"
#include "verify/explain/factors.hpp"
#include "verify/explain/last_tiles.hpp"
#include "verify/explain/missing_products.hpp"
#include "verify/explain/other_matrices.hpp"
#include "verify/explain/placements.hpp"
#include "verify/explain/tile_placements.hpp"
#include "verify/explain/wrong_tiles.hpp"

namespace ulpscope::verify {
namespace {

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
std::vector<Finding> placed_findings(const HypothesisSearch& search, const Claim& claim, std::size_t& tried) {
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
void search_all(const HypothesisSearch& search, const MatmulData& data, ExplainResult& result) {
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
  const Region sample = search.sample_of_singles(), small_sample = search.sample_of_pairs();
  look_in_tiles_too(single_hypotheses(claim), sample, 0);
  if (!result.findings.empty()) return;
  const Factors read_off = factors(claim, search.evidence());
  look(each_alone(read_off.simple), sample, 0);
  if (result.findings.empty()) look(each_alone(read_off.others), sample, read_off.tried);
  if (result.findings.empty() && read_off.is_likely) look(hypotheses_with(claim, read_off.simple), small_sample, 0);
  if (!result.findings.empty()) return;
  const std::vector<Cause> others = other_matrix_causes(claim, data, search.evidence());
  if (!others.empty()) result.matrices = others.front().sentence;
  look(each_alone(others), sample, 0);
  if (result.findings.empty()) look(hypotheses_with(claim, others), small_sample, 0);
  if (!result.findings.empty()) return;
  OffBlocks off = off_blocks(claim, data, search.evidence());
  look_in_tiles_too(each_alone(std::move(off.causes)), small_sample, off.tried);
  if (!result.findings.empty()) return;
  look_in_tiles_too(each_alone(last_tile_causes(claim, search.evidence())), small_sample, 0);
  if (!result.findings.empty()) return;
  const MissingProducts missing =
      search.is_trying_over() ? MissingProducts{} : missing_products(claim, data, search.evidence());
  constexpr double nearly_all = 0.9;
  look_in_tiles_too(each_alone(causes_of(claim, missing, 0)), sample, missing.tried);
  const std::vector<Cause> likely = causes_of(claim, missing, nearly_all);
  if (result.findings.empty()) look(hypotheses_with(claim, likely), small_sample, missing.tried);
  for (const auto hypotheses_of : {paired_hypotheses, tile_hypotheses})
    if (result.findings.empty()) look(hypotheses_of(claim), small_sample, 0);
  if (!result.findings.empty()) return;
  result.chance = median_share(all.front());
  for (const Tried& tried : all) {
    std::vector<Finding> best = search.best(tried);
    // In tiles that are wrong there is hardly anything to lose: what gains nothing there says nothing.
    std::erase_if(best, [&](const Finding& finding) {
      return finding.hypothesis.kernel(claim.kernel).only && finding.matched <= result.equal();
    });
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
  const HypothesisSearch search(config, result.claim, data, std::move(d));
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

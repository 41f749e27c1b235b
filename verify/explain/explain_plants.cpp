// SPDX-License-Identifier: Apache-2.0
// Plants faults and counts how often they are named.
#include "verify/explain/explain_plants.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "verify/explain/explain.hpp"
#include "verify/explain/plant_trials.hpp"
#include "verify/explain/planted_kernel.hpp"

namespace ulpscope::verify {
namespace {

struct Trial {
  std::string kind, word;
  std::size_t ending;  ///< index of a column
};
enum Ending : std::size_t { named, grouped, undecided, wrong, none, endings };

Ending ending_of(const ExplainResult& result, const std::string& word) {
  if (result.verdict == ExplainVerdict::undecided) return undecided;
  if (result.verdict != ExplainVerdict::explained) return none;
  const auto is_planted = [&](const Finding& finding) { return finding.hypothesis.is(word); };
  if (word.empty()) return wrong;
  if (is_planted(result.findings.front())) return named;
  if (std::any_of(result.findings.begin(), result.findings.end(), is_planted)) return grouped;
  const bool simpler = word.find(" + ") != std::string::npos && result.findings.front().matched == result.count;
  return simpler ? grouped : wrong;
}

Trial trial(std::uint64_t seed, std::size_t index) {
  Draws draws(seed, index);
  for (;;) {
    const PlantedCase drawn = draw_case(draws);
    const PlantedProblem& p = drawn.problem;
    const tensors::Tensor d = tensors::from_values("D", {p.m, p.n}, drawn.plant.kernel(p));
    const ExplainResult result = explain({p.config(), d});
    if (result.wrong == 0) continue;  // no trace
    return {drawn.plant.kind, drawn.plant.word, ending_of(result, drawn.plant.word)};
  }
}

}  // namespace

reports::Table explain_plants_table(std::size_t trials, std::uint64_t seed,
                                    const std::function<void(std::uint64_t done, std::uint64_t total)>& progress) {
  const std::vector<Trial> all = all_trials(trials, progress, [&](std::size_t i) { return trial(seed, i); });
  std::map<std::string, std::vector<std::int64_t>> rows;
  for (const Trial& one : all) {
    auto& counts = rows.try_emplace(one.kind, endings + 1).first->second;
    ++counts[0];
    ++counts[1 + one.ending];
  }
  reports::Table table{"explain_plants", {"cause", "trials", "named", "grouped", "undecided", "wrong", "none"}, {}};
  for (const auto& [kind, counts] : rows) {
    std::vector<reports::Cell>& row = table.rows.emplace_back(1, kind);
    row.insert(row.end(), counts.begin(), counts.end());
  }
  return table;
}

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// Probabilities in e4m3, block by block: exp(s - m) is at most 1, and what lies further below m than the scale reaches becomes
// 0.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "studies/attention/attention.hpp"

namespace ulpscope::studies {
namespace {

/// The keys of one query, in the order in which they come.
std::vector<std::size_t> ordered(std::span<const double> p, KeyOrder order) {
  std::vector<std::size_t> keys(p.size());
  std::iota(keys.begin(), keys.end(), std::size_t{0});
  if (order == KeyOrder::drawn) return keys;
  std::stable_sort(keys.begin(), keys.end(),
                   [&](std::size_t a, std::size_t b) { return order == KeyOrder::descending ? p[a] > p[b] : p[a] < p[b]; });
  return keys;
}

/// floor(log2(most / p)), at most the last.
std::size_t distance(double p, double most) {
  constexpr auto last = static_cast<int>(ProbabilityRow::distances) - 1;
  if (p == 0) return last;
  return static_cast<std::size_t>(std::clamp(std::ilogb(most / p), 0, last));
}

/// Adds one query: `p` its probabilities, `out` its output.
void add_query(const AttentionProblem& problem, std::span<const double> p, std::size_t block, ProbabilityRow& row,
               std::span<double> out) {
  const std::vector<std::size_t> keys = ordered(p, row.order);
  const double most = *std::max_element(p.begin(), p.end());
  double running = 0, sum = 0;  // the largest probability so far stands for exp(m)
  for (std::size_t first = 0; first < keys.size(); first += block) {
    const std::span<const std::size_t> here = std::span(keys).subspan(first, std::min(block, keys.size() - first));
    double next = running;
    for (const std::size_t j : here) next = std::max(next, p[j]);
    const double shrink = next == 0 ? 1 : running / next;
    sum *= shrink;
    for (double& x : out) x *= shrink;
    running = next;
    for (const std::size_t j : here) {
      const double share = running == 0 ? 0 : p[j] / running;
      const double rounded = emu::round_to(emu::e4m3, share * row.scale, {.policy = emu::Policy::saturating}).value / row.scale;
      sum += share;
      const std::size_t at = distance(p[j], most);
      ++row.count[at];
      if (rounded == 0) ++row.to_zero[at], row.lost_weight += p[j];
      for (std::size_t c = 0; c < problem.head; ++c) out[c] += rounded * static_cast<double>(problem.v[j * problem.head + c]);
    }
  }
  for (double& x : out) x /= sum;
}

}  // namespace

ProbabilityRow probability_row(const AttentionProblem& problem, double scale, KeyOrder order, std::size_t block) {
  const std::vector<double> p = probabilities_of(problem), exact = attention_of(problem, p);
  ProbabilityRow row{.scale = scale, .order = order, .count = {}, .to_zero = {}};
  row.count.resize(ProbabilityRow::distances);
  row.to_zero.resize(ProbabilityRow::distances);
  std::vector<double> out(exact.size());
  for (std::size_t i = 0; i < problem.queries; ++i)
    add_query(problem, std::span(p).subspan(i * problem.keys, problem.keys), block, row,
              std::span(out).subspan(i * problem.head, problem.head));
  row.lost_weight /= static_cast<double>(problem.queries);
  row.error = relative_distance(out, exact);
  return row;
}

}  // namespace ulpscope::studies

// SPDX-License-Identifier: Apache-2.0
// Which products a unit sums together, found without any model of how it sums: how many make one step, and which of them may
// change places. The first is the splitting of a chain, the second the symmetry that FPRev (Xie et al., "FPRev: Revealing
// floating-point summation order", USENIX ATC 2025) reads off a summation tree.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "studies/probe/probe_bench.hpp"
#include "studies/probe/probe_cases.hpp"

namespace ulpscope::studies {

/// Where a c without products keeps fewer bits than one far above: what a least exponent of the alignment does.
struct ProbeFloor {
  int exponent;          ///< the least one of a c that keeps as many bits as the greatest
  int plain;             ///< where terms of this exponent are, no least exponent plays a part, by the bits seen to be kept
  int surely_plain;      ///< the same however many bits are kept
  std::string evidence;  ///< one sentence: what was fed in, and the answer
};

/// How an operation cuts its products into steps and groups.
struct ProbeLayout {
  bool all = false;           ///< no step ends within the products asked for
  std::size_t step = 0;       ///< products of a step; those asked for where `all`
  std::string step_evidence;  ///< one sentence: what was fed in, and the answer

  /// Products that may change places share a number; numbers are given in the order of k.
  std::vector<std::size_t> group_of;
  std::size_t groups = 0;      ///< in a step
  bool regular = false;        ///< groups of one size, dealt out in runs
  std::size_t run = 0;         ///< product k of a step is in group (k / run) % groups
  std::string group_evidence;  ///< one sentence: what was fed in, and the answer

  std::optional<ProbeFloor> floor;  ///< of the alignment; none was found

  /// Products of a group; 0 where there are none.
  std::size_t group_size() const noexcept { return groups == 0 ? 0 : step / groups; }
};

/// The floor; nothing where every normal c keeps as many bits as the greatest.
std::optional<ProbeFloor> addend_floor(const ProbeBench& bench);

/// Distances, in binades below the greatest term, at which a small term ceases to count: between products, of c beside
/// products, and of products beside c. No greatest term is below 2^least.
std::vector<int> cut_distances(const ProbeBench& bench, int least);

/// The least n at which the chain can be split: the sum of the first n products is the c of the others. 0: there is none.
std::size_t step_length(const ProbeBench& bench, ProbeCases& cases, std::string& evidence);

/// The groups of the first `step` products.
void find_groups(const ProbeBench& bench, ProbeCases& cases, ProbeLayout& layout);

/// k in words: `0, 1, 4, 5, ...`.
std::string group_words(const ProbeLayout& layout);

}  // namespace ulpscope::studies

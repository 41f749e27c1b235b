// SPDX-License-Identifier: Apache-2.0
// From groups of wrong results to findings: a hypothesis is believed in a region where it explains more wrong results than it
// leaves inputs on which it would be wrong, too, and the subject is not wrong in that way.
#include <algorithm>
#include <numeric>

#include "verify/conform/conform_tally.hpp"

namespace ulpscope::verify {
namespace {

std::size_t index(InputRegion region) { return static_cast<std::size_t>(region); }

bool explains_more(std::uint64_t explained, std::uint64_t differing) {
  return explained > differing - std::min(differing, explained);
}

/// What is to be said of one hypothesis.
struct Support {
  RegionCounts explained{}, differing{};
  RegionCounts overflows{}, explained_overflows{};  ///< mismatches that are overflows at first sight
  std::uint64_t all_explained = 0, all_differing = 0;

  /// What treats the end of the range in its own way is told by most of what is wrong there: any rounding on the way moves a
  /// few inputs across the end, too.
  bool believed(const Group& group) const {
    const std::size_t r = index(group.region);
    if (group.fault == Fault::overflow && explained_overflows[r] < overflows[r] - explained_overflows[r]) return false;
    return explains_more(explained[r], differing[r]);
  }
};

std::vector<Support> support_of(const Tally& tally, std::size_t tried, const std::vector<RegionCounts>& differing) {
  std::vector<Support> out(tried);
  const std::vector<RegionCounts> explained = explained_counts(tally, tried);
  for (std::size_t h = 0; h < tried; ++h) {
    out[h].explained = explained[h];
    out[h].differing = differing[h];
    for (const auto& [group, members] : tally.groups()) {
      if (group.fault != Fault::overflow) continue;
      const std::size_t r = index(group.region);
      out[h].overflows[r] += members.count;
      out[h].explained_overflows[r] += (group.explained >> h & 1) != 0 ? members.count : 0;
    }
    out[h].all_explained = std::accumulate(out[h].explained.begin(), out[h].explained.end(), std::uint64_t{0});
    out[h].all_differing = std::accumulate(out[h].differing.begin(), out[h].differing.end(), std::uint64_t{0});
  }
  return out;
}

/// The best first: what explains most, of those what would be wrong least often.
std::vector<std::size_t> ranking(const std::vector<Support>& support) {
  std::vector<std::size_t> out(support.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  std::stable_sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) {
    if (support[a].all_explained != support[b].all_explained) return support[a].all_explained > support[b].all_explained;
    return support[a].all_differing < support[b].all_differing;
  });
  return out;
}

struct Explained {
  ConformFinding finding;
  std::array<bool, region_count> regions{};
  std::size_t hypothesis = 0;
};

void add_group(std::vector<Explained>& out, const Explained& what, const Group& group, const Members& members) {
  auto found = std::find_if(out.begin(), out.end(), [&](const Explained& known) {
    return known.finding.fault == what.finding.fault && known.finding.explanation == what.finding.explanation;
  });
  if (found == out.end()) found = out.insert(out.end(), what);
  found->finding.count += members.count;
  found->regions[index(group.region)] = true;
  auto& examples = found->finding.examples;
  examples.insert(examples.end(), members.examples.begin(), members.examples.end());
}

/// Inputs of its regions where the explanation would be wrong and the subject is not wrong in that way.
std::uint64_t otherwise(const Explained& what, const Support& support) {
  std::uint64_t sum = 0;
  for (std::size_t r = 0; r < region_count; ++r)
    if (what.regions[r]) sum += support.differing[r] - std::min(support.differing[r], support.explained[r]);
  return sum;
}

}  // namespace

bool may_be_explained(InputRegion region, Fault fault) {
  return region != InputRegion::not_a_number && fault != Fault::nan && fault != Fault::nan_sign &&
         fault != Fault::negative_zero;
}

std::vector<RegionCounts> explained_counts(const Tally& tally, std::size_t tried) {
  std::vector<RegionCounts> out(tried);
  for (const auto& [group, members] : tally.groups())
    for (std::size_t h = 0; h < tried; ++h) out[h][index(group.region)] += (group.explained >> h & 1) != 0 ? members.count : 0;
  return out;
}

Mask believable(const std::vector<RegionCounts>& explained, const std::vector<RegionCounts>& differing) {
  Mask out = 0;
  for (std::size_t h = 0; h < explained.size(); ++h)
    for (std::size_t r = 0; r < region_count; ++r)
      if (explains_more(explained[h][r], differing[h][r])) out |= Mask{1} << h;
  return out;
}

std::vector<ConformFinding> findings(const Tally& tally, const std::vector<ConformHypothesis>& tried,
                                     const std::vector<RegionCounts>& differing, std::size_t examples) {
  const std::vector<Support> support = support_of(tally, tried.size(), differing);
  const std::vector<std::size_t> ranked = ranking(support);
  std::vector<Explained> all;
  for (const auto& [group, members] : tally.groups()) {
    const auto best = std::find_if(ranked.begin(), ranked.end(), [&](std::size_t h) {
      return (group.explained >> h & 1) != 0 && support[h].believed(group);
    });
    Explained what;
    what.finding.fault = best == ranked.end() ? group.fault : tried[*best].fault;
    what.finding.explanation = best == ranked.end() ? "" : tried[*best].name;
    what.hypothesis = best == ranked.end() ? 0 : *best;
    add_group(all, what, group, members);
  }
  std::vector<ConformFinding> out;
  for (Explained& what : all) {
    if (!what.finding.explanation.empty()) what.finding.otherwise = otherwise(what, support[what.hypothesis]);
    auto& shown = what.finding.examples;
    std::sort(shown.begin(), shown.end(), [](const Mismatch& a, const Mismatch& b) { return a.index < b.index; });
    shown.resize(std::min(shown.size(), examples));
    out.push_back(std::move(what.finding));
  }
  std::stable_sort(out.begin(), out.end(), [](const ConformFinding& a, const ConformFinding& b) { return a.count > b.count; });
  return out;
}

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// Lists the cuts that libraries use: consecutive parts of several lengths, and parts that take turns.
#include "studies/devices/product_cuts.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace ulpscope::studies {
namespace {

/// How many units each part gets.
struct Rule {
  const char* words;
  std::vector<std::size_t> (*units)(std::size_t units, std::size_t parts);
};

std::vector<std::size_t> last_shorter(std::size_t units, std::size_t parts) {
  const std::size_t each = (units + parts - 1) / parts;
  std::vector<std::size_t> shares;
  for (std::size_t left = units; left > 0; left -= shares.back()) shares.push_back(std::min(each, left));
  return shares;
}

std::vector<std::size_t> longer_first(std::size_t units, std::size_t parts) {
  std::vector<std::size_t> shares(parts, units / parts);
  for (std::size_t i = 0; i < units % parts; ++i) ++shares[i];
  return shares;
}

std::vector<std::size_t> longer_last(std::size_t units, std::size_t parts) {
  std::vector<std::size_t> shares = longer_first(units, parts);
  std::reverse(shares.begin(), shares.end());
  return shares;
}

std::vector<std::size_t> rest_last(std::size_t units, std::size_t parts) {
  std::vector<std::size_t> shares(parts, units / parts);
  shares.back() += units % parts;
  return shares;
}

constexpr Rule rules[] = {{"the last one shorter", last_shorter},
                          {"longer ones first", longer_first},
                          {"longer ones last", longer_last},
                          {"the last one longest", rest_last}};

void add_new(std::vector<KCut>& cuts, KCut cut) {
  const bool known = std::any_of(cuts.begin(), cuts.end(), [&](const KCut& c) { return c.parts == cut.parts; });
  if (cut.parts.size() > 1 && !known) cuts.push_back(std::move(cut));
}

KCut consecutive(std::size_t k, std::size_t unit, std::span<const std::size_t> shares) {
  KCut cut;
  std::size_t begin = 0;
  for (const std::size_t share : shares) {
    const std::size_t end = std::min(k, begin + share * unit);
    if (end > begin) cut.parts.push_back({{begin, end}});
    begin = end;
  }
  return cut;
}

KCut taking_turns(std::size_t k, std::size_t parts, std::size_t run) {
  KCut cut{.words = {}, .parts = emu::chains_in_turns(k, parts, run)};
  cut.words = "K in " + std::to_string(parts) + " parts that take turns every " + std::to_string(run) + " products";
  return cut;
}

}  // namespace

KCut whole_k(std::size_t k) { return {"", {{{0, k}}}}; }

std::vector<KCut> k_cuts(std::size_t k, std::span<const int> split_k) {
  std::vector<KCut> cuts;
  for (const int split : split_k) {
    if (split < 2) continue;
    const auto parts = static_cast<std::size_t>(split);
    for (const std::size_t unit : {64u, 128u, 32u, 256u, 16u}) {
      const std::size_t units = (k + unit - 1) / unit;
      for (const Rule& rule : rules) {
        if (units < parts) continue;
        KCut cut = consecutive(k, unit, rule.units(units, parts));
        cut.words = "K in " + std::to_string(cut.parts.size()) + " parts of units of " + std::to_string(unit);
        if (units % parts != 0) cut.words += std::string(", ") + rule.words;
        add_new(cuts, std::move(cut));
      }
    }
  }
  for (const std::size_t parts : {2u, 4u})
    for (const std::size_t run : {64u, 32u, 16u, 8u, 4u, 2u, 1u})
      if (run * parts <= k) add_new(cuts, taking_turns(k, parts, run));
  // Split K of cuBLAS's kernels for float64 deals out tiles of 32 products.
  for (const int split : split_k)
    for (const std::size_t run : {32u, 16u, 8u}) {
      const auto parts = static_cast<std::size_t>(split);
      if (split > 2 && run * parts <= k) add_new(cuts, taking_turns(k, parts, run));
    }
  return cuts;
}

}  // namespace ulpscope::studies

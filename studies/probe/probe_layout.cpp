// SPDX-License-Identifier: Apache-2.0
// Compares inner products asked in one and in two parts, and with products exchanged.
#include "studies/probe/probe_layout.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "emu/decode.hpp"
#include "studies/probe/sentences.hpp"

namespace ulpscope::studies {
namespace {

using emu::Code;

/// Inner products on which two ways of asking must agree before they count as the same.
constexpr int split_cases = 240, swap_cases = 320, at_once = 16;

/// Puts the terms for a distance into an inner product, the small one only if asked to; false where the formats have them not.
using Draw = std::function<bool(ProbeCase&, int distance, bool with_small)>;

/// The greatest distance at which a small term changes the answer; -1: none.
int distance_of(const ProbeBench& bench, const Draw& draw) {
  constexpr int most = 80;
  std::vector<ProbeCase> probes;
  std::vector<int> distances;
  for (int d = 0; d <= most; ++d) {
    ProbeCase with = bench.blank(), without = bench.blank();
    if (!draw(with, d, true) || !draw(without, d, false)) continue;
    probes.push_back(with);
    probes.push_back(without);
    distances.push_back(d);
  }
  const auto answers = bench.answers(probes);
  for (std::size_t i = distances.size(); i-- > 0;)
    if (!bench.same(answers[2 * i], answers[2 * i + 1])) return distances[i];
  return -1;
}

ProbeCase first_part(const ProbeBench& bench, const ProbeCase& probe, std::size_t n) {
  ProbeCase part = bench.blank();
  std::copy_n(probe.a.begin(), n, part.a.begin());
  std::copy_n(probe.b.begin(), n, part.b.begin());
  part.a_scales = probe.a_scales;
  part.b_scales = probe.b_scales;
  part.c = probe.c;
  return part;
}

ProbeCase second_part(const ProbeBench& bench, const ProbeCase& probe, std::size_t n, Code c) {
  ProbeCase part = bench.blank();
  std::copy(probe.a.begin() + static_cast<std::ptrdiff_t>(n), probe.a.end(), part.a.begin());
  std::copy(probe.b.begin() + static_cast<std::ptrdiff_t>(n), probe.b.end(), part.b.begin());
  part.a_scales = probe.a_scales;
  part.b_scales = probe.b_scales;
  part.c = c;
  return part;
}

/// The products from n on where they stand, so that no step of zeros follows them.
ProbeCase second_part_in_place(const ProbeBench& bench, const ProbeCase& probe, std::size_t n, Code c) {
  ProbeCase part = probe;
  const ProbeCase zeros = bench.blank();
  std::copy_n(zeros.a.begin(), n, part.a.begin());
  std::copy_n(zeros.b.begin(), n, part.b.begin());
  part.c = c;
  return part;
}

/// Of products that leave room above.
int top_exponent(const ProbeBench& bench) {
  return std::min(bench.greatest_product() - 1, bench.operation().accumulator.max_exponent() - 2);
}

/// Terms on both sides of the cut and anywhere.
std::vector<std::size_t> places_around(const ProbeBench& bench, ProbeCases& cases, std::size_t n) {
  std::vector<std::size_t> places;
  const auto add = [&](std::size_t k) {
    if (k < bench.products() && std::find(places.begin(), places.end(), k) == places.end()) places.push_back(k);
  };
  add(n - 1 - std::min<std::size_t>(n - 1, cases.below(3)));
  add(n + cases.below(2));
  const std::uint32_t more = cases.below(6);
  for (std::uint32_t i = 0; i < more; ++i) add(cases.below(static_cast<std::uint32_t>(std::min(bench.products(), 2 * n))));
  return places;
}

/// What steps of zeros do to c: they cut it where the alignment keeps fewer bits than the result has.
enum class ZeroSteps : std::uint8_t { keep, cut, raise };

ZeroSteps zero_steps(const ProbeBench& bench) {
  const emu::Format acc = bench.operation().accumulator;
  ZeroSteps found = ZeroSteps::keep;
  for (const bool negative : {false, true}) {
    ProbeCase probe = bench.blank();
    probe.c = number_code(acc, acc.max_exponent() - 2, acc.fraction_mask(), negative);
    const Code answer = bench.answer(probe);
    if (answer > probe.c) return ZeroSteps::raise;
    if (answer < probe.c) found = ZeroSteps::cut;
  }
  return found;
}

/// Whether steps of zeros before a second part play no part where they cut its c downward: a negative one may grow to the next
/// power of two, which raises the alignment unless that of the products is as high.
bool outweighs_addend(const ProbeBench& bench, const ProbeCase& part, std::size_t n) {
  const gpu::Operation& o = bench.operation();
  const auto exponent = [](emu::Format format, Code code) { return std::ilogb(emu::decode(format, code)); };
  if (o.accumulator.is_zero(part.c) || !o.accumulator.is_negative(part.c)) return true;
  const int scale = bench.scaled() ? exponent(o.scale_format, part.a_scales[0]) + exponent(o.scale_format, part.b_scales[0]) : 0;
  for (std::size_t begin = n; begin < bench.products(); begin += n) {
    std::optional<int> greatest;
    for (std::size_t k = begin; k < std::min(begin + n, bench.products()); ++k) {
      if (o.a.is_zero(part.a[k]) || o.b.is_zero(part.b[k])) continue;
      const int product = exponent(o.a, part.a[k]) + exponent(o.b, part.b[k]) + scale;
      greatest = std::max(greatest.value_or(product), product);
    }
    if (greatest) return *greatest >= exponent(o.accumulator, part.c);
  }
  return true;
}

/// Inner products asked at once, and in two parts.
struct SplitAnswers {
  std::vector<ProbeCase> whole, second;
  std::vector<Code> in_one, in_two;
};

SplitAnswers split_answers(const ProbeBench& bench, ProbeCases& cases, std::size_t n, ZeroSteps zeros) {
  SplitAnswers split;
  std::vector<ProbeCase> first;
  for (int i = 0; i < at_once; ++i) {
    split.whole.push_back(cases.at(places_around(bench, cases, n), ProbeRange::plain, ProbeScales::same));
    first.push_back(first_part(bench, split.whole.back(), n));
  }
  const auto sums = bench.answers(first);
  for (std::size_t i = 0; i < first.size(); ++i)
    split.second.push_back((zeros == ZeroSteps::keep ? second_part : second_part_in_place)(bench, split.whole[i], n, sums[i]));
  split.in_one = bench.answers(split.whole);
  split.in_two = bench.answers(split.second);
  return split;
}

/// Whether the chain can be split behind n products. Zeros that cut toward zero before an alignment with more terms change
/// nothing; of those that raise c the inner products count that they play no part in, and more of them are asked.
bool splits_at(const ProbeBench& bench, ProbeCases& cases, std::size_t n, ZeroSteps zeros, std::string& difference) {
  const int wanted = zeros == ZeroSteps::raise ? 4 * split_cases : split_cases;
  for (int asked = 0, counted = 0; counted < wanted; asked += at_once) {
    if (asked > 8 * wanted) return false;
    const SplitAnswers split = split_answers(bench, cases, n, zeros);
    for (std::size_t i = 0; i < split.whole.size(); ++i) {
      if (zeros == ZeroSteps::raise && !outweighs_addend(bench, split.second[i], n)) continue;
      ++counted;
      if (bench.same(split.in_one[i], split.in_two[i])) continue;
      difference = filled("{} gives {} at once, {} when the sum of the first {} is the c of the others",
                          bench.words(split.whole[i]), bench.words(split.in_one[i]), bench.words(split.in_two[i]), n);
      return false;
    }
  }
  return true;
}

/// Whether products i and j may change places.
bool exchangeable(const ProbeBench& bench, ProbeCases& cases, std::size_t i, std::size_t j, std::size_t step,
                  std::string& difference) {
  for (int done = 0; done < swap_cases; done += at_once) {
    std::vector<ProbeCase> probes, swapped;
    for (int n = 0; n < at_once; ++n) {
      std::vector<std::size_t> places{i, j};
      for (std::uint32_t more = cases.below(5); more > 0; --more) {
        const std::size_t near = cases.below(2) == 0 ? i : j;
        const std::size_t k = cases.below(3) == 0 ? cases.below(static_cast<std::uint32_t>(step))
                                                  : std::min(step - 1, near - std::min<std::size_t>(near, 3) + cases.below(8));
        if (std::find(places.begin(), places.end(), k) == places.end()) places.push_back(k);
      }
      probes.push_back(cases.at(places, ProbeRange::plain, ProbeScales::same));
      if (cases.below(3) == 0) {  // one product that moves over
        const std::size_t empty = cases.below(2) == 0 ? i : j;
        probes.back().a[empty] = probes.back().b[empty] = 0;
      }
      swapped.push_back(probes.back());
      std::swap(swapped.back().a[i], swapped.back().a[j]);
      std::swap(swapped.back().b[i], swapped.back().b[j]);
    }
    const auto before = bench.answers(probes), after = bench.answers(swapped);
    for (std::size_t n = 0; n < probes.size(); ++n) {
      if (bench.same(before[n], after[n])) continue;
      difference = filled("{} gives {}, and {} when p[{}] and p[{}] change places", bench.words(probes[n]),
                          bench.words(before[n]), bench.words(after[n]), i, j);
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<ProbeFloor> addend_floor(const ProbeBench& bench) {
  const emu::Format acc = bench.operation().accumulator;
  const Code alternating = 0x5555555555555555 & acc.fraction_mask();  // which no rounding carries out of
  std::vector<ProbeCase> probes;
  for (int exponent = acc.min_exponent(); exponent <= acc.max_exponent(); ++exponent) {
    probes.push_back(bench.blank());
    probes.back().c = number_code(acc, exponent, alternating, false);
  }
  const auto answers = bench.answers(probes);
  std::size_t least = answers.size() - 1;
  while (least > 0 && answers[least] - answers[least - 1] == acc.min_normal_code()) --least;
  if (least == 0 || least + 1 == answers.size()) return std::nullopt;

  const Code seen = answers.back() & acc.fraction_mask();
  const int bits_seen = seen == 0 ? 0 : acc.fraction_bits - std::countr_zero(seen);
  const int top = top_exponent(bench);
  const int bits_kept = distance_of(bench, [&](ProbeCase& probe, int d, bool small) {
    return bench.put(probe, 0, top) && bench.put(probe, 1, top, true) && (!small || bench.put_addend(probe, top - d));
  });
  const int exponent = acc.min_exponent() + static_cast<int>(least);
  const ProbeCase &whole = probes[least], &cut = probes[least - 1];
  return ProbeFloor{exponent, exponent + std::max(0, bits_kept - bits_seen) + 1, exponent + most_kept_bits - bits_seen + 1,
                    filled("{} gives {}, but {} gives {}", bench.words(whole), bench.words(answers[least]), bench.words(cut),
                           bench.words(answers[least - 1]))};
}

std::vector<int> cut_distances(const ProbeBench& bench, int least) {
  const emu::Format acc = bench.operation().accumulator;
  const int top = top_exponent(bench);
  const int low = std::max({bench.least_product(), acc.min_exponent(), least});
  const auto opposed = [&](ProbeCase& probe) { return bench.put(probe, 0, top) && bench.put(probe, 1, top, true); };
  std::vector<int> distances{acc.fraction_bits + 1};
  const auto note = [&](const Draw& draw) {
    const int distance = distance_of(bench, draw);
    if (distance > 0 && std::find(distances.begin(), distances.end(), distance) == distances.end())
      distances.push_back(distance);
  };
  note([&](ProbeCase& probe, int d, bool small) { return opposed(probe) && (!small || bench.put(probe, 2, top - d)); });
  note([&](ProbeCase& probe, int d, bool small) { return opposed(probe) && (!small || bench.put_addend(probe, top - d)); });
  for (const int tie : {0, 1, -1})  // products below c: next to a power of two, and on both sides of a tie
    note([&](ProbeCase& probe, int d, bool small) {
      const bool in_place = tie == 0 || bench.put(probe, 0, low + d - acc.fraction_bits - 1, tie < 0);
      return bench.put_addend(probe, low + d) && in_place && (!small || bench.put(probe, 1, low, tie <= 0));
    });
  return distances;
}

std::size_t step_length(const ProbeBench& bench, ProbeCases& cases, std::string& evidence) {
  std::string difference;
  const ZeroSteps zeros = zero_steps(bench);
  for (std::size_t n = 1; n < bench.products(); ++n) {
    std::string other;
    if (splits_at(bench, cases, n, zeros, other)) {
      evidence = filled("on {} inner products the sum of the first {} is the c of the others", split_cases, n);
      if (!difference.empty()) evidence += "; at less it is not: " + difference;
      return n;
    }
    difference = std::move(other);
  }
  evidence = filled("no n below {} splits the sum: {}", bench.products(), difference);
  return 0;
}

void find_groups(const ProbeBench& bench, ProbeCases& cases, ProbeLayout& layout) {
  std::vector<std::size_t> first_of;
  std::string difference;
  for (std::size_t k = 0; k < layout.step; ++k) {
    std::size_t group = 0;
    // The group of the product before, and what follows it in turn, are the likely ones.
    while (group < first_of.size() && !exchangeable(bench, cases, first_of[group], k, layout.step, difference)) ++group;
    if (group == first_of.size()) first_of.push_back(k);
    layout.group_of.push_back(group);
  }
  layout.groups = first_of.size();
  if (layout.step % layout.groups == 0) {
    for (std::size_t run = 1; run <= layout.group_size() && !layout.regular; ++run) {
      layout.run = run;
      layout.regular = true;
      for (std::size_t k = 0; k < layout.step; ++k) layout.regular &= layout.group_of[k] == k / run % layout.groups;
    }
  }
  layout.group_evidence = layout.groups == 1 ? filled(
                                                   "on {} inner products for each pair no two products of a step that "
                                                   "change places change the answer",
                                                   swap_cases)
                                             : difference;
}

std::string group_words(const ProbeLayout& layout) {
  if (layout.groups == 1) return layout.step == 1 ? "one product" : "any order";
  if (!layout.regular || layout.groups == layout.step) return "every place counts";
  std::string words;
  std::size_t told = 0;
  for (std::size_t k = 0; k < layout.step && told < 8; ++k) {
    if (layout.group_of[k] != 0) continue;
    words += (words.empty() ? "" : " ") + std::to_string(k);
    ++told;
  }
  return filled("{} groups of {}: {}{}", layout.groups, layout.group_size(), words, layout.group_size() > 8 ? " ..." : "");
}

}  // namespace ulpscope::studies

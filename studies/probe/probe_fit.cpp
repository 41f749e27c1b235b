// SPDX-License-Identifier: Apache-2.0
// Collects answers, and narrows an engine's numbers down to those that give them all.
#include "studies/probe/probe_fit.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "emu/decode.hpp"

namespace ulpscope::studies {

using emu::Code;
using emu::Engine;

ProbeAnswers::ProbeAnswers(const ProbeBench& bench, ProbeCases& cases, const ProbeLayout& layout) : bench_(bench) {
  add_pairs(layout);
  const int last = bench.operation().accumulator.min_spacing_exponent();
  add_tiny_pairs(last);
  if (layout.floor) add_tiny_pairs(layout.floor->exponent - bench.operation().accumulator.fraction_bits);
  add_lone_addends(layout.floor ? layout.floor->exponent - most_kept_bits : last,
                   layout.floor ? layout.floor->exponent + 1 : last + most_kept_bits);
  add_carries(layout);
  add_random(cases, layout);
  for (auto& answers : answers_)
    std::stable_sort(answers.begin(), answers.end(),
                     [&](const ProbeAnswer& x, const ProbeAnswer& y) { return bench_.terms(x.probe) < bench_.terms(y.probe); });
}

const ProbeAnswer& ProbeAnswers::add(ProbeSubset subset, const ProbeCase& probe) {
  auto& answers = answers_[static_cast<std::size_t>(subset)];
  answers.push_back({probe, bench_.answer(probe)});
  return answers.back();
}

/// c and one product at every distance, of both signs: the probes for guard bits, cut and rounding.
void ProbeAnswers::add_pairs(const ProbeLayout& layout) {
  const emu::Format format = bench_.operation().accumulator;
  std::vector<std::size_t> places;  // of the first group; of a step too short for three, whatever comes next
  for (std::size_t k = 0; k < layout.group_of.size(); ++k)
    if (layout.group_of[k] == 0) places.push_back(k);
  for (std::size_t k = 1; places.size() < 3; ++k) places.push_back(k);
  // Far enough from both ends of a wide format's range.
  const int usual = format.exponent_bits > 5 ? format.min_exponent() + 28 : format.min_exponent();
  const int low = std::max({bench_.least_product(), usual, layout.floor ? layout.floor->plain : usual});
  const int high = std::min(bench_.greatest_product(), format.max_exponent());
  const int middle = std::clamp(0, low, high);
  for (int d = 0; d <= 70; ++d) {
    for (const bool negative_c : {false, true}) {
      for (const bool opposed : {false, true}) {
        for (const int product : {middle, low}) {
          ProbeCase probe = bench_.blank();
          if (bench_.put_addend(probe, product + d, negative_c) && bench_.put(probe, 0, product, negative_c != opposed))
            add(ProbeSubset::addend, probe);
        }
        ProbeCase cancelled = bench_.blank();
        if (bench_.put(cancelled, places[0], high) && bench_.put(cancelled, places[1], high, true)) {
          ProbeCase product = cancelled;
          if (bench_.put(product, places[2], high - d, negative_c)) add(ProbeSubset::addend, product);
          if (bench_.put_addend(cancelled, high - d, negative_c)) add(ProbeSubset::addend, cancelled);
        }
      }
    }
  }
}

/// c or a product next to zero, and products below the last place: what the least exponent of the alignment leaves of them. A
/// subnormal c counts with the least normal exponent, a product with its own.
void ProbeAnswers::add_tiny_pairs(int last) {
  const auto put = [&](ProbeCase& probe, bool product, int exponent, bool negative) {
    return product ? bench_.put(probe, 2, exponent, negative) : bench_.put_addend(probe, exponent, negative);
  };
  for (int d = 0; d <= 40; ++d) {
    for (const int exponent : {last, last + 1, last + 3}) {
      for (const bool product : {false, true}) {
        for (const bool negative : {false, true}) {
          for (const bool opposed : {false, true}) {
            ProbeCase probe = bench_.blank();
            if (!put(probe, product, exponent, negative) || !bench_.put(probe, 0, last - d, negative != opposed)) continue;
            add(ProbeSubset::tiny, probe);
            for (const bool tie : {false, true})  // of a rounding to nearest, with a product on either side
              if (bench_.put(probe, 1, last - 1, negative != tie)) add(ProbeSubset::tiny, probe);
          }
        }
      }
    }
  }
}

/// c beside products of zero: a least exponent cuts it where it takes part alone.
void ProbeAnswers::add_lone_addends(int least, int most) {
  const emu::Format format = bench_.operation().accumulator;
  for (int exponent = std::max(least, format.min_spacing_exponent()); exponent <= std::min(most, format.max_exponent());
       ++exponent) {
    for (const Code fraction : {Code{0}, format.fraction_mask()}) {
      for (const bool negative : {false, true}) {
        ProbeCase probe = bench_.blank();
        probe.c = number_code(format, exponent, fraction, negative);
        add(ProbeSubset::tiny, probe);
      }
    }
  }
}

/// Whole steps of great products, which carry so far that the result cannot hold the last bits that are kept: there it is
/// rounded even if the alignment keeps fewer bits than it has. And the greatest c, of both signs, that a cut may carry over,
/// and a product beyond it.
void ProbeAnswers::add_carries(const ProbeLayout& layout) {
  const emu::Format acc = bench_.operation().accumulator, a = bench_.operation().a, b = bench_.operation().b;
  for (Code less = 0; less < 4; ++less) {
    for (const Code sign : {Code{0}, acc.sign_mask()}) {
      ProbeCase probe = bench_.blank();
      probe.c = (acc.max_finite_code() - less) | sign;
      add(ProbeSubset::huge, probe);
    }
  }
  for (const bool negative : {false, true}) {
    ProbeCase probe = bench_.blank();
    const bool beyond = bench_.greatest_product() > acc.max_exponent();
    // The last one, as steps of zeros may cut what comes out.
    if (beyond && bench_.put(probe, bench_.products() - 1, bench_.greatest_product(), negative)) add(ProbeSubset::huge, probe);
  }
  const int carries = static_cast<int>(std::bit_width(layout.step)) + 3;
  const int top = std::min(bench_.greatest_product(), acc.max_exponent() - carries) - 1;
  for (int d = acc.fraction_bits - carries; d <= acc.fraction_bits; ++d) {
    for (const int kind : {0, 1, 2, 3, 4, 5, 6, 7}) {
      const bool negative = (kind & 1) != 0, opposed = (kind & 2) != 0, by_addend = (kind & 4) != 0;
      ProbeCase probe = bench_.blank();
      bool possible = true;
      for (std::size_t k = 0; k < layout.step; ++k) {
        possible &= bench_.put(probe, k, top, negative);
        probe.a[k] |= (a.fraction_mask() + 1) / 2;
        probe.b[k] |= (b.fraction_mask() + 1) / 2;
      }
      const bool sign = negative != opposed;
      possible &= by_addend || layout.step < 2 ? bench_.put_addend(probe, top - d, sign)
                                               : bench_.put(probe, layout.step - 1, top - d, sign);
      if (possible) add(ProbeSubset::any, probe);
    }
  }
}

void ProbeAnswers::add_random(ProbeCases& cases, const ProbeLayout& layout) {
  constexpr int each = 400;
  const auto scales = ProbeScales::any;
  std::vector<std::size_t> group;
  for (std::size_t k = 0; k < layout.group_of.size(); ++k)
    if (layout.group_of[k] == 0) group.push_back(k);
  const auto without_addend = [](ProbeCase probe) {
    probe.c = 0;
    return probe;
  };
  const auto some_of_group = [&] {
    std::vector<std::size_t> places;
    for (const std::size_t k : group)
      if (cases.below(2) == 0 || group.size() < 3) places.push_back(k);
    if (places.empty()) places.push_back(group.front());
    return places;
  };
  const emu::Format format = bench_.operation().accumulator, a = bench_.operation().a, b = bench_.operation().b;
  const auto addend_is_low = [&](const ProbeCase& probe) {
    double greatest = 0;
    for (std::size_t k = 0; k < probe.a.size(); ++k)
      greatest = std::max(greatest, std::abs(emu::decode(a, probe.a[k]) * emu::decode(b, probe.b[k])));
    return 4 * std::abs(emu::decode(format, probe.c)) <= greatest;
  };
  for (int i = 0; i < each; ++i) {
    add(ProbeSubset::one_group, without_addend(cases.at(some_of_group(), ProbeRange::plain, scales)));
    add(ProbeSubset::one_step, without_addend(cases.among(layout.step, ProbeRange::plain, scales)));
    for (int more = 0; more < 2; ++more) {
      const ProbeCase probe = cases.among(layout.step, ProbeRange::plain, scales);
      add(addend_is_low(probe) ? ProbeSubset::low_addend : ProbeSubset::addend, probe);
    }
    add(ProbeSubset::chain, cases.among(bench_.products(), ProbeRange::plain, scales));
    add(ProbeSubset::huge, cases.among(layout.step, ProbeRange::huge, scales));
    add(ProbeSubset::tiny, cases.among(layout.step, ProbeRange::tiny, scales));
    add(ProbeSubset::tiny, cases.among(bench_.products(), ProbeRange::tiny, scales));
    add(ProbeSubset::any, cases.among(layout.step, ProbeRange::any, scales));
  }
}

bool ProbeAnswers::agrees(const Engine& engine, ProbeSubset subset, std::size_t first, std::size_t last) {
  const auto& answers = of(subset);
  auto& order = order_[static_cast<std::size_t>(subset)];
  while (order.size() < answers.size()) order.push_back(order.size());
  const auto place = [&](std::size_t i) { return order.begin() + static_cast<std::ptrdiff_t>(std::min(i, order.size())); };
  const auto refuting = std::find_if(place(first), place(last), [&](std::size_t i) {
    return !bench_.same(bench_.emulated(engine, answers[i].probe), answers[i].answer);
  });
  if (refuting == place(last)) return true;
  std::rotate(order.begin(), refuting, refuting + 1);
  return false;
}

bool ProbeAnswers::agrees(const Engine& engine, std::span<const ProbeSubset> subsets) {
  constexpr std::size_t front = 6, all = static_cast<std::size_t>(-1);
  const auto agree = [&](std::size_t first, std::size_t last) {
    return std::all_of(subsets.begin(), subsets.end(), [&](ProbeSubset s) { return agrees(engine, s, first, last); });
  };
  return agree(0, front) && agree(front, all);
}

const ProbeAnswer* ProbeAnswers::refutation(const Engine& engine) const {
  const ProbeAnswer* best = nullptr;
  std::size_t least = 0;
  for (const auto& answers : answers_) {
    for (const ProbeAnswer& answer : answers) {
      const std::size_t terms = bench_.terms(answer.probe);
      if (best != nullptr && terms >= least) continue;
      if (bench_.same(bench_.emulated(engine, answer.probe), answer.answer)) continue;
      best = &answer;
      least = terms;
    }
  }
  return best;
}

int ProbeAnswers::fraction_bits_seen() const {
  const emu::Format format = bench_.operation().accumulator;
  int seen = 0;
  for (const auto& answers : answers_)
    for (const ProbeAnswer& answer : answers)
      if (!format.is_nan(answer.answer) && !format.is_infinite(answer.answer) && !format.is_subnormal(answer.answer) &&
          (answer.answer & format.fraction_mask()) != 0 &&
          (answer.answer & format.magnitude_mask()) != format.max_finite_code())
        seen = std::max(seen, format.fraction_bits - std::countr_zero(answer.answer));
  return seen;
}

std::size_t ProbeAnswers::size() const {
  std::size_t size = 0;
  for (const auto& answers : answers_) size += answers.size();
  return size;
}

namespace {

/// The first way to make the choices from `next` on.
std::optional<Engine> chosen(ProbeAnswers& answers, const ProbeKind& kind, std::size_t next, const Engine& engine) {
  if (next == kind.choices.size()) return engine;
  const ProbeChoice& choice = kind.choices[next];
  std::vector<Engine> options;
  choice.options(engine, options);
  for (const Engine& option : options) {
    if (!answers.agrees(option, choice.deciders)) continue;
    if (const auto complete = chosen(answers, kind, next + 1, option)) return complete;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Engine> fitting_engine(ProbeAnswers& answers, const std::vector<ProbeKind>& kinds) {
  for (const ProbeKind& kind : kinds)
    if (const auto engine = chosen(answers, kind, 0, kind.start)) return engine;
  return std::nullopt;
}

}  // namespace ulpscope::studies

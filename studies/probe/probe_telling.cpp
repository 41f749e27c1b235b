// SPDX-License-Identifier: Apache-2.0
// Goes through the exponents, the great terms, and the small ones at the cut.
#include "studies/probe/probe_telling.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "emu/encode.hpp"

namespace ulpscope::studies {
namespace {

using emu::Code;
using emu::Engine;
using emu::Format;

/// The terms that set the exponent of the alignment.
enum class Great : std::uint8_t {
  addend,             ///< c
  product,            ///< one product
  opposed,            ///< two products that cancel
  addend_and_product  ///< and c that cancels a product
};
constexpr std::array greats{Great::addend, Great::product, Great::opposed, Great::addend_and_product};

/// The term that is cut: its last bit is where the cut is.
enum class Small : std::uint8_t {
  power,          ///< a product that is a power of two
  odd_factor,     ///< one whose first factor has its last bit
  odd_factors,    ///< or both
  addend,         ///< c, a power of two
  odd_addend,     ///< with its last bit
  tied_factor,    ///< a product of one more bit, half a last place of the result below
  tied_addend,    ///< or c
  nearly_tied,    ///< a product (1 + u)(1 - u) beside half a last place of the result
  crowd_addend,   ///< c, a power of two, beside as many great products as there are places
  crowd_product,  ///< the last product, beside as many
};
constexpr std::array smalls{Small::power,        Small::odd_factor,   Small::odd_factors, Small::addend,
                            Small::odd_addend,   Small::tied_factor,  Small::tied_addend, Small::nearly_tied,
                            Small::crowd_addend, Small::crowd_product};

bool is_addend(Small small) {
  return small == Small::addend || small == Small::odd_addend || small == Small::tied_addend || small == Small::crowd_addend;
}
bool is_tied(Small small) { return small == Small::tied_factor || small == Small::tied_addend || small == Small::nearly_tied; }
bool is_crowd(Small small) { return small == Small::crowd_addend || small == Small::crowd_product; }

class Telling {
 public:
  /// Short inner products without steps of zeros, which are quick, show whether there is anything to tell.
  Telling(const ProbeBench& bench, const ProbeLayout& layout, const Engine& x, const Engine& y)
      : bench_(bench),
        short_(bench.of_length(short_length(bench, layout))),
        acc_(bench.operation().accumulator),
        x_(x),
        y_(y),
        step_(layout.step) {
    for (std::size_t k = 0; k < layout.group_of.size(); ++k)
      if (layout.group_of[k] == 0) places_.push_back(k);
    group_ = places_.size();
    for (std::size_t k = 1; places_.size() < 4; ++k)
      if (std::find(places_.begin(), places_.end(), k) == places_.end()) places_.push_back(k);
    result_bits_ = x.result_fraction_bits < 0 ? acc_.fraction_bits : x.result_fraction_bits;
  }

  std::vector<ProbeCase> find() const {
    std::vector<ProbeCase> found;
    for (const int top : tops()) {
      std::set<int> lasts;
      // Subnormal terms are aligned by the least exponent of normal ones.
      for (const int aligned_by : {top, std::max(top, bench_.least_product()), std::max(top, acc_.min_exponent())})
        for (const int cut : different_cuts(aligned_by)) lasts.insert({cut - 1, cut});
      for (const int last : lasts) {
        auto probe = at(top, last);
        if (!probe) continue;
        found.push_back(std::move(*probe));
        break;
      }
    }
    return found;
  }

 private:
  static std::size_t short_length(const ProbeBench& bench, const ProbeLayout& layout) {
    const std::size_t steps = (3 + layout.step) / layout.step;
    return std::min(steps * layout.step, bench.products());
  }

  /// Whether the same last bits come from other cuts.
  bool other_cut() const {
    return !std::equal(x_.stages.begin(), x_.stages.end(), y_.stages.begin(),
                       [](const emu::Stage& of_x, const emu::Stage& of_y) { return of_x.cut == of_y.cut; });
  }

  /// The last bits that the alignments of one engine alone keep, or of both where they cut in other ways.
  std::vector<int> different_cuts(int top) const {
    const std::vector<int> cut_x = cuts(x_, top), cut_y = cuts(y_, top);
    std::vector<int> different;
    if (other_cut()) different = cut_x;
    std::set_symmetric_difference(cut_x.begin(), cut_x.end(), cut_y.begin(), cut_y.end(), std::back_inserter(different));
    return different;
  }

  /// The last bits that alignments of a greatest exponent keep, in order.
  static std::vector<int> cuts(const Engine& engine, int top) {
    std::set<int> kept;
    for (int i = 0; i < engine.stage_count; ++i) {
      const emu::Stage& stage = engine.stages[static_cast<std::size_t>(i)];
      if (stage.summing != emu::Summing::aligned) continue;
      const bool with_addend = stage.addend != emu::Addend::none || stage.carried;
      const int greatest = with_addend ? std::max(top, engine.least_exponent) : top;
      kept.insert(greatest - stage.fraction_bits);
      if (stage.addend_fraction_bits >= 0) kept.insert(greatest - stage.addend_fraction_bits);
    }
    return {kept.begin(), kept.end()};
  }

  /// Exponents of great terms: where ranges end, where a least exponent begins to count, and where the last bit that is kept is
  /// the last one that an operand, c or a result can have.
  std::vector<int> tops() const {
    const gpu::Operation& o = bench_.operation();
    const int last_product = o.a.min_spacing_exponent() + o.b.min_spacing_exponent(), last_addend = acc_.min_spacing_exponent();
    const int greatest = std::max(bench_.greatest_product(), acc_.max_exponent());
    std::vector<int> tops{acc_.max_exponent() - 2, bench_.greatest_product() - 1, bench_.least_product()};
    const auto around = [&](int exponent, int below, int above) {
      for (int top = exponent - below; top <= exponent + above; ++top) tops.push_back(top);
    };
    around(std::clamp(0, bench_.least_product(), bench_.greatest_product()), 0, 1);
    around(last_product, 0, 1);
    around(last_addend, 3, 1);
    around(acc_.min_exponent() - result_bits_, 3, 1);
    around(acc_.min_exponent(), 2, 2);
    if (x_.least_exponent != Engine::no_least_exponent && y_.least_exponent != Engine::no_least_exponent) {
      constexpr int most = 16;
      const auto [low, high] = std::minmax(x_.least_exponent, y_.least_exponent);
      for (int top = low; top < high; top += std::max(1, (high - low) / most)) tops.push_back(top);
    }
    for (const Engine* engine : {&x_, &y_}) {
      if (engine->least_exponent != Engine::no_least_exponent) around(engine->least_exponent, 2, 2);
      for (int i = 0; i < engine->stage_count; ++i) {
        const int bits = engine->stages[static_cast<std::size_t>(i)].fraction_bits;
        around(last_product + bits, 0, 2);
        around(last_addend + bits, 2, 2);
        around(acc_.min_exponent() - result_bits_ + bits, 2, 2);
      }
    }
    std::erase_if(tops, [&](int top) { return top < last_product || top > greatest; });
    std::vector<int> once;
    for (const int top : tops)
      if (std::find(once.begin(), once.end(), top) == once.end()) once.push_back(top);
    return once;
  }

  std::optional<ProbeCase> at(int top, int last) const {
    for (const Great great : greats) {
      for (const Small small : smalls) {
        for (const int tie : {0, 1, 2}) {  // a product half a last place of the result below, or of one a binade lower
          for (const int signs : {0, 1, 2, 3, 4, 5, 6, 7}) {
            if (signs > 3 && (tie == 0 || is_tied(small))) break;
            ProbeCase probe = short_.blank();
            if (!put_great(probe, great, top, small, (signs & 1) != 0)) break;
            if (tie > 0 && !is_tied(small) && !put_tie(probe, great, top, tie, small, (signs & 4) != 0)) break;
            if (!(is_tied(small) ? put_tied(probe, great, top, tie, small, last, (signs & 2) != 0)
                                 : put_small(probe, small, last, (signs & 2) != 0)))
              break;
            if (const auto whole = telling(probe)) return whole;
          }
        }
      }
    }
    return std::nullopt;
  }

  bool put_great(ProbeCase& probe, Great great, int top, Small small, bool negative) const {
    if (is_crowd(small)) {
      if (great != Great::product || group_ < 4) return false;
      for (std::size_t i = 0; i + 1 < group_; ++i)
        if (!short_.put(probe, places_[i], top, negative)) return false;
      return true;
    }
    if ((great == Great::addend || great == Great::addend_and_product) &&
        (is_addend(small) || !short_.put_addend(probe, top, negative)))
      return false;
    if (great == Great::addend) return true;
    const bool product_negative = great == Great::addend_and_product ? !negative : negative;
    if (!short_.put(probe, places_[0], top, product_negative)) return false;
    return great != Great::opposed || short_.put(probe, places_[1], top, !negative);
  }

  int tie_exponent(int top, int below) const { return std::max(top, acc_.min_exponent()) - result_bits_ - below; }

  bool put_tie(ProbeCase& probe, Great great, int top, int below, Small small, bool negative) const {
    if (is_crowd(small) || (great != Great::addend && great != Great::product)) return false;
    return short_.put(probe, free_place(probe), tie_exponent(top, below), negative);
  }

  /// A term with two bits, the upper one where a tie is.
  bool put_tied(ProbeCase& probe, Great great, int top, int below, Small small, int last, bool negative) const {
    if (below == 0 || (great != Great::addend && great != Great::product)) return false;
    const int exponent = tie_exponent(top, below);
    if (small == Small::nearly_tied) return put_nearly_tied(probe, exponent, (exponent - last) / 2, negative);
    const Format format = small == Small::tied_addend ? acc_ : bench_.operation().a;
    const int place = format.fraction_bits - (exponent - last);
    const bool normal = exponent >= (small == Small::tied_addend ? acc_.min_exponent() : bench_.least_product());
    if (place < 0 || place >= format.fraction_bits || !normal) return false;
    if (small == Small::tied_addend) {
      if (!short_.put_addend(probe, exponent, negative)) return false;
      probe.c |= Code{1} << place;
      return true;
    }
    const std::size_t k = free_place(probe);
    if (!short_.put(probe, k, exponent, negative)) return false;
    probe.a[k] |= Code{1} << place;
    return true;
  }

  /// 2^exponent * (1 - u^2), u = 2^-bits.
  bool put_nearly_tied(ProbeCase& probe, int exponent, int bits, bool negative) const {
    const Format a = bench_.operation().a, b = bench_.operation().b;
    const std::size_t k = free_place(probe);
    if (bits < 1 || bits > std::min(a.fraction_bits, b.fraction_bits) || exponent <= bench_.least_product()) return false;
    if (!short_.put(probe, k, exponent, negative) || probe.b[k] < 2 * b.min_normal_code()) return false;
    probe.a[k] |= Code{1} << (a.fraction_bits - bits);
    probe.b[k] -= Code{1} << (b.fraction_bits + 1 - bits);  // below a power of two places count half
    return true;
  }

  /// Of the first group as long as it has one.
  std::size_t free_place(const ProbeCase& probe) const {
    return *std::find_if(places_.begin(), places_.end(), [&](std::size_t k) { return probe.a[k] == 0; });
  }

  bool put_small(ProbeCase& probe, Small small, int last, bool negative) const {
    const gpu::Operation& o = bench_.operation();
    const std::size_t place = is_crowd(small) ? places_[group_ - 1] : free_place(probe);
    const int odd_bits = small == Small::odd_factor    ? o.a.fraction_bits
                         : small == Small::odd_factors ? o.a.fraction_bits + o.b.fraction_bits
                         : small == Small::odd_addend  ? acc_.fraction_bits
                                                       : 0;
    const int exponent = last + odd_bits;
    if (is_addend(small)) {
      if (odd_bits > 0 && exponent < acc_.min_exponent()) return false;
      if (!short_.put_addend(probe, exponent, negative)) return false;
      if (odd_bits > 0) probe.c |= 1;
      return true;
    }
    if (odd_bits > 0 && exponent < short_.least_product()) return false;
    if (!short_.put(probe, place, exponent, negative)) return false;
    if (small == Small::odd_factor || small == Small::odd_factors) probe.a[place] |= 1;
    if (small == Small::odd_factors) probe.b[place] |= 1;
    return true;
  }

  /// The inner product at full length if the engines' answers differ: in the first step, or in the last one, which no zeros
  /// follow that might cut the sum once more.
  std::optional<ProbeCase> telling(const ProbeCase& probe) const {
    if (bench_.same(short_.emulated(x_, probe), short_.emulated(y_, probe))) return std::nullopt;
    const auto used = std::find_if(probe.a.rbegin(), probe.a.rend(), [](Code code) { return code != 0; });
    const auto count = static_cast<std::size_t>(probe.a.rend() - used);
    const std::size_t last = (bench_.products() - count) / step_ * step_;
    for (const std::size_t place : {std::size_t{0}, last}) {
      ProbeCase whole = bench_.blank();
      std::copy_n(probe.a.begin(), count, whole.a.begin() + static_cast<std::ptrdiff_t>(place));
      std::copy_n(probe.b.begin(), count, whole.b.begin() + static_cast<std::ptrdiff_t>(place));
      whole.c = probe.c;
      if (!bench_.same(bench_.emulated(x_, whole), bench_.emulated(y_, whole))) return whole;
    }
    return std::nullopt;
  }

  const ProbeBench& bench_;
  const ProbeBench short_;
  Format acc_;
  const Engine &x_, &y_;
  std::vector<std::size_t> places_;
  std::size_t step_, group_ = 0;
  int result_bits_ = 0;
};

}  // namespace

std::vector<ProbeCase> telling_cases(const ProbeBench& bench, const ProbeLayout& layout, const Engine& x, const Engine& y) {
  return Telling(bench, layout, x, y).find();
}

}  // namespace ulpscope::studies

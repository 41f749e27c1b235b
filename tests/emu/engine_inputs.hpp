// SPDX-License-Identifier: Apache-2.0
// Inner products that matrix engines are likely to get wrong: terms that just reach or just miss each other's last bits, sums
// that cancel, ties, tiny and huge results, special values, ragged lengths. The same seed gives the same ones.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "emu/engines.hpp"
#include "emu/format.hpp"

namespace ulpscope::test {

/// SplitMix64 (Steele, Lea, Flood 2014, doi 10.1145/2660193.2660195).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  int below(int n) { return static_cast<int>((bits() >> 32) * static_cast<std::uint64_t>(n) >> 32); }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool one_in(int n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

struct Operands {
  emu::Format a_format, b_format;
  std::vector<emu::Code> a, b, a_scales, b_scales;
  emu::Code c = 0;
};

class EngineInputs {
 public:
  EngineInputs(const emu::EngineMode& mode, emu::Format a_format, emu::Format b_format, std::uint64_t seed)
      : mode_(mode), a_(a_format), b_(b_format), c_(mode.model.accumulator), random_(seed) {}

  Operands next() {
    choose_length();
    Operands x{.a_format = a_, .b_format = b_, .a = {}, .b = {}, .a_scales = {}, .b_scales = {}};
    x.a.resize(length_);
    x.b.resize(length_);
    append_scales(x);
    choose_levels();
    significands_ = random_.below(4);
    const int kind = random_.below(16);
    if (kind < 2) {
      uniform(x);
    } else if (kind < 4) {
      ladder(x);
    } else {
      products_at_levels(x);
      if (kind < 9) cancel(x);
      if (kind == 15) spoil(x);
    }
    return x;
  }

 private:
  /// One step, two or three; full in half the cases.
  void choose_length() {
    const int step = mode_.model.products == emu::Stage::all ? 8 : std::max(mode_.model.products, 2);
    const int kind = random_.below(8);
    const int longest = kind < 5 ? step : kind < 7 ? 2 * step : 3 * step;
    length_ = static_cast<std::size_t>(kind < 2 || kind == 5 ? longest : random_.between(1, longest));
  }

  emu::Code any(emu::Format f) { return random_.bits() & f.code_mask(); }

  void uniform(Operands& x) {
    for (std::size_t k = 0; k < length_; ++k) {
      x.a[k] = any(a_);
      x.b[k] = any(b_);
    }
    x.c = any(c_);
  }

  static int least(emu::Format f) { return f.min_spacing_exponent(); }

  /// Those of cuts and roundings, or about as much.
  int some_width() {
    constexpr int widths[] = {0, 1, 10, 11, 13, 14, 23, 24, 25, 26, 31, 32, 35, 36, 48, 53};
    const int width = widths[random_.below(16)];
    return width + random_.between(-1, 1);
  }

  /// Exponents of products before scaling: clusters around a few levels, as far from each other as cuts and roundings are wide.
  void choose_levels() {
    const int low = least(a_) + least(b_), high = a_.max_exponent() + b_.max_exponent();
    int centre = random_.between(low, high);
    const int region = random_.below(6);
    if (region == 0) centre = least(c_) + random_.between(-3, 4) - scale_exponent_;
    if (region == 1) centre = c_.min_exponent() + random_.between(-12, 4) - scale_exponent_;
    if (region == 2) centre = c_.max_exponent() + random_.between(-3, 2) - scale_exponent_;
    spread_ = random_.below(4);
    level_count_ = random_.between(1, 4);
    for (int& level : levels_) level = centre - some_width();
    levels_[0] = std::clamp(centre, low, high);
    run_log2_ = random_.between(-5, 4);
  }

  /// That of product k: of any level, or of one for each run of products.
  int product_exponent(std::size_t k) {
    const int run = static_cast<int>(k >> std::max(run_log2_, 0)) % level_count_;
    const int level = levels_[run_log2_ < 0 ? random_.below(level_count_) : run];
    return level + random_.between(-spread_, spread_);
  }

  emu::Code with_exponent(emu::Format f, int exponent) {
    const int clamped = std::clamp(exponent, least(f), f.max_exponent());
    const emu::Code leading = emu::Code{1} << f.fraction_bits;
    emu::Code fraction = 0;
    if (significands_ == 1) fraction = f.fraction_mask() & ~emu::Code{0} << random_.between(0, f.fraction_bits);
    if (significands_ >= 2) fraction = any(f) & f.fraction_mask();
    emu::Code magnitude = 0;
    if (clamped >= f.min_exponent()) {
      magnitude = static_cast<emu::Code>(clamped + f.bias) << f.fraction_bits | fraction;
    } else {
      magnitude = (leading | fraction) >> (f.min_exponent() - clamped);
    }
    magnitude = std::min(magnitude, f.max_finite_code());
    return magnitude == 0 || random_.one_in(2) ? magnitude : magnitude | f.sign_mask();
  }

  void set_product(Operands& x, std::size_t k, int exponent) {
    const int a_low = std::max(least(a_), exponent - b_.max_exponent());
    const int a_high = std::min(a_.max_exponent(), exponent - least(b_));
    const int a_exponent = a_low <= a_high ? random_.between(a_low, a_high) : a_low;
    x.a[k] = with_exponent(a_, a_exponent);
    x.b[k] = with_exponent(b_, exponent - a_exponent);
  }

  void products_at_levels(Operands& x) {
    const int zeros = random_.one_in(3) ? random_.between(1, 4) : 0;
    for (std::size_t k = 0; k < length_; ++k) {
      set_product(x, k, product_exponent(k));
      if (zeros != 0 && !random_.one_in(zeros + 1)) x.a[k] = zero(a_);
      if (zeros != 0 && random_.one_in(8)) x.b[k] = zero(b_);
    }
    x.c = addend();
  }

  /// A few terms a cut or a rounding apart, all others zeros: ties, and what just breaks them.
  void ladder(Operands& x) {
    for (std::size_t k = 0; k < length_; ++k) {
      x.a[k] = zero(a_);
      x.b[k] = with_exponent(b_, 0);
    }
    significands_ = random_.below(2);
    for (int i = random_.between(1, 3); i > 0; --i) {
      const auto k = static_cast<std::size_t>(random_.below(static_cast<int>(length_)));
      set_product(x, k, levels_[0] - some_width());
    }
    x.c = with_exponent(c_, levels_[0] + scale_exponent_ - (random_.one_in(2) ? 0 : some_width()));
  }

  emu::Code zero(emu::Format f) { return random_.one_in(2) && f.has_negative_zero() ? f.sign_mask() : 0; }

  emu::Code addend() {
    switch (random_.below(5)) {
      case 0: return zero(c_);
      case 1: return with_exponent(c_, least(c_) + random_.below(c_.fraction_bits + 3));
      default: {
        const int level = levels_[random_.below(level_count_)];
        return with_exponent(c_, level + random_.between(-spread_, spread_) + scale_exponent_);
      }
    }
  }

  /// Products whose negatives follow, all or all but the last bit of a factor, in any places.
  void cancel(Operands& x) {
    for (std::size_t k = 0; k + 1 < length_; k += 2) {
      if (random_.one_in(4)) continue;
      x.a[k + 1] = x.a[k];
      x.b[k + 1] = b_.has_negative_zero() || !b_.is_zero(x.b[k]) ? x.b[k] ^ b_.sign_mask() : x.b[k];
      if (random_.one_in(4)) x.a[k + 1] = flip_last_bit(a_, x.a[k + 1]);
    }
    if (random_.one_in(2)) {
      for (std::size_t k = length_; k > 1; --k) {
        const auto other = static_cast<std::size_t>(random_.below(static_cast<int>(k)));
        std::swap(x.a[k - 1], x.a[other]);
        std::swap(x.b[k - 1], x.b[other]);
      }
    }
    if (random_.one_in(4)) x.c = zero(c_);
  }

  static emu::Code flip_last_bit(emu::Format f, emu::Code code) {
    const emu::Code flipped = code ^ 1;
    return f.is_nan(flipped) || f.is_infinite(flipped) || f.is_zero(flipped) ? code : flipped;
  }

  void spoil(Operands& x) {
    for (int i = random_.between(1, 2); i > 0; --i) {
      const auto k = static_cast<std::size_t>(random_.below(static_cast<int>(length_)));
      switch (random_.below(3)) {
        case 0: x.a[k] = special(a_); break;
        case 1: x.b[k] = special(b_); break;
        default: x.c = special(c_);
      }
    }
  }

  emu::Code special(emu::Format f) {
    const emu::Code sign = random_.one_in(2) ? f.sign_mask() : 0;
    if (f.has_infinity() && !random_.one_in(4)) return f.infinity_code() | sign;
    if (f.has_nan()) return f.specials == emu::Specials::fnuz ? f.nan_code() : f.nan_code() | sign;
    return zero(f);
  }

  /// Scales near one, anywhere, at the ends, tiny together, near each other or not; now and then a NaN. The levels follow.
  void append_scales(Operands& x) {
    scale_exponent_ = mode_.model.product_exponent;
    if (mode_.model.scales == emu::EngineScales::none) return;
    const emu::Format f = mode_.scale_format;
    const auto block = static_cast<std::size_t>(mode_.model.scale_products);
    const int kind = random_.below(5), tiny = c_.min_exponent() + random_.between(-12, 4);
    const int centre = kind == 0 ? 0 : random_.between(least(f), f.max_exponent());
    const int others[] = {random_.between(-4, 4), random_.between(-4, 4), centre, -centre, tiny - centre};
    const int other = std::clamp(others[kind], least(f), f.max_exponent());
    const bool apart = random_.one_in(2);
    significands_ = 2;
    for (std::size_t first = 0; first < length_; first += block) {
      const int below = apart && random_.one_in(2) ? some_width() : 0;
      x.a_scales.push_back(with_exponent(f, centre + random_.between(-2, 2) - below));
      x.b_scales.push_back(with_exponent(f, other + random_.between(-2, 2)));
      if (random_.one_in(200)) x.a_scales.back() = f.nan_code();
      if (random_.one_in(50)) x.b_scales.back() = any(f);
    }
    scale_exponent_ = centre + other;
  }

  const emu::EngineMode& mode_;
  emu::Format a_, b_, c_;
  Random random_;
  std::size_t length_ = 0;
  int scale_exponent_ = 0;
  int levels_[4] = {};
  int level_count_ = 1;
  int spread_ = 0;
  int run_log2_ = -1;     ///< below zero: no runs
  int significands_ = 0;  ///< 0: one; 1: ones and then zeros; else any
};

}  // namespace ulpscope::test

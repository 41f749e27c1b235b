// SPDX-License-Identifier: Apache-2.0
// Inner products that tell engines apart: all exponents, cancellation, sums that hardly reach the subnormals or hardly
// overflow, operands with few bits and with all, zeros of both signs, infinities, NaNs with payloads.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/format.hpp"
#include "gpu/unit.hpp"

namespace ulpscope::testing {

using emu::Code;
using emu::Format;

struct Problems {
  std::size_t products;
  std::vector<Code> a, b, c;

  gpu::InnerProducts view() const { return {products, a, b, c, {}, {}}; }
};

/// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014): the same numbers everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t word() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t z = state_;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  /// least..most; least where most is less.
  int integer(int least, int most) {
    const auto count = static_cast<std::uint64_t>(std::max(most - least, 0) + 1);
    return least + static_cast<int>((word() >> 32) * count >> 32);
  }
  bool one_in(int n) { return integer(1, n) == 1; }

 private:
  std::uint64_t state_;
};

class Adversary {
 public:
  Adversary(const gpu::Operation& operation, std::uint64_t seed)
      : random_(seed), a_(operation.a), b_(operation.b), c_(operation.accumulator) {}

  Problems problems(std::size_t products, std::size_t count) {
    Problems all{products, {}, {}, {}};
    for (std::size_t i = 0; i < count; ++i) append_one(all);
    return all;
  }

 private:
  /// An inner product whose products lie around 2^centre.
  void append_one(Problems& all) {
    const std::size_t first = all.a.size();
    if (random_.one_in(16)) return append_any_codes(all);
    if (random_.one_in(64)) return append_zeros(all);
    const int centre = this->centre(), spread = random_.one_in(2) ? 2 : 30;
    const int rarity = std::array{4, 64, 4096, 4096}[static_cast<std::size_t>(random_.integer(0, 3))];
    for (std::size_t k = 0; k < all.products; ++k) {
      const int exponent = centre + random_.integer(-spread, spread);
      const int share = random_.integer(std::max(lowest(a_), exponent - b_.max_exponent()),
                                        std::min(a_.max_exponent(), exponent - lowest(b_)));
      all.a.push_back(random_.one_in(rarity) ? special(a_) : number(a_, share));
      all.b.push_back(random_.one_in(rarity) ? special(b_) : number(b_, exponent - share));
    }
    if (random_.one_in(3)) cancel(all, first);
    all.c.push_back(addend(all, first, centre, rarity));
  }

  void append_any_codes(Problems& all) {
    for (std::size_t k = 0; k < all.products; ++k) {
      all.a.push_back(random_.word() & a_.code_mask());
      all.b.push_back(random_.word() & b_.code_mask());
    }
    all.c.push_back(random_.word() & c_.code_mask());
  }

  /// Products that are zeros, mostly of one sign.
  void append_zeros(Problems& all) {
    const Code sign = random_.one_in(2) ? a_.sign_mask() : 0;
    const int rarity = random_.one_in(2) ? 4096 : static_cast<int>(all.products);
    for (std::size_t k = 0; k < all.products; ++k) {
      all.a.push_back(random_.one_in(rarity) ? sign ^ a_.sign_mask() : sign);
      all.b.push_back(number(b_, 0) & b_.magnitude_mask());
    }
    const Code magnitude = random_.one_in(2) ? 0 : random_.word() & c_.fraction_mask();
    all.c.push_back(magnitude | (random_.one_in(2) ? c_.sign_mask() : 0));
  }

  /// Half of the time near one of the accumulator's ends.
  int centre() {
    switch (random_.integer(0, 3)) {
      case 0: return random_.integer(c_.min_spacing_exponent() - 4, c_.min_exponent() + 2);
      case 1: return random_.integer(c_.max_exponent() - 4, c_.max_exponent() + 1);
      default: return random_.integer(lowest(c_), c_.max_exponent());
    }
  }

  /// Products that the ones before take away again, if in another order.
  void cancel(Problems& all, std::size_t first) {
    const auto distance = static_cast<std::size_t>(random_.integer(1, 4));
    for (std::size_t i = first + distance; i < all.a.size(); i += random_.one_in(2) ? 1 : 2) {
      all.a[i] = all.a[i - distance] ^ a_.sign_mask();
      all.b[i] = all.b[i - distance];
    }
  }

  Code addend(const Problems& all, std::size_t first, int centre, int rarity) {
    if (random_.one_in(rarity)) return special(c_);
    switch (random_.integer(0, 5)) {
      case 0: return random_.one_in(2) ? 0 : c_.sign_mask();
      case 1:
        return emu::encode(c_, -emu::decode(a_, all.a[first]) * emu::decode(b_, all.b[first])) ^
               (random_.one_in(8) ? random_.word() & 3 : 0);
      case 2: return number(c_, centre + random_.integer(0, c_.fraction_bits + 3));
      default: return number(c_, centre + random_.integer(-3, 3));
    }
  }

  static int lowest(Format format) { return format.min_spacing_exponent(); }

  /// A number of about that exponent, either sign, subnormal where it must be.
  Code number(Format format, int exponent) {
    const Code mask = format.fraction_mask();
    Code fraction = random_.word() & mask;
    switch (random_.integer(0, 5)) {
      case 0: fraction = 0; break;
      case 1: fraction = mask; break;
      case 2: fraction = mask & (mask << random_.integer(0, format.fraction_bits)); break;
      case 3: fraction = mask & (Code{1} << random_.integer(0, format.fraction_bits)); break;
      default: break;
    }
    const Code sign = random_.one_in(2) ? format.sign_mask() : 0;
    const int field = std::min(exponent, format.max_exponent()) + format.bias;
    if (field > 0) return sign | static_cast<Code>(field) << format.fraction_bits | fraction;
    return sign | (fraction | (mask + 1)) >> std::min(1 - field, format.fraction_bits + 1);
  }

  Code special(Format format) {
    const Code payload = random_.word() & format.fraction_mask();
    const Code quiet = (format.fraction_mask() + 1) >> 1;
    const std::array magnitudes{Code{0},
                                Code{0},
                                Code{1},
                                format.min_normal_code() - 1,
                                format.min_normal_code(),
                                format.max_finite_code(),
                                format.infinity_code(),
                                format.infinity_code(),
                                format.infinity_code() | quiet | payload,
                                format.infinity_code() | 1 | (payload & ~quiet)};
    const auto which = static_cast<std::size_t>(random_.integer(0, static_cast<int>(magnitudes.size()) - 1));
    return magnitudes[which] | (random_.one_in(2) ? format.sign_mask() : 0);
  }

  Random random_;
  Format a_, b_, c_;
};

}  // namespace ulpscope::testing

// SPDX-License-Identifier: Apache-2.0
// Operands on which arithmetic can go wrong, for the IEEE interchange formats. Shares nothing with emu.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "cpu_instructions.hpp"
#include "inputs.hpp"

namespace peers {

/// Random draws by number, from the words of random_word.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : next_(seed << 40) {}
  std::uint64_t word() { return random_word(next_++); }
  /// One of 0, ..., count - 1.
  std::uint64_t below(std::uint64_t count) { return word() % count; }
  bool coin() { return (word() & 1) != 0; }

 private:
  std::uint64_t next_;
};

/// Fields of an interchange format, and how to draw its words.
struct Layout {
  int exponent_bits, fraction_bits;

  std::uint64_t word(bool negative, std::int64_t field, std::uint64_t fraction) const {
    const std::int64_t last = (std::int64_t{1} << exponent_bits) - 2;  // the largest of finite numbers
    const auto kept = static_cast<std::uint64_t>(field < 0 ? 0 : (field > last ? last : field));
    return std::uint64_t{negative} << (exponent_bits + fraction_bits) | kept << fraction_bits | (fraction & fraction_mask());
  }
  std::uint64_t fraction_mask() const { return (std::uint64_t{1} << fraction_bits) - 1; }
  std::uint64_t sign() const { return std::uint64_t{1} << (exponent_bits + fraction_bits); }
  std::uint64_t mask() const { return sign() | (sign() - 1); }
  std::int64_t fields() const { return std::int64_t{1} << exponent_bits; }
  std::int64_t bias() const { return fields() / 2 - 1; }
  std::int64_t field(std::uint64_t word) const { return static_cast<std::int64_t>((word & ~sign()) >> fraction_bits); }

  /// The first and last two numbers of a binade, one at its middle and a random one, of either sign: of every binade, or where
  /// there are more than 64 of those at both ends of the range, around 1, and where the spacing is 1. Subnormals, infinities
  /// and NaNs of both kinds are binades here.
  std::vector<std::uint64_t> interesting() const {
    Draws draws(1);
    std::vector<std::uint64_t> all;
    for (std::int64_t binade = 0; binade < fields(); ++binade) {
      const std::int64_t from_one = binade - bias(), from_whole = from_one - fraction_bits;
      const bool chosen = fields() <= 64 || binade < 4 || binade >= fields() - 3 || (from_one >= -2 && from_one <= 2) ||
                          (from_whole >= -2 && from_whole <= 1) || from_one == -bias() / 2 || from_one == bias() / 2;
      if (!chosen) continue;
      const std::uint64_t base = static_cast<std::uint64_t>(binade) << fraction_bits, half = (fraction_mask() + 1) / 2;
      for (const std::uint64_t fraction :
           {std::uint64_t{0}, std::uint64_t{1}, half, fraction_mask() - 1, fraction_mask(), draws.word() & fraction_mask()})
        for (const std::uint64_t negative : {std::uint64_t{0}, sign()}) all.push_back(base | fraction | negative);
    }
    return all;
  }

  /// Words of any kind; neighbours, which cancel; and pairs whose product or quotient is near either end of the range.
  Operands pair(Draws& draws) const {
    const std::uint64_t a = draws.word() & mask(), b = draws.word() & mask();
    switch (draws.below(4)) {
      case 0: return {a, b};
      case 1: {
        const std::uint64_t neighbour = a + draws.below(5) - 2;
        return {a, (neighbour ^ (draws.coin() ? sign() : 0)) & mask()};
      }
      case 2: {  // the result's exponent field is at most 2, or at least that of the largest numbers less 1
        const std::int64_t low = 2 - static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(fraction_bits) + 3));
        const std::int64_t target = draws.below(4) != 0 ? low : fields() - 1 - static_cast<std::int64_t>(draws.below(3));
        const std::int64_t other = target + bias() - field(a);
        const std::uint64_t fraction = short_fraction(draws, b);
        const std::int64_t chosen = draws.coin() ? other : field(a) + bias() - target;
        return {a, word(draws.coin(), chosen, fraction)};
      }
      default: {  // significands of few bits, exponents in reach of each other: exact results, ties, and what is just beside
        const std::uint64_t fraction_a = short_fraction(draws, a);
        const bool negative_a = draws.coin();
        const std::uint64_t fraction_b = short_fraction(draws, b);
        const auto away = static_cast<std::int64_t>(draws.below(2 * static_cast<std::uint64_t>(fraction_bits)));
        const bool negative_b = draws.coin();
        return {word(negative_a, field(a), fraction_a), word(negative_b, field(a) + away - fraction_bits, fraction_b)};
      }
    }
  }

  /// Triples whose a b + c is on or beside a boundary of rounding, cancels, or is near the least normal number; some of any
  /// kind. `multiply` gives a b rounded.
  Operands triple(Draws& draws, Instruction multiply) const {
    Operands x = pair(draws);
    switch (draws.below(8)) {
      case 0: x.c = draws.word() & mask(); return x;
      case 1:
      case 2: {  // -a b and its neighbours
        const std::uint64_t product = multiply(x, mxcsr_usual).bits & mask();
        x.c = ((product ^ sign()) + draws.below(5) - 2) & mask();
        return x;
      }
      case 3: {  // a b near the least normal number, c at most a few of the least numbers
        const std::int64_t target = 1 - static_cast<std::int64_t>(draws.below(3));
        const std::uint64_t fraction_a = draws.word();
        const std::int64_t field_a = static_cast<std::int64_t>(draws.word() & 0xffff) % fields();
        x.a = word(draws.coin(), field_a, fraction_a);
        const std::uint64_t fraction_b = short_fraction(draws, x.b);
        x.b = word(draws.coin(), target + bias() - field(x.a), fraction_b);
        x.c = draws.below(4);
        x.c |= draws.coin() ? sign() : 0;
        x.c |= draws.coin() ? std::uint64_t{1} << fraction_bits : 0;
        return x;
      }
      default: {  // a b = m 2^k (1 + n ulp), m odd of at most 4 bits, n small; the spacing of c 2^(k-2) to 2^(k+2)
        const auto digits = static_cast<int>(draws.below(4));
        const std::uint64_t m = (draws.word() | 1) & ((std::uint64_t{1} << digits) - 1);
        const auto any_field = [&] {
          return 1 + static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(fields()) - 2));
        };
        const std::int64_t a = any_field(), c = draws.below(8) != 0 ? any_field() : 0;
        const std::int64_t wanted_k = (c == 0 ? 1 : c) - fraction_bits - 2 + static_cast<std::int64_t>(draws.below(5));
        x.a = word(draws.coin(), a, m << (fraction_bits - digits));
        const std::uint64_t fraction_b = draws.below(5) - 2;
        x.b = word(draws.coin(), wanted_k + digits + bias() - a, fraction_b);
        const std::uint64_t fraction_c = short_fraction(draws, draws.word());
        x.c = word(draws.coin(), c, fraction_c);
        return x;
      }
    }
  }

  /// `any`, or a fraction of few bits, or one beside a power of two.
  std::uint64_t short_fraction(Draws& draws, std::uint64_t any) const {
    switch (draws.below(4)) {
      case 0: return any;
      case 1: return (draws.below(5) - 2) & fraction_mask();
      default: return (draws.below(16) << (fraction_bits - 4)) & fraction_mask();
    }
  }
};

inline constexpr Layout half_layout{5, 10}, float_layout{8, 23}, double_layout{11, 52};

/// Integers on and beside 2^k and 3 * 2^k, and random ones of every length; of either sign.
inline std::vector<std::uint64_t> integers(int bits, int random) {
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - bits);
  std::vector<std::uint64_t> all = {0};
  for (int k = 0; k < bits; ++k)
    for (const std::uint64_t centre : {std::uint64_t{1} << k, std::uint64_t{3} << k, mask >> k})
      for (const std::uint64_t word : {centre - 1, centre, centre + 1, 0 - centre, 1 - centre, ~centre})
        all.push_back(word & mask);
  Draws draws(2);
  for (int i = 0; i < random; ++i) {
    const std::uint64_t word = (draws.word() & mask) >> draws.below(static_cast<std::uint64_t>(bits));
    all.push_back((draws.coin() ? word : 0 - word) & mask);
  }
  return all;
}

}  // namespace peers

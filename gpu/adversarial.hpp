// SPDX-License-Identifier: Apache-2.0
// Inner products that tell engines apart: all exponents, cancellation, sums that hardly reach the subnormals or hardly
// overflow, operands with few bits and with all, zeros of both signs, infinities, NaNs with payloads. Number i of a seed is the
// same everywhere, on the host and on a device, whatever was made before it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "emu/config.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/format.hpp"
#include "gpu/elementwise.hpp"
#include "gpu/unit.hpp"

namespace ulpscope::gpu {

/// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014), from a state that depends on
/// seed and number.
class TestRandom {
 public:
  /// The numbers of test `number` under `seed`.
  ULPSCOPE_HD TestRandom(std::uint64_t seed, std::uint64_t number) : state_(seed) { state_ = word() ^ number * increment; }

  /// The next 64 random bits.
  ULPSCOPE_HD std::uint64_t word() {
    state_ += increment;
    std::uint64_t z = state_;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  /// least..most; least where most is less.
  ULPSCOPE_HD int integer(int least, int most) {
    const auto count = static_cast<std::uint64_t>(most > least ? most - least + 1 : 1);
    return least + static_cast<int>((word() >> 32) * count >> 32);
  }
  /// True for one draw of n, n at least 1.
  ULPSCOPE_HD bool one_in(int n) { return integer(1, n) == 1; }

 private:
  static constexpr std::uint64_t increment = 0x9e3779b97f4a7c15;
  std::uint64_t state_;
};

/// What an adversarial inner product is made for: the part of an Operation that device code can take.
struct TestShape {
  emu::Format a = emu::float32, b = emu::float32, c = emu::float32;  ///< of the operands, and of c and the result
  emu::Format scale_format = emu::float8_e8m0fnu;                    ///< of the scales, where there are any
  std::size_t products = 0, scale_products = 0;                      ///< scale_products 0: no scales

  TestShape() = default;
  /// That of one instruction.
  explicit TestShape(const Operation& o) : TestShape(o, o.products) {}
  /// A chain of several instructions.
  TestShape(const Operation& o, std::size_t all_products)
      : a(o.a),
        b(o.b),
        c(o.accumulator),
        scale_format(o.scale_format),
        products(all_products),
        scale_products(o.scale_products) {}

  /// Scales of each operand.
  ULPSCOPE_HD std::size_t blocks() const noexcept { return scale_products == 0 ? 0 : products / scale_products; }
};

/// Where the codes of one inner product go: `products` of a and b, blocks() of the scales.
struct TestCodes {
  emu::Code* a;                   ///< `products` codes
  emu::Code* b;                   ///< `products` codes
  emu::Code* c;                   ///< one code
  emu::Code* a_scales = nullptr;  ///< `blocks()` codes; may be null where there are none
  emu::Code* b_scales = nullptr;  ///< as many
};

/// Makes one inner product.
class Adversary {
 public:
  using Code = emu::Code;      ///< of operands and scales
  using Format = emu::Format;  ///< of the codes

  /// Makes test `number` under `seed`.
  ULPSCOPE_HD Adversary(const TestShape& shape, std::uint64_t seed, std::uint64_t number)
      : shape_(shape), random_(seed, number) {}

  /// Writes the operands and the scales.
  ULPSCOPE_HD void make(const TestCodes& to) {
    for (std::size_t i = 0; i < shape_.blocks(); ++i) {
      to.a_scales[i] = scale();
      to.b_scales[i] = scale();
    }
    if (random_.one_in(16)) return any_codes(to);
    if (random_.one_in(64)) return zeros(to);
    const Format a = shape_.a, b = shape_.b;
    const int centre = this->centre(), spread = random_.one_in(2) ? 2 : 30, rarity = this->rarity();
    for (std::size_t k = 0; k < shape_.products; ++k) {
      const int exponent = centre + random_.integer(-spread, spread);
      const int share =
          random_.integer(larger(lowest(a), exponent - b.max_exponent()), smaller(a.max_exponent(), exponent - lowest(b)));
      to.a[k] = random_.one_in(rarity) ? special(a) : number(a, share);
      to.b[k] = random_.one_in(rarity) ? special(b) : number(b, exponent - share);
    }
    if (random_.one_in(3)) cancel(to);
    *to.c = addend(to, centre, rarity);
  }

  /// One operand of an element operation.
  ULPSCOPE_HD Code operand(Format format) {
    if (random_.one_in(4)) return random_.word() & format.code_mask();
    if (random_.one_in(16)) return special(format);
    return number(format, random_.integer(lowest(format), format.max_exponent()));
  }
  /// Any 32 bits.
  ULPSCOPE_HD Code word() { return random_.word() & 0xffffffff; }
  /// An operand whose exponent is near that of another one.
  ULPSCOPE_HD Code near(Format format, Code other) {
    if (random_.one_in(3)) return operand(format);
    const auto field = static_cast<int>((other & format.magnitude_mask()) >> format.fraction_bits);
    return number(format, field - format.bias + random_.integer(-3, 3));
  }

 private:
  ULPSCOPE_HD static int larger(int x, int y) { return x > y ? x : y; }
  ULPSCOPE_HD static int smaller(int x, int y) { return x < y ? x : y; }
  ULPSCOPE_HD static int lowest(Format format) { return format.min_spacing_exponent(); }

  ULPSCOPE_HD int rarity() {
    const int which = random_.integer(0, 3);
    return which == 0 ? 4 : (which == 1 ? 64 : 4096);
  }

  ULPSCOPE_HD void any_codes(const TestCodes& to) {
    for (std::size_t k = 0; k < shape_.products; ++k) {
      to.a[k] = random_.word() & shape_.a.code_mask();
      to.b[k] = random_.word() & shape_.b.code_mask();
    }
    *to.c = random_.word() & shape_.c.code_mask();
  }

  /// Products that are zeros, mostly of one sign.
  ULPSCOPE_HD void zeros(const TestCodes& to) {
    const Format a = shape_.a, c = shape_.c;
    const Code sign = random_.one_in(2) ? a.sign_mask() : 0;
    const int rarity = random_.one_in(2) ? 4096 : static_cast<int>(shape_.products);
    for (std::size_t k = 0; k < shape_.products; ++k) {
      to.a[k] = random_.one_in(rarity) ? sign ^ a.sign_mask() : sign;
      to.b[k] = number(shape_.b, 0) & shape_.b.magnitude_mask();
    }
    const Code magnitude = random_.one_in(2) ? 0 : random_.word() & c.fraction_mask();
    *to.c = magnitude | (random_.one_in(2) ? c.sign_mask() : 0);
  }

  /// Half of the time near one of the accumulator's ends.
  ULPSCOPE_HD int centre() {
    const Format c = shape_.c;
    switch (random_.integer(0, 3)) {
      case 0: return random_.integer(lowest(c) - 4, c.min_exponent() + 2);
      case 1: return random_.integer(c.max_exponent() - 4, c.max_exponent() + 1);
      default: return random_.integer(lowest(c), c.max_exponent());
    }
  }

  /// Products that the ones before take away again, if in another order.
  ULPSCOPE_HD void cancel(const TestCodes& to) {
    const auto distance = static_cast<std::size_t>(random_.integer(1, 4));
    for (std::size_t k = distance; k < shape_.products; k += random_.one_in(2) ? 1 : 2) {
      to.a[k] = to.a[k - distance] ^ shape_.a.sign_mask();
      to.b[k] = to.b[k - distance];
    }
  }

  ULPSCOPE_HD Code addend(const TestCodes& to, int centre, int rarity) {
    const Format c = shape_.c;
    if (random_.one_in(rarity)) return special(c);
    switch (random_.integer(0, 5)) {
      case 0: return random_.one_in(2) ? 0 : c.sign_mask();
      case 1:
        return emu::encode(c, -emu::decode(shape_.a, to.a[0]) * emu::decode(shape_.b, to.b[0])) ^
               (random_.one_in(8) ? random_.word() & 3 : 0);
      case 2: return number(c, centre + random_.integer(0, c.fraction_bits + 3));
      default: return number(c, centre + random_.integer(-3, 3));
    }
  }

  ULPSCOPE_HD Code scale() {
    const Format format = shape_.scale_format;
    if (random_.one_in(64)) return random_.word() & format.magnitude_mask();
    return number(format, random_.integer(-4, 4)) & format.magnitude_mask();
  }

  /// A number of about that exponent, either sign, subnormal where it must be.
  ULPSCOPE_HD Code number(Format format, int exponent) {
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
    const int field = smaller(exponent, format.max_exponent()) + format.bias;
    if (field > 0) return sign | static_cast<Code>(field) << format.fraction_bits | fraction;
    return sign | (fraction | (mask + 1)) >> smaller(1 - field, format.fraction_bits + 1);
  }

  ULPSCOPE_HD Code special(Format format) {
    const Code payload = random_.word() & format.fraction_mask();
    const Code quiet = (format.fraction_mask() + 1) >> 1;
    const Code sign = random_.one_in(2) ? format.sign_mask() : 0;
    switch (random_.integer(0, 9)) {
      case 0:
      case 1: return sign;
      case 2: return sign | 1;
      case 3: return sign | (format.min_normal_code() - 1);
      case 4: return sign | format.min_normal_code();
      case 5: return sign | format.max_finite_code();
      case 6:
      case 7: return sign | format.infinity_code();
      case 8: return sign | format.infinity_code() | quiet | payload;
      default: return sign | format.infinity_code() | 1 | (payload & ~quiet);
    }
  }

  TestShape shape_;
  TestRandom random_;
};

/// The operands of number `number` of an element operation.
struct TestOperands {
  emu::Code a, b, c;  ///< codes of `from`; those that the operation does not take are zero
};
/// Those of test `number` under `seed`.
ULPSCOPE_HD inline TestOperands test_operands(const ElementModel& model, std::uint64_t seed, std::uint64_t number) {
  Adversary adversary(TestShape{}, seed, number);
  TestOperands operands{};
  operands.a = adversary.operand(model.from);
  if (numbers_of(model.kind) > 1) operands.b = adversary.near(model.from, operands.a);
  if (model.kind == ElementKind::convert_randomly) operands.b = adversary.word();
  if (operands_of(model.kind) > 2) operands.c = adversary.near(model.to, operands.a);
  return operands;
}

/// Adversarial inner products with their numbers in one place.
struct TestProblems {
  std::size_t products = 0;                            ///< of one inner product
  std::vector<emu::Code> a, b, c, a_scales, b_scales;  ///< one after the other, as in InnerProducts

  /// The same as spans into this.
  InnerProducts view() const { return {products, a, b, c, a_scales, b_scales}; }
};
/// Numbers begin to begin + count - 1, of `shape`, under `seed`.
TestProblems test_problems(const TestShape& shape, std::uint64_t seed, std::uint64_t begin, std::size_t count);

}  // namespace ulpscope::gpu

// SPDX-License-Identifier: Apache-2.0
// Lines of float32 and float64 numbers that split products are likely to get wrong: bits of all parts set, ties of parts, sums
// that cancel, wide exponents, subnormal parts. The same seed gives the same ones.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/emu/engine_inputs.hpp"

namespace ulpscope::test {

enum class Lines { normal, full, ties, wide, cancelling, tiny, positive };
inline constexpr std::array all_lines{Lines::normal,     Lines::full, Lines::ties,    Lines::wide,
                                      Lines::cancelling, Lines::tiny, Lines::positive};

class SplitInputs {
 public:
  explicit SplitInputs(std::uint64_t seed) : random_(seed) {}

  float single(Lines kind) {
    const std::uint32_t sign = random_.one_in(2) && kind != Lines::positive ? 0x80000000U : 0;
    std::uint32_t fraction = static_cast<std::uint32_t>(random_.bits()) & 0x7fffff;
    int exponent = random_.between(-3, 3);
    if (kind == Lines::full) fraction |= 0x7fffff & ~0U << random_.between(0, 3);
    // Bits after the parts of 8 and of 11 bits: a half, and a little more or less.
    if (kind == Lines::ties) {
      fraction &= tie_masks[random_.below(4)];
      fraction |= tie_bits[random_.below(5)];
    }
    if (kind == Lines::wide) exponent = random_.between(-40, 40);
    if (kind == Lines::tiny) exponent = random_.between(-126, -100);
    return std::bit_cast<float>(sign | static_cast<std::uint32_t>(exponent + 127) << 23 | fraction);
  }
  double wide(Lines kind) {
    const double low = static_cast<double>(random_.bits() >> 11) * 0x1p-53 * (kind == Lines::ties ? 0 : 0x1p-22);
    const double high = static_cast<double>(single(kind));
    return kind == Lines::full ? std::copysign(std::ldexp(2 - 0x1p-52, std::ilogb(high)), high) : high * (1 + low);
  }

  template <class Number>
  std::vector<Number> line(Lines kind, std::size_t length) {
    std::vector<Number> values;
    for (std::size_t k = 0; k < length; ++k) {
      if constexpr (sizeof(Number) == sizeof(float)) {
        values.push_back(single(kind));
      } else {
        values.push_back(wide(kind));
      }
    }
    return values;
  }
  /// Lines of A and B. Of cancelling ones each second product takes back the one before it, but for the last bits of a factor
  /// in half of them: what the greatest parts leave of the sum is nothing, or little.
  template <class Number>
  std::pair<std::vector<Number>, std::vector<Number>> lines(Lines kind, std::size_t length) {
    std::pair<std::vector<Number>, std::vector<Number>> both;
    both.first = line<Number>(kind, length);
    both.second = line<Number>(kind, length);
    for (std::size_t k = 1; k < length && kind == Lines::cancelling; k += 2) {
      both.first[k] = -both.first[k - 1];
      both.second[k] = random_.one_in(2) ? both.second[k - 1] : std::nextafter(both.second[k - 1], Number{4});
    }
    return both;
  }
  Random& random() { return random_; }

 private:
  static constexpr std::uint32_t tie_masks[] = {0x7f0000, 0x7fe000, 0x7fff00, 0x7fffff};
  static constexpr std::uint32_t tie_bits[] = {0x008000, 0x001000, 0x000080, 0x008001, 0x007fff};

  Random random_;
};

}  // namespace ulpscope::test

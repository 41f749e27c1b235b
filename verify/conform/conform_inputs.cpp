// SPDX-License-Identifier: Apache-2.0
// All codes, or a sample around every number of the target.
#include "verify/conform/conform_inputs.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "emu/bits.hpp"
#include "emu/decode.hpp"
#include "emu/philox.hpp"

namespace ulpscope::verify {
namespace {

constexpr std::uint64_t random_words = std::uint64_t{1} << 21, random_numbers = std::uint64_t{1} << 17;
constexpr int most_enumerated_bits = 16;
using Double = emu::Interchange<double>;

std::uint64_t random_word(std::uint64_t seed, std::uint64_t index, std::uint64_t stream) {
  const emu::PhiloxBlock block = emu::philox4x32(seed, index, stream);
  return std::uint64_t{block.word[1]} << 32 | block.word[0];
}

class Sample {
 public:
  std::vector<std::uint64_t> codes;

  void add_both_signs(std::uint64_t magnitude) {
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    codes.push_back(magnitude & ~sign);
    codes.push_back(magnitude | sign);
  }
  /// x and its neighbours.
  void add_about(double x) {
    const auto code = std::bit_cast<std::uint64_t>(x) & (~std::uint64_t{0} >> 1);
    add_both_signs(code);
    add_both_signs(code + 1);
    if (code != 0) add_both_signs(code - 1);
  }
  void add_exponents() {
    constexpr std::uint64_t one = 1, middle = one << (Double::fraction_bits - 1), all = (one << Double::fraction_bits) - 1;
    for (std::uint64_t exponent = 0; exponent < 2048; ++exponent)
      for (const std::uint64_t fraction : {std::uint64_t{0}, one, middle - 1, middle, middle + 1, all - 1, all})
        add_both_signs(exponent << Double::fraction_bits | fraction);
  }
  /// A number of the format and the middle between it and the next.
  void add_number(emu::Format to, emu::Code magnitude) {
    const double x = emu::decode(to, magnitude);
    if (!std::isfinite(x)) return;
    add_about(x);
    // The middle is exact, for a code has at least one bit less than a double; beyond the largest number the spacing goes on.
    add_about(x + std::ldexp(1.0, emu::spacing_exponent(to, x) - 1));
  }
};

}  // namespace

Inputs::Inputs(emu::Format from, emu::Format to, std::uint64_t seed) : from_(from) {
  if (from.bits() <= 32) return;
  Sample sample;
  sample.add_exponents();
  const bool enumerated = to.bits() <= most_enumerated_bits;
  const std::uint64_t magnitudes = to.magnitude_mask() + 1, numbers = enumerated ? magnitudes : random_numbers;
  for (std::uint64_t i = 0; i < numbers; ++i) sample.add_number(to, enumerated ? i : random_word(seed, i, 2) % magnitudes);
  for (std::uint64_t i = 0; i < random_words; ++i) sample.codes.push_back(random_word(seed, i, 3));
  // From half of the least number to twice the largest.
  const auto least = static_cast<std::uint64_t>(std::max(to.min_spacing_exponent() - 1, -1022) + Double::bias);
  const auto most = static_cast<std::uint64_t>(std::min(to.max_exponent() + 1, 1023) + Double::bias);
  for (std::uint64_t i = 0; i < random_words; ++i) {
    const std::uint64_t word = random_word(seed, i, 4), draw = random_word(seed, i, 5);
    constexpr std::uint64_t kept = ~(std::uint64_t{0x7ff} << Double::fraction_bits);
    sample.codes.push_back((word & kept) | (least + draw % (most - least + 1)) << Double::fraction_bits);
  }
  sample_ = std::move(sample.codes);
}

void Inputs::fill(std::uint64_t first, Words& words) const {
  words.visit([&](auto& array) {
    using Word = typename std::remove_reference_t<decltype(array)>::value_type;
    if constexpr (sizeof(Word) == sizeof(std::uint64_t)) {
      if (is_sample()) {
        std::copy_n(sample_.begin() + static_cast<std::ptrdiff_t>(first), array.size(), array.begin());
        return;
      }
    }
    std::iota(array.begin(), array.end(), static_cast<Word>(first));
  });
}

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// What the bulk operations are measured on: normal numbers, plain or mixed with what a format finds hard, and codes of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "emu/bulk.hpp"
#include "emu/decode.hpp"

namespace ulpscope::bench {

enum class Data {
  normal,  ///< N(0, 1), for narrow formats scaled so that the largest finite number is four standard deviations
  mix,     ///< the same, but one in ten subnormal and one in ten too large, at random places
};
constexpr std::string_view name_of(Data data) noexcept { return data == Data::normal ? "normal" : "mix"; }

/// A format that ends below this is narrow: e4m3 ends at 448, e5m2 at 57344.
inline constexpr double narrow_end = 4096;

template <class Float>
std::vector<Float> numbers(emu::Format format, Data data, std::size_t count) {
  const double most = emu::max_finite(format);
  const auto deviation = static_cast<Float>(most < narrow_end ? most / 4 : 1);
  const auto subnormal = static_cast<Float>(emu::min_normal(format));
  const auto beyond = static_cast<Float>(std::min(2 * most, double{std::numeric_limits<float>::max()}));
  std::mt19937 random(1);
  std::normal_distribution<Float> normal(0, deviation);
  std::uniform_real_distribution<Float> uniform;
  std::vector<Float> out(count);
  for (Float& x : out) {
    x = normal(random);
    const Float draw = data == Data::mix ? uniform(random) : Float{1};
    if (draw < Float(0.1)) {
      x = std::copysign(subnormal * uniform(random), x);
    } else if (draw < Float(0.2)) {
      x = std::copysign(beyond, x);
    }
    if (!format.is_signed()) x = std::fabs(x);
  }
  return out;
}

template <class Word>
std::vector<Word> codes(emu::Format format, const std::vector<float>& values) {
  std::vector<Word> out(values.size());
  emu::encode(format, std::span<const float>(values), std::span<Word>(out));
  return out;
}

/// Fills with `pattern`, over and over: as many elements as branch predictors cannot learn, and no slower than a copy to write.
template <class T>
void tile(const std::vector<T>& pattern, std::span<T> out) {
  for (std::size_t i = 0; i < out.size(); i += pattern.size())
    std::copy_n(pattern.begin(), std::min(pattern.size(), out.size() - i), out.begin() + static_cast<std::ptrdiff_t>(i));
}
inline constexpr std::size_t most_in_pattern = std::size_t{1} << 20;

}  // namespace ulpscope::bench

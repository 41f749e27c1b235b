// SPDX-License-Identifier: Apache-2.0
// How many errors there are of each size.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

namespace ulpscope::verify {

/// Signed errors in ulps: bucket `zero` holds the exactly rounded, its neighbours errors up to half an ulp, then up to 1, 2, 4
/// ... and more.
struct UlpHistogram {
  static constexpr int most = 18;    ///< the last bucket of each side: more than 2^(most - 3) ulps, and what is not finite
  static constexpr int zero = most;  ///< the bucket of errors that are 0
  std::array<std::uint64_t, 2 * most + 1> counts{};  ///< by bucket

  /// Counts an element, or several of that error.
  void add(double error_ulp, std::uint64_t times = 1) noexcept {
    const int bucket = bucket_of(error_ulp);
    counts[static_cast<std::size_t>(error_ulp < 0 ? zero - bucket : zero + bucket)] += times;
  }
  /// Adds what another counts.
  void merge(const UlpHistogram& other) noexcept {
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
  }
  /// `(2, 4]`, `-(0, 0.5]`, `0`
  static std::string label(int bucket);

 private:
  /// How far from `zero` its bucket is: the exponent of the power of two that is no less, from 2^-1 on.
  static int bucket_of(double error_ulp) noexcept {
    constexpr std::uint64_t fraction = (std::uint64_t{1} << 52) - 1;
    const std::uint64_t magnitude = std::bit_cast<std::uint64_t>(error_ulp) & ~(std::uint64_t{1} << 63);
    const int exponent = static_cast<int>((magnitude + fraction) >> 52) - 1023;
    return magnitude == 0 ? 0 : exponent < -1 ? 1 : exponent > most - 2 ? most : exponent + 2;
  }
};

}  // namespace ulpscope::verify

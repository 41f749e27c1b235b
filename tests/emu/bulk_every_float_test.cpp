// SPDX-License-Identifier: Apache-2.0
// encode and round_to of spans that hold all 2^32 floats, or a spread of them, against the scalar functions.
#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <cstring>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "emu/bulk.hpp"
#include "tests/emu/bulk_inputs.hpp"
#include "tests/emu/bulk_laws.hpp"
#include "tests/emu/formats_of_few_bits.hpp"

namespace {
using namespace ulpscope;
using laws::How;

// 2^32 conversions take seconds only when optimised and without sanitizers; the other laws cover those builds.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)
constexpr bool is_fast_build = true;
#else
constexpr bool is_fast_build = false;
#endif

constexpr std::uint64_t all_patterns = std::uint64_t{1} << 32;
constexpr std::size_t block_size = std::size_t{1} << 14;  // what is compared at a time stays in the cache

/// The narrowest word that holds a code.
template <emu::Format F>
using Narrowest =
    std::conditional_t<(F.bits() <= 8), std::uint8_t, std::conditional_t<(F.bits() <= 16), std::uint16_t, std::uint32_t>>;

/// A block of floats of successive patterns, and what the scalar functions make of them.
template <emu::Format F>
class Block {
 public:
  Block() {
    for (emu::Code code = 0; code <= F.code_mask(); ++code) value_of_.push_back(static_cast<float>(emu::decode(F, code)));
  }

  template <emu::Rounding R, emu::Policy P>
  void fill(std::uint64_t first) {
    constexpr emu::RoundingOptions options{.rounding = R, .policy = P};
    for (std::size_t i = 0; i < block_size; ++i) inputs_[i] = std::bit_cast<float>(static_cast<std::uint32_t>(first + i));
    for (std::size_t i = 0; i < block_size; ++i) codes_[i] = static_cast<Word>(emu::encode(F, inputs_[i], options));
    for (std::size_t i = 0; i < block_size; ++i) values_[i] = value_of_[codes_[i]];
  }
  /// Whether the path in force gives the same.
  bool is_confirmed(const emu::RoundingOptions& options) {
    emu::encode(F, std::span<const float>(inputs_), std::span(got_codes_), options);
    emu::round_to(F, std::span<const float>(inputs_), std::span(got_values_), options);
    return std::memcmp(got_codes_.data(), codes_.data(), block_size * sizeof(Word)) == 0 &&
           std::memcmp(got_values_.data(), values_.data(), block_size * sizeof(float)) == 0;
  }

 private:
  using Word = Narrowest<F>;
  std::vector<float> value_of_;  ///< of every code
  std::vector<float> inputs_ = std::vector<float>(block_size), values_ = inputs_, got_values_ = inputs_;
  std::vector<Word> codes_ = std::vector<Word>(block_size), got_codes_ = codes_;
};

/// The path in force, on two threads.
template <emu::Format F, emu::Rounding R, emu::Policy P>
void require_every_float() {
  std::array<std::uint64_t, 2> wrong{all_patterns, all_patterns};
  const auto visit = [&](std::uint64_t half) {
    Block<F> block;
    for (std::uint64_t first = half * all_patterns / 2; first < (half + 1) * all_patterns / 2; first += block_size) {
      block.template fill<R, P>(first);
      if (!block.is_confirmed({.rounding = R, .policy = P})) wrong[half] = std::min(wrong[half], first);
    }
  };
  std::thread other(visit, 1);
  visit(0);
  other.join();
  INFO(emu::format_name(F) << ' ' << emu::name_of(R) << ' ' << emu::name_of(P) << " on " << emu::name_of(emu::simd_path())
                           << ": first wrong blocks " << std::hex << wrong[0] << ' ' << wrong[1] << " (100000000: none)");
  CHECK(wrong[0] == all_patterns);
  CHECK(wrong[1] == all_patterns);
}

/// The path without vectors is as slow as the scalar functions, so it is asked in the default direction only.
template <emu::Format F>
void on_path_in_every_direction(emu::SimdPath path) {
  if (path == emu::SimdPath::scalar) return require_every_float<F, emu::Rounding::nearest_even, emu::Policy::nonsaturating>();
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (require_every_float<F, laws::deterministic[I], emu::Policy::nonsaturating>(), ...);
    (require_every_float<F, laws::deterministic[I], emu::Policy::saturating>(), ...);
  }
  (std::make_index_sequence<std::size(laws::deterministic)>{});
}
template <emu::Format F>
void require_every_float_in_every_direction() {
  if constexpr (is_fast_build) {
    laws::on_every_path(on_path_in_every_direction<F>);
  } else {
    SKIP("only in optimised builds");
  }
}

// A case for each format, in every direction and policy.
#define ULPSCOPE_EVERY(format)                                                                                                \
  TEST_CASE("bulk operations take every float32 right to " #format ", in every direction and policy", "[bulk][exhaustive]") { \
    require_every_float_in_every_direction<emu::format>();                                                                    \
  }
ULPSCOPE_FORMATS_OF_FEW_BITS(ULPSCOPE_EVERY)

TEST_CASE("a spread of floats of all exponents and endings is encoded and rounded as each is", "[bulk]") {
  std::vector<float> inputs;
  constexpr std::uint32_t step = 16411;  // a prime: the patterns end in every combination of low bits
  for (std::uint64_t pattern = 1; pattern < all_patterns; pattern += step)
    inputs.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(pattern)));
  for (const emu::NamedFormat& named : emu::catalogue)
    for (const How& how : laws::every_plain_way())
      if (emu::fits_float(named.format)) {
        laws::with_word(named.format, 0, [&]<class Word>(Word) {
          laws::require_bulk_equals_scalar(named.format, how, laws::encoding<float, Word>(named.format, how), inputs);
        });
        laws::require_bulk_equals_scalar(named.format, how, laws::rounding<float>(named.format, how), inputs);
      }
}

}  // namespace

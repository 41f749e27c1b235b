// SPDX-License-Identifier: Apache-2.0
// encode and round_to of a span give every element the bits that the scalar functions give it: on every SIMD path, in every
// format, direction, policy and flush switch.
#include "emu/bulk.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <vector>

#include "tests/emu/bulk_inputs.hpp"
#include "tests/emu/bulk_laws.hpp"

using namespace ulpscope;
using laws::How;

namespace {

template <class Float>
void require_encoding(emu::Format format, const How& how, const std::vector<Float>& inputs, std::size_t k) {
  laws::with_word(format, k, [&]<class Word>(Word) {
    laws::require_bulk_equals_scalar(format, how, laws::encoding<Float, Word>(format, how), inputs);
  });
}

template <class Float>
void require_rounding(emu::Format format, const How& how, const std::vector<Float>& inputs, std::size_t) {
  if (sizeof(Float) == 8 || emu::fits_float(format))
    laws::require_bulk_equals_scalar(format, how, laws::rounding<Float>(format, how), inputs);
}

/// Each way on the next part of each format's values.
template <class Float, class Law>
void in_every_way(Law law) {
  const std::vector<How> ways = laws::every_way();
  for (const emu::Format format : laws::bulk_formats()) {
    const std::vector<Float> inputs = laws::bulk_inputs<Float>(format, format.bits() <= 8);
    for (std::size_t k = 0; k < ways.size(); ++k) law(format, ways[k], laws::part_of(inputs, 1501, k), k);
  }
}

/// Each plain way on all of each format's values; `all_codes`: of every code of 16 bits.
template <class Float, class Law>
void on_every_value(bool all_codes, Law law) {
  for (const emu::Format format : laws::bulk_formats()) {
    const std::vector<Float> inputs = laws::bulk_inputs<Float>(format, format.bits() <= (all_codes ? 16 : 8));
    std::size_t k = 0;
    for (const How& how : laws::every_plain_way()) law(format, how, inputs, k++);
  }
}

}  // namespace

TEST_CASE("encode of a span of floats is encode of each, in every way", "[bulk]") {
  in_every_way<float>(require_encoding<float>);
}
TEST_CASE("encode of a span of doubles is encode of each, in every way", "[bulk]") {
  in_every_way<double>(require_encoding<double>);
}
TEST_CASE("round_to of a span of floats is round_to of each, in every way", "[bulk]") {
  in_every_way<float>(require_rounding<float>);
}
TEST_CASE("round_to of a span of doubles is round_to of each, in every way", "[bulk]") {
  in_every_way<double>(require_rounding<double>);
}

TEST_CASE("spans of doubles that are floats are encoded and rounded as doubles are, in every way", "[bulk]") {
  const std::vector<How> ways = laws::every_way();
  for (const emu::Format format : laws::bulk_formats()) {
    const std::vector<float> floats = laws::bulk_inputs<float>(format, format.bits() <= 8);
    for (std::size_t k = 0; k < ways.size(); ++k) {
      const std::vector<float> part = laws::part_of(floats, 1501, k);
      std::vector<double> doubles(part.begin(), part.end());
      require_encoding(format, ways[k], doubles, k);
      doubles[doubles.size() - 1] += 0x1p-40;  // one that is none, in the last block
      require_rounding(format, ways[k], doubles, k);
    }
  }
}

TEST_CASE("encode of floats is right at every format's landmarks, in every direction", "[bulk]") {
  on_every_value<float>(false, require_encoding<float>);
}
TEST_CASE("encode of doubles is right at every format's landmarks, in every direction", "[bulk]") {
  on_every_value<double>(false, require_encoding<double>);
}
TEST_CASE("round_to of floats is right at every format's landmarks, in every direction", "[bulk]") {
  on_every_value<float>(false, require_rounding<float>);
}
TEST_CASE("round_to of doubles is right at every format's landmarks, in every direction", "[bulk]") {
  on_every_value<double>(false, require_rounding<double>);
}

TEST_CASE("encode and round_to of floats are right around all codes of 16 bits", "[bulk][exhaustive]") {
  on_every_value<float>(true, require_encoding<float>);
  on_every_value<float>(true, require_rounding<float>);
}
TEST_CASE("encode and round_to of doubles are right around all codes of 16 bits", "[bulk][exhaustive]") {
  on_every_value<double>(true, require_encoding<double>);
  on_every_value<double>(true, require_rounding<double>);
}

TEST_CASE("the words of stochastic rounding follow the seed and the index, also beyond 2^32 blocks", "[bulk]") {
  std::vector<float> inputs(1000, 1.0F + 0x1p-12F);  // a quarter of a spacing of float16 above 1: only the word decides
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{7}, std::uint64_t{0xfedcba9876543210}})
    for (std::uint64_t first = (std::uint64_t{1} << 34) - 40; first < (std::uint64_t{1} << 34) + 2; ++first) {
      const How how{{.rounding = emu::Rounding::stochastic}, {seed, first}};
      laws::require_bulk_equals_scalar(emu::fp16, how, laws::encoding<float, std::uint16_t>(emu::fp16, how), inputs);
      laws::require_bulk_equals_scalar(emu::fp16, how, laws::rounding<float>(emu::fp16, how), inputs);
    }
}

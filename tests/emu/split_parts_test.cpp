// SPDX-License-Identifier: Apache-2.0
// Parts, slices and residues are what their definitions say of the number that was split.
#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "emu/encode.hpp"
#include "emu/exact_sum.hpp"
#include "emu/split_matmul.hpp"
#include "tests/emu/split_inputs.hpp"
#include "tests/oracle/split_oracle.hpp"

namespace {
using namespace ulpscope;
using emu::SplitProduct;

std::uint64_t code_of(float x) { return std::bit_cast<std::uint32_t>(x); }

/// Numbers of all exponents and signs: whole fractions at random, and those around the ties of parts.
std::vector<float> floats_of_all_exponents() {
  test::SplitInputs inputs(1);
  std::vector<float> values{0.0F, -0.0F};
  for (std::uint32_t exponent = 0; exponent < 255; ++exponent)
    for (int i = 0; i < 400; ++i) {
      const auto kind = i % 2 == 0 ? test::Lines::ties : i % 4 == 1 ? test::Lines::full : test::Lines::normal;
      const std::uint32_t code = std::bit_cast<std::uint32_t>(inputs.single(kind)) & 0x807fffff;
      values.push_back(std::bit_cast<float>(code | exponent << 23));
    }
  return values;
}

bool same_codes(emu::Format part, const std::vector<std::vector<float>>& parts, std::size_t i,
                const std::vector<std::uint64_t>& expected) {
  for (std::size_t p = 0; p < expected.size(); ++p) {
    const emu::Code code = emu::encode(part, parts[p][i]);
    if (part.is_nan(code) ? !part.is_nan(expected[p]) : code != expected[p]) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("parts are those of the oracle, for all exponents") {
  const std::vector<float> values = floats_of_all_exponents();
  for (const char* const words : {"3xtf32", "tf32x3", "bf16x3", "bf16x6", "bf16x9", "tf32x1", "bf16x1", "f32x1"}) {
    const SplitProduct split = emu::parse_split(words);
    const oracle::Format part{8, split.part.fraction_bits, 127, oracle::ieee};
    const auto rule = split.part != emu::tf32  ? oracle::PartsRule::nearest
                      : split.name == "3xtf32" ? oracle::PartsRule::cutlass
                                               : oracle::PartsRule::triton;
    const auto parts = emu::split_into_parts(split, values);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      wrong += same_codes(split.part, parts, i, oracle::parts_of(part, split.count, rule, code_of(values[i]))) ? 0 : 1;
    CAPTURE(words);
    CHECK(wrong == 0);
  }
}

TEST_CASE("three parts of bfloat16 sum to a float exactly, unless the last is below their least number") {
  const std::vector<float> values = floats_of_all_exponents();
  const auto parts = emu::split_into_parts(emu::parse_split("bf16x9"), values);
  std::size_t inexact = 0, small = 0, overflowed = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isinf(parts[0][i])) {
      CHECK(std::fabs(values[i]) >= 0x1.ffp127F);
      ++overflowed;
      continue;
    }
    const double sum = static_cast<double>(parts[0][i]) + static_cast<double>(parts[1][i]) + static_cast<double>(parts[2][i]);
    if (sum == static_cast<double>(values[i])) continue;
    const double error = std::fabs(sum - static_cast<double>(values[i]));
    (std::fabs(values[i]) < 0x1p-109F && error <= 0x1p-134 ? small : inexact) += 1;
  }
  CHECK(inexact == 0);
  CHECK(small > 100);
  CHECK(overflowed > 0);
}

TEST_CASE("two parts leave as much as the bound says, and some leave nearly that") {
  const std::vector<float> values = floats_of_all_exponents();
  for (const auto& [words, rest, least] : {std::tuple{"3xtf32", 0x1p-22, 0x1p-137}, std::tuple{"tf32x3", 0x1p-23, 0x1p-136},
                                           std::tuple{"bf16x3", 0x1p-17, 0x1p-134}}) {
    const auto parts = emu::split_into_parts(emu::parse_split(words), values);
    double most = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::isinf(parts[0][i])) continue;
      const double x = static_cast<double>(values[i]);
      const double error = std::fabs(x - static_cast<double>(parts[0][i]) - static_cast<double>(parts[1][i]));
      if (error > least) most = std::max(most, error / std::fabs(x));
      if (!(error <= rest * std::fabs(x) + least)) {
        CAPTURE(words, x);
        CHECK(error <= rest * std::fabs(x) + least);
      }
    }
    CAPTURE(words, most);
    CHECK(most > 0.95 * rest);
  }
}

TEST_CASE("an infinity leaves NaN after its first part, and a float beyond bfloat16 an infinity of the other sign") {
  constexpr float infinite = std::numeric_limits<float>::infinity(), most = std::numeric_limits<float>::max();
  const std::vector<float> values{infinite, -infinite, most, 0x1.fefffep127F, std::numeric_limits<float>::quiet_NaN()};
  const auto bf = emu::split_into_parts(emu::parse_split("bf16x9"), values);
  CHECK(bf[0][0] == infinite);
  CHECK(bf[0][1] == -infinite);
  CHECK((std::isnan(bf[1][0]) && std::isnan(bf[2][1]) && std::isnan(bf[0][4])));
  CHECK((bf[0][2] == infinite && bf[1][2] == -infinite && std::isnan(bf[2][2])));
  CHECK(bf[0][3] == 0x1.fep127F);
  const auto tf = emu::split_into_parts(emu::parse_split("3xtf32"), values);
  CHECK((tf[0][0] == infinite && std::isnan(tf[1][0])));
  CHECK(tf[0][2] + tf[1][2] == infinite);  // the parts' sum rounds up to 2^128
  CHECK(tf[0][2] == 0x1.ffcp127F);
  const auto triton = emu::split_into_parts(emu::parse_split("tf32x3"), values);
  CHECK((triton[0][0] == infinite && std::isnan(triton[1][0]) && triton[0][2] == infinite));
}

TEST_CASE("slices are a number's bits, seven at a time, below those of the line's greatest") {
  test::SplitInputs inputs(2);
  for (const test::Lines kind : test::all_lines)
    for (const int count : {2, 5, 8, 18}) {
      const std::vector<double> line = inputs.line<double>(kind, 40);
      const emu::Slices slices = emu::split_into_slices(count, line);
      for (std::size_t k = 0; k < line.size(); ++k) {
        emu::ExactSum rest;
        rest.add(line[k]);
        for (std::size_t s = 0; s < slices.values.size(); ++s) {
          const double slice = std::ldexp(slices.values[s][k], slices.exponent + 2 - 7 * static_cast<int>(s + 1));
          rest.subtract(slice);
          CHECK(std::fabs(slice) <
                std::ldexp(1.0, s == 0 ? slices.exponent + 1 : slices.exponent + 9 - 7 * static_cast<int>(s + 1)));
        }
        const double left = rest.value();
        CHECK(std::fabs(left) < std::ldexp(1.0, slices.exponent + 2 - 7 * count));
        CHECK(left * line[k] >= 0);
      }
    }
}

TEST_CASE("residues are those of integers whose norm is within the range of the moduli") {
  test::SplitInputs inputs(3);
  for (const test::Lines kind : test::all_lines)
    for (const int moduli : {2, 8, 15, 20}) {
      const std::vector<double> line = inputs.line<double>(kind, 30);
      const emu::Residues residues = emu::split_into_residues(moduli, line);
      mpz_class product = 1, norm = 0;
      for (int m = 0; m < moduli; ++m) product *= emu::ozaki_moduli()[static_cast<std::size_t>(m)];
      for (std::size_t k = 0; k < line.size(); ++k) {
        mpq_class scaled(line[k]);
        const unsigned long shift = static_cast<unsigned long>(std::abs(residues.exponent));
        scaled = residues.exponent >= 0 ? mpq_class(scaled * mpq_class(mpz_class(1) << shift))
                                        : mpq_class(scaled / mpq_class(mpz_class(1) << shift));
        const mpz_class integer = scaled.get_num() / scaled.get_den();
        norm += integer * integer;
        for (std::size_t m = 0; m < residues.values.size(); ++m) {
          const int modulus = emu::ozaki_moduli()[m], rest = residues.values[m][k];
          CHECK(mpz_divisible_ui_p(mpz_class(integer - rest).get_mpz_t(), static_cast<unsigned long>(modulus)) != 0);
          CHECK((2 * rest <= modulus - 1 && 2 * rest >= -modulus));
        }
      }
      CHECK((cmp(2 * norm, product) < 0));
    }
}

TEST_CASE("words of split products come back, and bad ones are answered in one line") {
  for (const char* const words :
       {"3xtf32:engine=sm_90", "bf16x3:engine=sm_80", "bf16x6:engine=sm_90", "bf16x9:engine=amx_bf16,k=64",
        "3xtf32:engine=sm_80,k=32", "tf32x3:engine=sm_90,k=24,join=2.0.1", "tf32x1:engine=sm_90,k=5",
        "bf16x1:engine=sm_90,k=64,join=0", "f32x1:engine=fma,k=32,join=9.8.7.6.5.4.3.2.1.0", "ozaki1:slices=8",
        "ozaki2:moduli=15"})
    CHECK(emu::split_words(emu::parse_split(words)) == words);
  CHECK(emu::split_words(emu::parse_split("bf16x9")) == "bf16x9:engine=sm_90");
  CHECK(emu::split_words(emu::parse_split("f32x1")) == "f32x1:engine=fma");
  CHECK(emu::is_split("bf16x9:k=1"));
  CHECK_FALSE(emu::is_split("bf16x4"));
  CHECK_FALSE(emu::is_split("sm_90"));
  const auto answer = [](const char* words) {
    try {
      emu::parse_split(words);
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  CHECK(answer("bf16x4").starts_with("unknown split product 'bf16x4'; there are 3xtf32, tf32x3, bf16x3,"));
  CHECK(answer("bf16x9:") == "bf16x9: nothing follows the colon");
  CHECK(answer("bf16x9:k=64,") == "bf16x9: nothing follows the last comma");
  CHECK(answer("bf16x9:engine=sm_90,engine=sm_80") == "bf16x9: engine is given twice");
  CHECK(answer("bf16x9:k") == "bf16x9: 'k' is not key=value");
  CHECK(answer("bf16x9:slices=3") ==
        "bf16x9: unknown key 'slices'; it has engine, k and join, as in bf16x9:engine=sm_100,k=64");
  CHECK(answer("bf16x9:k=0") == "bf16x9: k=0: give an integer from 1 to 16777216");
  CHECK(answer("bf16x9:join=2.0.1") == "bf16x9: join: say k, the products of a block, as in bf16x3:k=32,join=2.0.1");
  for (const char* const join :
       {"", "1", "0.0", "0.2", "0.1.", "0.1.2.", ".0", "0..1", "01", "0,1", "0.1.10", "0.1x", "a", "-0"})
    CHECK(answer((std::string("bf16x9:k=16,join=") + join).c_str()).starts_with("bf16x9: "));
  CHECK(answer("bf16x9:k=16,join=1.2") ==
        "bf16x9: join=1.2: give the bits 0 to n - 1 of the blocks' numbers, each once, n up to 10, as in join=2.0.1");
  CHECK(answer("ozaki1:slices=8,join=0") == "ozaki1: unknown key 'join'; it has slices, as in ozaki1:slices=8");
  CHECK(answer("bf16x9:engine=sm_70").starts_with("engine sm_70 does not multiply bfloat16 by bfloat16 into float32"));
  CHECK(answer("bf16x9:engine=sm_91").starts_with("unknown engine 'sm_91'"));
  CHECK(answer("ozaki1") == "ozaki1: say slices, as in ozaki1:slices=8");
  CHECK(answer("ozaki1:slices=1") == "ozaki1: slices=1: give an integer from 2 to 18");
  CHECK(answer("ozaki1:slices=8x") == "ozaki1: slices=8x: give an integer from 2 to 18");
  CHECK(answer("ozaki2") == "ozaki2: say moduli, as in ozaki2:moduli=15");
  CHECK(answer("ozaki2:moduli=21") == "ozaki2: moduli=21: give an integer from 2 to 20");
  CHECK(answer("ozaki2:slices=3") == "ozaki2: unknown key 'slices'; it has moduli, as in ozaki2:moduli=15");
}

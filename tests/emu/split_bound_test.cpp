// SPDX-License-Identifier: Apache-2.0
// Errors of split products against their bounds, in fractions: none exceeds its bound, and operands that lose as much as can be
// come near it.
#include "emu/split_bound.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/emu/split_problems.hpp"

namespace {
using namespace ulpscope;
using emu::Chain;
using emu::SplitProduct;
using test::Lines;

/// A sum that no element of D of a correct product is further from than that.
struct Judged {
  double share = 0;  ///< of the bound
  bool holds = true;
};

template <class Number>
double largest(const std::vector<Number>& line) {
  double most = 0;
  for (const Number x : line) most = std::max(most, std::fabs(static_cast<double>(x)));
  return most;
}

template <class Number>
Judged judged(const SplitProduct& split, const std::vector<Number>& a, const std::vector<Number>& b) {
  const std::vector<double> x(a.begin(), a.end()), y(b.begin(), b.end());
  const Chain chain{.largest_a = largest(a), .largest_b = largest(b)};
  const auto bound = emu::split_bound(split, a.size(), chain);
  REQUIRE(bound.has_value());
  const auto computed = static_cast<double>(test::split_element(split, a, b));
  const mpq_class error = abs(mpq_class(computed) - oracle::exact_inner_product(x, y));
  const mpq_class allowed = mpq_class(bound->relative) * oracle::exact_magnitude(x, y) + mpq_class(bound->absolute);
  return {sgn(allowed) > 0 ? mpq_class(error / allowed).get_d() : 0, cmp(error, allowed) <= 0};
}

}  // namespace

TEST_CASE("no error of a split product of floats exceeds its bound") {
  for (const char* const words : {"3xtf32",
                                  "bf16x3",
                                  "bf16x6",
                                  "bf16x9",
                                  "3xtf32:engine=sm_80",
                                  "3xtf32:engine=fma",
                                  "bf16x9:k=32",
                                  "3xtf32:k=16",
                                  "bf16x9:engine=cdna3",
                                  "bf16x6:engine=amx_bf16",
                                  "bf16x9:engine=exact",
                                  "tf32x3",
                                  "tf32x3:engine=fma",
                                  "tf32x3:k=12",
                                  "bf16x6:k=8",
                                  "tf32x1",
                                  "bf16x1",
                                  "f32x1",
                                  "f32x1:k=10,join=5.4.3.2.1.0",
                                  "bf16x6:k=10,join=4.5.1.0.3.2",
                                  "tf32x1:k=20,join=3.4.0.2.1",
                                  "tf32x3:engine=exact,k=10,join=0.1.2.3.4.5"}) {
    const SplitProduct split = emu::parse_split(words);
    test::SplitInputs inputs(20);
    double closest = 0;
    for (int i = 0; i < 40; ++i)
      for (const Lines kind : test::all_lines) {
        const auto length = static_cast<std::size_t>(inputs.random().between(1, i % 10 == 0 ? 600 : 40));
        const auto [a, b] = inputs.lines<float>(kind, length);
        const Judged result = judged(split, a, b);
        closest = std::max(closest, result.share);
        if (!result.holds) {
          CAPTURE(words, static_cast<int>(kind), length, result.share);
          CHECK(result.holds);
        }
      }
    CAPTURE(words, closest);
    CHECK(closest > 0.02);
  }
}

TEST_CASE("no error of a product of slices or residues exceeds its bound") {
  for (const char* const words : {"ozaki1:slices=2", "ozaki1:slices=4", "ozaki1:slices=7", "ozaki1:slices=9", "ozaki2:moduli=3",
                                  "ozaki2:moduli=8", "ozaki2:moduli=14", "ozaki2:moduli=18"}) {
    const SplitProduct split = emu::parse_split(words);
    test::SplitInputs inputs(21);
    for (int i = 0; i < 12; ++i)
      for (const Lines kind : test::all_lines) {
        const auto length = static_cast<std::size_t>(inputs.random().between(1, 60));
        const auto [a, b] = inputs.lines<double>(kind, length);
        const Judged result = judged(split, a, b);
        if (!result.holds) {
          CAPTURE(words, static_cast<int>(kind), length, result.share);
          CHECK(result.holds);
        }
      }
  }
}

TEST_CASE("operands that lose as much as can be come near the bounds of split products") {
  struct Case {
    const char* words;
    float a, b;
    double least;
  };
  // Parts that leave nearly all that they can, of exact sums: what is not formed is all that is lost.
  // A second part of nearly 2^-8 that leaves nearly 2^-17, and one of nearly 2^-10 that leaves 2^-23.
  const float brain = 0x1.00ff7ep0F, tensor = 0x1.003ffap0F, away = 0x1.001ffep0F;
  for (const Case& x : {Case{"bf16x3:engine=exact", brain, brain, 0.97}, Case{"bf16x6:engine=exact", brain, brain, 0.3},
                        Case{"3xtf32:engine=exact", tensor, tensor, 0.7}, Case{"tf32x3:engine=exact", away, away, 0.5},
                        Case{"tf32x1:engine=exact", away, away, 0.97}}) {
    const Judged result = judged(emu::parse_split(x.words), std::vector<float>{x.a}, std::vector<float>{x.b});
    CAPTURE(x.words, result.share);
    CHECK(result.holds);
    CHECK(result.share > x.least);
  }
  // All bits of all slices, in float64.
  const std::vector<double> ones(50, 2 - 0x1p-52);
  for (const auto& [words, least] :
       {std::pair{"ozaki1:slices=2", 0.7}, std::pair{"ozaki1:slices=4", 0.7}, std::pair{"ozaki1:slices=6", 0.7}}) {
    const Judged result = judged(emu::parse_split(words), ones, ones);
    CAPTURE(words, result.share);
    CHECK(result.share > least);
  }
}

TEST_CASE("bounds of split products are those of the derivation") {
  const auto bound = [](const char* words, std::size_t k, const Chain& chain = {.largest_a = 1, .largest_b = 1}) {
    return emu::split_bound(emu::parse_split(words), k, chain).value();
  };
  const double exact = 0x1p-24 / (1 - 0x1p-24);  // one rounding
  const double first = 1 + 0x1p-8;
  // Left out: 1x1, and what two parts leave of both.
  CHECK(bound("bf16x3:engine=exact", 1).relative > 0x1p-16 + 0x1p-16);
  CHECK(bound("bf16x3:engine=exact", 1).relative < 0x1p-16 + 0x1p-16 + 0x1p-22 + 3 * exact);
  CHECK(bound("bf16x6:engine=exact", 1).relative < 2 * 0x1p-25 + 0x1p-34 + exact * (first * first + 1));
  CHECK(bound("bf16x9:engine=exact", 1).relative < exact * (first * first + 1));
  CHECK(bound("3xtf32:engine=exact", 1).relative > 0x1p-20 + 0x1p-21);
  CHECK(bound("3xtf32:engine=exact", 1).relative < 0x1p-20 + 0x1p-21 + 4 * exact);
  CHECK(bound("ozaki1:slices=8", 100, {.largest_a = 3, .largest_b = 5}).absolute >= 100 * 8 * 0x1p-52 * 2 * 4);
  CHECK(bound("ozaki1:slices=8", 100, {.largest_a = 3, .largest_b = 5}).absolute < 100 * 8 * 0x1p-52 * 2 * 4 * (1 + 0x1p-30));
  CHECK(bound("ozaki2:moduli=15", 100).absolute < bound("ozaki2:moduli=14", 100).absolute / 13);
  CHECK(bound("bf16x9", 64, {.has_c = true, .largest_a = 1, .largest_b = 1}).relative > bound("bf16x9", 64).relative);
  CHECK(bound("bf16x9", 0).relative == 0);
  CHECK(std::isinf(bound("ozaki1:slices=8", 4, {}).absolute));
  // Two operands rounded to tf32; and to float32, which is what they are.
  CHECK(bound("tf32x1:engine=exact", 1).relative >= 2 * 0x1p-11);
  CHECK(bound("tf32x1:engine=exact", 1).relative < 2 * 0x1p-11 + 0x1p-22 + 2 * exact);
  CHECK(bound("f32x1:engine=exact", 1).relative >= 0x1p-24);
  CHECK(bound("f32x1:engine=exact", 1).relative < 0x1p-24 * (1 + 0x1p-20));
  CHECK(bound("tf32x3:engine=exact", 1).relative > 0x1p-21);
  CHECK(bound("tf32x3:engine=exact", 1).relative < 0x1p-21 + 4 * exact);
  // 64 blocks of 16: 64 numbers go through 63 additions in turn, and through 6 in a tree.
  const double in_turn = bound("f32x1:k=16", 1024).relative, in_tree = bound("f32x1:k=16,join=4.5.1.0.3.2", 1024).relative;
  CHECK(in_turn - in_tree > 56.9 * 0x1p-24);
  CHECK(in_turn - in_tree < 57.1 * 0x1p-24);
  CHECK(bound("f32x1:k=16,join=0.1.2", 16).relative == bound("f32x1", 16).relative);
}

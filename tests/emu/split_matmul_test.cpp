// SPDX-License-Identifier: Apache-2.0
// Split products against a second implementation in exact arithmetic, which must also find those with one thing changed.
#include "emu/split_matmul.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "emu/simd.hpp"
#include "tests/emu/split_problems.hpp"

namespace {
using namespace ulpscope;
using emu::EngineMatmul;
using emu::SplitProduct;
using test::first_difference;
using test::split_element;

constexpr int products = 700;  // a hundred of each kind

template <class Change>
bool is_found(const std::string& words, Change&& change, int count = products) {
  const SplitProduct right = emu::parse_split(words);
  SplitProduct wrong = right;
  change(wrong);
  return wrong != right && first_difference(right, wrong, count, 5) != std::nullopt;
}

float infinite() { return std::numeric_limits<float>::infinity(); }
}  // namespace

TEST_CASE("split products of floats are the oracle's in every bit") {
  for (const char* const words : {"3xtf32", "bf16x3", "bf16x6", "bf16x9", "3xtf32:engine=sm_80", "bf16x9:engine=sm_80",
                                  "3xtf32:k=16", "bf16x9:engine=exact", "bf16x3:k=16", "bf16x6:k=32", "bf16x9:k=48", "tf32x3",
                                  "tf32x3:engine=sm_80", "tf32x3:k=16", "tf32x1", "bf16x1:engine=sm_80", "f32x1",
                                  // Blocks that end inside of a step of the engine.
                                  "bf16x6:k=8", "bf16x9:k=5", "3xtf32:k=12", "3xtf32:engine=sm_80,k=4", "tf32x3:k=13",
                                  // Sums that meet in a tree, of blocks of which some do not exist.
                                  "bf16x3:k=16,join=2.0.1", "tf32x3:k=8,join=3.0.2.1", "tf32x1:k=9,join=0.1.2",
                                  "bf16x1:k=2,join=4.5.1.0.3.2", "f32x1:k=5,join=1.3.0.2", "3xtf32:k=70,join=0"}) {
    const SplitProduct split = emu::parse_split(words);
    const auto difference = first_difference(split, split, products, 1);
    INFO(difference.value_or(""));
    CHECK(difference == std::nullopt);
  }
}

TEST_CASE("products of slices and of residues are the oracle's in every bit") {
  for (const char* const words :
       {"ozaki1:slices=2", "ozaki1:slices=3", "ozaki1:slices=7", "ozaki1:slices=8", "ozaki1:slices=18", "ozaki2:moduli=2",
        "ozaki2:moduli=5", "ozaki2:moduli=14", "ozaki2:moduli=15", "ozaki2:moduli=20"}) {
    const SplitProduct split = emu::parse_split(words);
    const auto difference = first_difference(split, split, products / 5, 2);
    INFO(difference.value_or(""));
    CHECK(difference == std::nullopt);
  }
}

TEST_CASE("a split product with one thing changed is found") {
  using emu::PartPair;
  using emu::Rounding;
  // What the order of the smaller products changes is below the last bit of most sums.
  constexpr int many = 20 * products;
  for (const std::string words : {"3xtf32", "tf32x3", "bf16x3", "bf16x6", "bf16x9"}) {
    CAPTURE(words);
    const int pairs = emu::parse_split(words).pair_count;
    // Exact sums, rounded once: sm_90 cuts 25 bits below the greatest product, and never sees the ninth one of bf16x9.
    for (int dropped = 0; dropped < pairs; ++dropped) {
      CAPTURE(dropped);
      CHECK(is_found(words + ":engine=exact", [&](SplitProduct& s) {
        const auto at = s.pairs.begin() + dropped;
        std::copy(at + 1, s.pairs.begin() + s.pair_count, at);
        s.pair_count = pairs - 1;
        s.pairs[static_cast<std::size_t>(pairs - 1)] = {};
      }));
    }
    CHECK(is_found(words, [](SplitProduct& s) { std::swap(s.pairs[0], s.pairs[static_cast<std::size_t>(s.pair_count) - 1]); }));
    CHECK(is_found(words, [](SplitProduct& s) { s.roundings[0] = Rounding::upward; }));
    CHECK(is_found(
        words, [](SplitProduct& s) { s.takes_turns = !s.takes_turns; }, many));
    CHECK(is_found(words, [](SplitProduct& s) { s.block = 32; }));
    CHECK(is_found(words, [](SplitProduct& s) { s.model.stages[0].fraction_bits -= 1; }));
  }
  CHECK(is_found("3xtf32", [](SplitProduct& s) { s.roundings[0] = Rounding::nearest_even; }));
  CHECK(is_found("3xtf32", [](SplitProduct& s) { s.roundings[1] = Rounding::nearest_even; }));
  CHECK(is_found("3xtf32", [](SplitProduct& s) { s.roundings[1] = Rounding::toward_zero; }));
  CHECK(is_found("tf32x3", [](SplitProduct& s) { s.roundings[0] = Rounding::nearest_even; }));
  CHECK(is_found("tf32x3", [](SplitProduct& s) { s.roundings[1] = Rounding::nearest_even; }));
  CHECK(is_found("tf32x1", [](SplitProduct& s) { s.roundings[0] = Rounding::nearest_even; }));
  CHECK(is_found("tf32x1", [](SplitProduct& s) { s.roundings[0] = Rounding::toward_zero; }));
  CHECK(is_found("bf16x1", [](SplitProduct& s) { s.roundings[0] = Rounding::nearest_away; }));
  CHECK(is_found("bf16x3", [](SplitProduct& s) { s.roundings[1] = Rounding::toward_zero; }));
  CHECK(is_found("bf16x9", [](SplitProduct& s) { s.roundings[0] = Rounding::nearest_away; }));
  CHECK(is_found(
      "bf16x9", [](SplitProduct& s) { std::swap(s.pairs[6], s.pairs[7]); }, many));
  for (const std::string words : {"bf16x3:k=10,join=2.0.1", "f32x1:k=10,join=2.0.1"}) {
    CHECK(is_found(words, [](SplitProduct& s) { s.join = {0, 1, 2}; }));
    CHECK(is_found(words, [](SplitProduct& s) { s.join = {2, 1, 0}; }));
    CHECK(is_found(words, [](SplitProduct& s) { s.join = {}; }));
    CHECK(is_found(words, [](SplitProduct& s) { s.join = {2, 0, 1, 3}, s.block = 5; }));
  }
  CHECK(is_found("ozaki1:slices=4", [](SplitProduct& s) { s.count = 5; }));
  CHECK(is_found("ozaki1:slices=4", [](SplitProduct& s) { s.count = 3; }));
  CHECK(is_found("ozaki2:moduli=8", [](SplitProduct& s) { s.count = 9; }));
  CHECK(is_found("ozaki2:moduli=8", [](SplitProduct& s) { s.count = 7; }));
}

TEST_CASE("an infinity stays one with parts of bfloat16 and Triton's of tf32, and makes NaN with CUTLASS's and with integers") {
  const std::vector<float> special{1, infinite(), 0.3F}, plain{2, 3, 5}, cancelling{2, 0, 5};
  for (const char* const words : {"bf16x3", "bf16x6", "bf16x9", "tf32x3", "tf32x1", "bf16x1", "f32x1"}) {
    CAPTURE(words);
    CHECK(split_element(emu::parse_split(words), special, plain) == infinite());
    CHECK(std::isnan(split_element(emu::parse_split(words), special, cancelling)));  // infinity times 0
  }
  CHECK(std::isnan(split_element(emu::parse_split("3xtf32"), special, plain)));
  CHECK(std::isnan(split_element(emu::parse_split("ozaki1:slices=8"), special, plain)));
  CHECK(std::isnan(split_element(emu::parse_split("ozaki2:moduli=15"), special, plain)));
  // A float beyond the greatest bfloat16 is infinite as one.
  const std::vector<float> great{std::numeric_limits<float>::max()}, half{0.5F};
  CHECK(split_element(emu::parse_split("bf16x9"), great, half) == infinite());
  CHECK(split_element(emu::parse_split("3xtf32"), great, half) == 0x1p127F);  // the small part is rounded up
  CHECK(split_element(emu::parse_split("ozaki1:slices=8"), great, half) == std::numeric_limits<float>::max() / 2);
  // NaNs of the sum of smaller products that come from finite numbers become 0 as well.
  SplitProduct kept = emu::parse_split("bf16x9");
  kept.zeroes_nans = false;
  CHECK(std::isnan(split_element(kept, special, plain)));
}

TEST_CASE("K of no products, C, alpha and beta are those of other products") {
  const std::vector<float> a{1, 2, 3, 4}, b{1, 0.5F, 2, -1}, c{10, 20, 30, 40};
  for (const char* const words :
       {"3xtf32", "bf16x9", "tf32x3:k=1,join=0", "bf16x1", "f32x1:k=1,join=1.0", "ozaki1:slices=8", "ozaki2:moduli=15"}) {
    const SplitProduct split = emu::parse_split(words);
    EngineMatmul<float> problem{};
    problem.a = {emu::float32, a, {2, 2}};
    problem.b = {emu::float32, b, {2, 2}};
    std::vector<float> d(4);
    CAPTURE(words);
    emu::split_matmul(split, problem, std::span(d));
    CHECK(d == std::vector<float>{5, -1.5F, 11, -2.5F});
    problem.b.transposed = true;
    emu::split_matmul(split, problem, std::span(d));
    CHECK(d == std::vector<float>{2, 0, 5, 2});
    problem.c = c;
    problem.alpha = 2;
    emu::split_matmul(split, problem, std::span(d));
    CHECK(d == std::vector<float>{24, 40, 70, 84});
    problem.beta = 0.5F;
    emu::split_matmul(split, problem, std::span(d));
    CHECK(d == std::vector<float>{9, 10, 25, 24});
    problem.a.shape = {2, 0};
    problem.b.shape = {2, 0};
    emu::split_matmul(split, problem, std::span(d));
    CHECK(d == std::vector<float>{5, 10, 15, 20});
    problem.out = emu::float4_e2m1fn;
    emu::split_matmul(split, problem, std::span(d));
    CHECK(d == std::vector<float>{4, 6, 6, 6});
  }
}

TEST_CASE("whole products do not depend on threads, SIMD paths or how they are stored") {
  test::SplitInputs inputs(9);
  const std::size_t m = 7, n = 33, k = 90;
  const auto a = inputs.line<float>(test::Lines::normal, m * k), b = inputs.line<float>(test::Lines::normal, k * n);
  for (const char* const words : {"3xtf32", "bf16x6", "bf16x9:k=32", "ozaki1:slices=4", "ozaki2:moduli=8"}) {
    const SplitProduct split = emu::parse_split(words);
    EngineMatmul<float> problem{};
    problem.a = {emu::float32, a, {m, k}};
    problem.b = {emu::float32, b, {k, n}};
    std::vector<float> first(m * n), d(m * n);
    problem.threads = 1;
    emu::split_matmul(split, problem, std::span(first));
    for (const emu::SimdPath path : emu::simd_paths()) {
      emu::use_simd_path(path);
      problem.threads = 3;
      emu::split_matmul(split, problem, std::span(d));
      CAPTURE(words);
      CHECK(d == first);
    }
    emu::use_simd_path(emu::simd_paths().front());
    for (std::size_t i = 0; i < m; i += 3)
      for (std::size_t j = 0; j < n; j += 16) {
        std::vector<float> row(a.begin() + static_cast<std::ptrdiff_t>(i * k),
                               a.begin() + static_cast<std::ptrdiff_t>((i + 1) * k)),
            column;
        for (std::size_t x = 0; x < k; ++x) column.push_back(b[x * n + j]);
        CHECK(split_element(split, row, column) == first[i * n + j]);
      }
  }
}

TEST_CASE("what a split product does not take is refused in one line") {
  const std::vector<float> a{1, 2}, long_line(emu::most_integer_products + 1);
  const std::vector<double> wide{1, 2};
  std::vector<float> d(1);
  std::vector<double> wide_d(1);
  EngineMatmul<float> problem{};
  problem.a = {emu::float32, a, {1, 2}};
  problem.b = {emu::float32, a, {2, 1}};
  const auto answer = [&](const char* words) {
    try {
      emu::split_matmul(emu::parse_split(words), problem, std::span(d));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  CHECK(answer("bf16x9") == "none");
  problem.promote = 2;
  CHECK(answer("bf16x9") == "bf16x9: takes no scales, promotion or split K; its own key k cuts K, as in bf16x9:k=64");
  problem.promote = 0;
  problem.split_k = 2;
  CHECK(answer("ozaki1:slices=8") == "ozaki1: takes no scales, promotion or split K");
  problem.split_k = 1;
  problem.b.shape = {1, 2};
  CHECK(answer("3xtf32") == "A has 2 columns, B has 1 rows: they must be as many");
  problem.a = {emu::float32, long_line, {1, long_line.size()}};
  problem.b = {emu::float32, long_line, {long_line.size(), 1}};
  CHECK(answer("ozaki2:moduli=8") == "ozaki2: K is 131073; sums in int32 have room for 131072 products");
  EngineMatmul<double> doubles{};
  doubles.a = {emu::float64, wide, {1, 2}};
  doubles.b = {emu::float64, wide, {2, 1}};
  CHECK_THROWS_AS(emu::split_matmul(emu::parse_split("bf16x9"), doubles, std::span(wide_d)), Error);
}

TEST_CASE("sums of 2^17 products of the greatest remainders are right modulo 256 although int32 wraps") {
  const std::size_t k = emu::most_integer_products;
  const std::vector<double> a(k, -1.0), b(k, -1.0);
  CHECK(split_element(emu::parse_split("ozaki2:moduli=8"), a, b) == static_cast<double>(k));
  CHECK(split_element(emu::parse_split("ozaki1:slices=2"), a, b) == static_cast<double>(k));
}

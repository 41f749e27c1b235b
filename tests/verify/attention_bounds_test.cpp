// SPDX-License-Identifier: Apache-2.0
// Bounds of served attention at their edges: kernels that are exact but for one kind of rounding, which has its worst case.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "emu/names.hpp"
#include "tests/verify/attention_served.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::operations;

std::vector<verify::Expected> all_of(const verify::Expectation& expectation, std::size_t count) {
  std::vector<verify::Expected> out(count);
  expectation.expect(0, out);
  return out;
}

/// One query, keys of one element each.
verify::Attention one_query(const std::vector<float>& keys, const std::vector<float>& values_of_keys) {
  return {.q = values({1, 1}, {1}),
          .k = values({keys.size(), 1}, keys),
          .v = values({keys.size(), 1}, values_of_keys),
          .scale = 1,
          .last = {emu::float32}};
}

}  // namespace

TEST_CASE("served attention: each factor pays for a rounding of what it multiplies", "[verify][attention]") {
  const std::vector<float> keys{3, -5, 7, 6.5F}, v{1, -2, 0.5F, 3};
  const verify::Attention plain = one_query(keys, v);
  const auto before = all_of(*verify::expect_attention(plain), 1)[0];
  // d out / d s_j = p_j (v_j - out): what a rounding of each score changes, in the direction that harms.
  double sum = 0, out = 0, of_scores = 0;
  for (const float k : keys) sum += std::exp(static_cast<double>(k));
  for (std::size_t j = 0; j < keys.size(); ++j) out += std::exp(static_cast<double>(keys[j])) / sum * static_cast<double>(v[j]);
  for (std::size_t j = 0; j < keys.size(); ++j) {
    const double s = static_cast<double>(keys[j]);
    of_scores += std::exp(s) / sum * std::fabs(static_cast<double>(v[j]) - out) * std::fabs(s) * 0x1p-24;
  }
  verify::Attention q = plain, both = plain, of_v = plain;
  q.q.elements = both.q.elements = {0.5F};
  q.descales.q = both.descales.q = values({}, {2});
  for (float& k : both.k.elements) k /= 4;
  both.descales.k = values({1}, {4});
  for (float& x : of_v.v.elements) x /= 8;
  of_v.descales.v = values({1}, {8});
  const auto with = [&](const verify::Attention& op) {
    const auto element = all_of(*verify::expect_attention(op), 1)[0];
    CHECK(std::fabs(element.value - before.value) <= before.radius + element.radius);
    return element.allowed - before.allowed;
  };
  CHECK(with(q) >= of_scores);
  CHECK(with(both) >= 2 * of_scores);
  CHECK(with(of_v) >= std::fabs(out) * 0x1p-24);
}

TEST_CASE("served attention: elements that underflow when they are multiplied are allowed for", "[verify][attention]") {
  // 1.5 * 2^-24 becomes 2^-23 in float16: the scores are a third larger.
  constexpr std::size_t depth = 16;
  const float factor = 0x1.8p-24F;
  std::vector<float> k(2 * depth, 1);
  std::fill(k.begin() + depth, k.end(), -1.0F);
  const auto op = [&](bool of_queries) {
    verify::Attention made{.q = values({1, depth}, std::vector<float>(depth, 1)),
                           .k = values({2, depth}, k),
                           .v = values({2, 1}, {1, -1}),
                           .scale = 1,
                           .arithmetic = {.format = emu::float16, .function_ulp = 0},
                           .last = {emu::float32}};
    made.descales.q = values({}, {of_queries ? factor : 0x1p15F});
    made.descales.k = values({}, {of_queries ? 0x1p15F : factor});
    return made;
  };
  const float kernel = std::tanh(depth * 0x1p-23F * 0x1p15F);
  for (const bool of_queries : {true, false})
    CHECK(judge_all(*verify::expect_attention(op(of_queries)), {kernel}, {emu::float32}).within == 1);
}

TEST_CASE("served attention: sums that cut move the log-sum-exp as far as its bound says they may", "[verify][attention]") {
  constexpr std::size_t depth = 128;
  const emu::Format acc = emu::float16;
  const float term = as(acc, 16.9F * 0x1p-9F);
  float sum = 0;
  for (std::size_t i = 0; i < depth; ++i)
    sum = static_cast<float>(
        emu::round_to(acc, static_cast<double>(sum) + static_cast<double>(term), {.rounding = emu::Rounding::toward_zero})
            .value);
  const verify::Attention op{.q = values({1, depth}, std::vector<float>(depth, 1)),
                             .k = values({1, depth}, std::vector<float>(depth, term)),
                             .v = values({1, 1}, {1}),
                             .scale = 1,
                             .arithmetic = {.format = acc, .sums = emu::Rounding::toward_zero},
                             .last = {emu::float32}};
  const auto both = verify::expect_attention_and_lse(op, {emu::float32});
  CHECK(static_cast<double>(term) * depth - static_cast<double>(sum) > 0.1);
  CHECK(judge_all(*both.lse, {sum}, {emu::float32}).within == 1);
  CHECK(judge_all(*both.lse, {-sum}, {emu::float32}).beyond == 1);
}

TEST_CASE("served attention: a maximum that is 2^8 too small leaves the logarithm its error", "[verify][attention]") {
  // ln(e^5.5) with an error of 2 ulp, and -5.5: of a score of 0.
  const auto both = verify::expect_attention_and_lse(one_query({0}, {1}), {emu::float32});
  CHECK(judge_all(*both.lse, {5.5F * 4 * 0x1p-24F}, {emu::float32}).within == 1);
  CHECK(judge_all(*both.lse, {0x1p-17F}, {emu::float32}).beyond == 1);
}

TEST_CASE("served attention: a cap's quotient, tanh and product pay for their errors", "[verify][attention]") {
  // Of scores 3 and -3 and a cap of 2, y = 2 tanh(1.5): each of the kernel's is off by the sum of a quotient's and a tanh's two
  // ulp.
  const double y = 2 * std::tanh(1.5), wrong = y * (1 + 8 * 0x1p-24);
  verify::Attention plain = one_query({static_cast<float>(y), static_cast<float>(-y)}, {1, -1}),
                    op = one_query({3, -3}, {1, -1});
  op.softcap = 2;
  const auto before = all_of(*verify::expect_attention(plain), 1)[0], after = all_of(*verify::expect_attention(op), 1)[0];
  CHECK(after.allowed - before.allowed > std::tanh(wrong) - std::tanh(y));
  // Near 0 nothing is capped: an error of the score is one of the output.
  constexpr std::size_t depth = 64;
  verify::Attention small{.q = values({1, depth}, std::vector<float>(depth, 1)),
                          .k = values({2, depth}, std::vector<float>(2 * depth, 0.01F)),
                          .v = values({2, 1}, {1, -1}),
                          .scale = 1,
                          .last = {emu::float32}};
  std::fill(small.k.elements.begin() + depth, small.k.elements.end(), -0.01F);
  const auto uncapped = all_of(*verify::expect_attention(small), 1)[0];
  small.softcap = 50;
  CHECK(all_of(*verify::expect_attention(small), 1)[0].allowed > 0.9 * uncapped.allowed);
}

TEST_CASE("served attention: masks of the least finite number hide keys, and hide nothing from the verdict",
          "[verify][attention]") {
  std::mt19937_64 random(3);
  Served in{.batch = 2, .heads = 2, .kv_heads = 1, .queries = 6, .keys = 10};
  draw(in, random, 1, emu::bfloat16);
  in.mask.assign(in.rows() * in.keys, 0);
  for (std::size_t i = 0; i < in.mask.size(); ++i)
    if (i % in.keys != 0 && random() % 2 == 0) in.mask[i] = std::numeric_limits<float>::lowest();
  const auto both = verify::expect_attention_and_lse(declared(in), {emu::float32});
  const ServedOutput right = served<float>(in);
  Served unmasked = in;
  unmasked.mask.clear();
  const ServedOutput wrong = served<float>(unmasked);
  CHECK(judge_all(*both.output, right.out, {emu::float32}).wrong() == 0);
  CHECK(judge_all(*both.lse, right.lse, {emu::float32}).wrong() == 0);
  CHECK(judge_all(*both.output, wrong.out, {emu::float32}).beyond > wrong.out.size() * 9 / 10);
  CHECK(judge_all(*both.lse, wrong.lse, {emu::float32}).beyond > wrong.lse.size() * 9 / 10);
}

TEST_CASE("served attention: whatever a mask leaves of the weights, a result is between the values that are seen",
          "[verify][attention]") {
  const float lowest = std::numeric_limits<float>::lowest();
  for (const float hiding : {-1e4F, -65504.0F, -1e9F, -3e38F, lowest})
    for (const emu::Format out : {emu::float32, emu::bfloat16})
      for (const std::size_t keys : {10U, 40U}) {
        CAPTURE(hiding, emu::format_name(out), keys);
        std::mt19937_64 random(4);
        Served in{.batch = 1, .heads = 2, .kv_heads = 1, .queries = 4, .keys = keys};
        draw(in, random, 1, emu::bfloat16);
        in.mask.assign(in.rows() * keys, 0);
        std::fill_n(in.mask.begin(), keys, hiding);
        for (std::size_t c = 0; c < in.width; ++c) in.v[(keys - 1) * in.width + c] = 1e5F;  // of a key that none sees
        for (std::size_t row = 0; row < in.rows(); ++row) in.mask[row * keys + keys - 1] = -infinite;
        const auto expectation = verify::expect_attention(declared(in, out));
        const std::vector<float> right = served<float>(in, {}, out).out;
        CHECK(judge_all(*expectation, right, {out}).wrong() == 0);
        for (const float x : {777.0F, -1e30F, infinite, -infinite, no_number}) {
          CAPTURE(x);
          std::vector<float> d = right;
          std::fill_n(d.begin(), in.width, as(out, x));
          CHECK(judge_all(*expectation, d, {out}).wrong() == in.width);
        }
        in.sinks = {hiding, 0};  // takes all the weight, or a part
        CHECK(judge_all(*verify::expect_attention(declared(in, out)), served<float>(in, {}, out).out, {out}).wrong() == 0);
      }
}

TEST_CASE("served attention: parts that are put together by log-sum-exps which hold no logarithm add up",
          "[verify][attention]") {
  // Three parts of 16 keys, all hidden by -1e9: the log-sum-exp of each, and that of all, is -1e9.
  verify::Attention op = one_query(std::vector<float>(48, 0), std::vector<float>(48, 2));
  op.mask = values({1, 48}, std::vector<float>(48, -1e9F));
  CHECK(judge_all(*verify::expect_attention(op), {6}, {emu::float32}).wrong() == 0);
  op.block = 48;
  CHECK(judge_all(*verify::expect_attention(op), {6}, {emu::float32}).wrong() == 1);
  CHECK(judge_all(*verify::expect_attention(op), {2}, {emu::float32}).wrong() == 0);
  // Sixteen keys that are seen lie in two parts of 16; every other of 32 keys as well.
  for (const bool alternates : {false, true}) {
    op = one_query(std::vector<float>(32, 0), std::vector<float>(32, 2));
    std::vector<float> mask(32, -1e9F);
    for (std::size_t key = 0; key < mask.size(); ++key)
      if (alternates ? key % 2 == 0 : key < 8 || key >= 24) mask[key] = -infinite;
    op.mask = values({1, 32}, mask);
    op.block = 16;
    CHECK(judge_all(*verify::expect_attention(op), {4}, {emu::float32}).wrong() == 0);
    op.block = 32;
    CHECK(judge_all(*verify::expect_attention(op), {4}, {emu::float32}).wrong() == 1);
  }
}

TEST_CASE("served attention: a row whose scores may all be -inf is NaN or 0 where that is declared", "[verify][attention]") {
  verify::Attention op = one_query({1, 2, -3}, {5, 6, 7});
  op.mask = values({1, 3}, std::vector<float>(3, std::numeric_limits<float>::lowest()));
  const auto right = [&](verify::FullyMasked declared, float x) {
    op.fully_masked = declared;
    return judge_all(*verify::expect_attention(op), {x}, {emu::float32}).wrong() == 0;
  };
  for (const auto declared : {verify::FullyMasked::undeclared, verify::FullyMasked::nan, verify::FullyMasked::zero}) {
    CHECK(right(declared, 6));
    CHECK(right(declared, no_number) == (declared == verify::FullyMasked::nan));
    CHECK(right(declared, 0) == (declared == verify::FullyMasked::zero));
    CHECK_FALSE(right(declared, infinite));
    CHECK_FALSE(right(declared, -infinite));
  }
  const auto lse_is_right = [&](verify::FullyMasked declared, float x) {
    op.fully_masked = declared;
    return judge_all(*verify::expect_attention_and_lse(op, {emu::float32}).lse, {x}, {emu::float32}).wrong() == 0;
  };
  CHECK(lse_is_right(verify::FullyMasked::nan, no_number));
  CHECK_FALSE(lse_is_right(verify::FullyMasked::zero, no_number));
  op.fully_masked = verify::FullyMasked::undeclared;
  const std::array<std::uint64_t, 1> only{0};
  for (const auto& [y, words] :
       {std::pair{std::nan(""), "right with --fully-masked nan"}, {0.0, "right with --fully-masked zero"}})
    CHECK(verify::expect_attention(op)->diagnosis(only, std::array{y}, {emu::float32}).ends_with(words));
  op.sinks = values({1}, {std::numeric_limits<float>::lowest()});
  CHECK(right(verify::FullyMasked::nan, no_number));
  op.sinks = values({1}, {-1e9F});
  CHECK_FALSE(right(verify::FullyMasked::nan, no_number));
  op.sinks.reset();
  op.mask = values({1, 3}, {0, std::numeric_limits<float>::lowest(), std::numeric_limits<float>::lowest()});
  CHECK_FALSE(right(verify::FullyMasked::nan, no_number));
}

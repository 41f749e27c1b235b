// SPDX-License-Identifier: Apache-2.0
// Bounds of attention, against plain kernels and planted faults.
#include "verify/operations/attention.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/verify/attention_kernel.hpp"
#include "tests/verify/big.hpp"
#include "tests/verify/operations_data.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::operations;
using verify::Causal;

/// sum of v_j / sum of e^(s_i - s_j) over i.
Big exact_attention(const AttentionProblem& in, std::size_t matrix, std::size_t query, std::size_t column) {
  std::vector<Big> s(in.keys);
  const Big factor = in.scale ? Big(*in.scale) : Big(static_cast<double>(in.depth)).power(Big(-0.5));
  for (std::size_t j = 0; j < in.keys; ++j) {
    for (std::size_t d = in.depth; d-- > 0;)
      s[j] = s[j] + Big(static_cast<double>(in.q[(matrix * in.queries + query) * in.depth + d])) *
                        Big(static_cast<double>(in.k[(in.first_key(matrix) + j) * in.depth + d]));
    s[j] = s[j] * factor;
  }
  Big out;
  for (std::size_t j = 0; j < in.keys; ++j) {
    if (!in.sees(query, j)) continue;
    Big sum;
    for (std::size_t i = 0; i < in.keys; ++i)
      if (in.sees(query, i)) sum = sum + (s[i] - s[j]).exponential();
    out = out + Big(static_cast<double>(in.v[(in.first_key(matrix) + j) * in.width + column])) / sum;
  }
  return out;
}

}  // namespace

TEST_CASE("attention: the radius encloses the exact value, and the precise value is it", "[verify][attention]") {
  for (const Causal causal : {Causal::none, Causal::top_left, Causal::bottom_right}) {
    for (const double size : {0.3, 1.0, 12.0}) {
      for (const std::size_t kv_heads : std::initializer_list<std::size_t>{1, 2}) {
        const AttentionProblem in = attention_problem({.kv_heads = kv_heads, .causal = causal}, size, emu::float32, 3);
        const auto exact = in.expectation({}, emu::float32);
        std::vector<verify::Expected> all(in.heads * in.queries * in.width), part(3);
        exact->expect(0, all);
        for (std::size_t i = 0; i < all.size(); i += 5) {
          CAPTURE(size, i, all[i].value, all[i].radius);
          const Big truth = exact_attention(in, i / in.width / in.queries, i / in.width % in.queries, i % in.width);
          CHECK(encloses(all[i].value, all[i].radius, truth));
          CHECK(all[i].radius <= 1e-11 * all[i].magnitude);
          const verify::Precise precise = exact->precise(i);
          CHECK((Big(precise.high) + Big(precise.low) - truth).magnitude() <= Big(std::ldexp(std::fabs(precise.high), -100)));
          CHECK(precise.rounded == static_cast<double>(truth.nearest_float()));
        }
        exact->expect(6, part);
        for (std::size_t i = 0; i < part.size(); ++i) CHECK(part[i].allowed == all[6 + i].allowed);
      }
    }
  }
}

TEST_CASE("attention: no correct kernel is beyond the bound", "[verify][attention]") {
  double closest = 0;
  for (const Causal causal : {Causal::none, Causal::bottom_right}) {
    for (const double size : {0.1, 1.0, 4.0, 30.0}) {
      for (const std::size_t keys : std::initializer_list<std::size_t>{1, 33, 150}) {
        if (causal == Causal::bottom_right && keys < 12) continue;
        for (const emu::Format in : {emu::bfloat16, emu::float16, emu::float8_e4m3fn}) {
          const AttentionProblem problem = attention_problem(
              {.heads = 3, .kv_heads = 1, .queries = 12, .keys = keys, .depth = 32, .width = 16, .causal = causal}, size, in,
              keys);
          const emu::Format out = in == emu::float8_e4m3fn ? emu::bfloat16 : in;
          for (const AttentionStructure structure : {AttentionStructure::unfused, AttentionStructure::flash}) {
            for (const bool narrow : {false, true}) {
              AttentionKernel kernel{.format = emu::float32, .structure = structure, .block = keys > 100 ? 64U : 16U};
              if (narrow) kernel.probabilities = in;
              if (narrow && structure == AttentionStructure::unfused) kernel.scores = out;
              const auto exact = problem.expectation({}, out, kernel.probabilities, kernel.scores);
              const Tally tally = judge_all(*exact, kernel(problem, out), {out});
              CAPTURE(size, keys, in.fraction_bits, static_cast<int>(structure), narrow, tally.beyond, tally.nonfinite);
              CHECK(tally.wrong() == 0);
              closest = std::fmax(closest, tally.closest);
            }
          }
        }
      }
    }
  }
  CHECK(closest > 0.2);
}

TEST_CASE("attention: kernels with float16 accumulators are within their bound", "[verify][attention]") {
  const AttentionProblem problem =
      attention_problem({.queries = 12, .keys = 33, .depth = 16, .width = 16}, 0.7, emu::float16, 4);
  const AttentionKernel kernel{.format = emu::float16};
  CHECK(judge_all(*problem.expectation({.format = emu::float16}, emu::float16), kernel(problem, emu::float16), {emu::float16})
            .wrong() == 0);
  CHECK(judge_all(*problem.expectation({}, emu::float16), kernel(problem, emu::float16), {emu::float16}).beyond > 0);
}

TEST_CASE("attention: planted faults are beyond the bound", "[verify][attention]") {
  const emu::Format bf16 = emu::bfloat16;
  const AttentionProblem in = attention_problem({.queries = 12, .keys = 48, .depth = 64, .width = 32}, 1, bf16, 5);
  const std::size_t count = in.heads * in.queries * in.width;
  const auto beyond = [&](const AttentionProblem& declared, const AttentionProblem& computed, const AttentionKernel& kernel) {
    return judge_all(*declared.expectation({}, bf16, bf16), kernel(computed, bf16), {bf16}).beyond;
  };
  const AttentionKernel right{.format = emu::float32, .probabilities = bf16};
  CHECK(beyond(in, in, right) == 0);

  AttentionProblem wrong = in;
  wrong.scale = 1.0 / 64;  // 1/D instead of 1/sqrt(D)
  CHECK(beyond(in, wrong, right) > count / 2);

  AttentionKernel dropping = right;
  dropping.dropped_key = 17;
  CHECK(beyond(in, in, dropping) > count / 10);

  AttentionProblem causal = in;
  causal.causal = Causal::top_left;
  AttentionKernel late = right;
  late.causal_shift = 1;
  CHECK(beyond(causal, causal, right) == 0);
  CHECK(beyond(causal, causal, late) > count / 2);
  AttentionProblem other_corner = causal;
  other_corner.causal = Causal::bottom_right;
  CHECK(beyond(causal, other_corner, right) > count / 2);

  // Probabilities in float8 where few keys take all the weight.
  const AttentionProblem peaked = attention_problem({.queries = 12, .keys = 48, .depth = 64, .width = 32}, 2, bf16, 6);
  AttentionKernel coarse = right;
  coarse.probabilities = emu::float8_e4m3fn;
  CHECK(beyond(peaked, peaked, right) == 0);
  CHECK(beyond(peaked, peaked, coarse) > count / 20);

  // The heads of K and V in the wrong order.
  AttentionProblem swapped = in;
  std::swap_ranges(swapped.k.begin(), swapped.k.begin() + static_cast<std::ptrdiff_t>(swapped.k.size() / 2),
                   swapped.k.begin() + static_cast<std::ptrdiff_t>(swapped.k.size() / 2));
  CHECK(beyond(in, swapped, right) > count / 2);
}

TEST_CASE("attention: what queries without keys return is declared, hidden keys take no part, bad shapes are refused",
          "[verify][attention]") {
  AttentionProblem in = attention_problem({.heads = 1, .kv_heads = 1, .queries = 5, .keys = 3, .causal = Causal::bottom_right},
                                          1, emu::float16, 7);
  in.v[2 * in.width] = no_number;  // of the last key
  const auto expect = [&](verify::FullyMasked masked, std::optional<verify::Values> mask = {}) {
    return verify::expect_attention({.q = values({5, 16}, in.q),
                                     .k = values({3, 16}, in.k),
                                     .v = values({3, 8}, in.v),
                                     .mask = std::move(mask),
                                     .causal = in.causal,
                                     .fully_masked = masked,
                                     .last = {emu::float16}});
  };
  CHECK_THROWS_WITH(expect(verify::FullyMasked::undeclared),
                    Catch::Matchers::ContainsSubstring("query 0") && Catch::Matchers::ContainsSubstring("--fully-masked"));
  for (const bool zero : {false, true}) {
    const auto exact = expect(zero ? verify::FullyMasked::zero : verify::FullyMasked::nan);
    std::vector<verify::Expected> all(in.queries * in.width);
    exact->expect(0, all);
    const auto standing = [&](std::size_t index, float y) {
      return verify::judge(*exact, index, all[index], static_cast<double>(y), {emu::float16});
    };
    for (std::size_t query = 0; query < 5; ++query) {
      CAPTURE(query, zero);
      CHECK(std::isnan(all[query * in.width].value) == ((!zero && query < 2) || query == 4));
      CHECK(std::isnan(all[query * in.width + 1].value) == (!zero && query < 2));
      // The value of the hidden key times a weight of 0, in the column where it is NaN.
      if (query == 2 || query == 3) {
        CHECK(standing(query * in.width, no_number) == verify::Standing::within);
        CHECK(standing(query * in.width + 1, no_number) == verify::Standing::nonfinite);
      }
    }
    CHECK((standing(1, 0) == verify::Standing::equal) == zero);
    CHECK((standing(1, no_number) == verify::Standing::equal) == !zero);
  }
  in.causal = Causal::none;
  std::vector<float> mask(15, 0.0F);
  mask[6] = mask[7] = -infinite;
  CHECK(expect(verify::FullyMasked::undeclared, values({5, 3}, mask)));
  mask[8] = -infinite;
  CHECK_THROWS_WITH(expect(verify::FullyMasked::undeclared, values({5, 3}, mask)),
                    Catch::Matchers::ContainsSubstring("query 2"));
  in.k.pop_back();
  in.keys = 4;
  in.k.resize(4 * in.depth), in.v.resize(3 * in.width);
  CHECK_THROWS(verify::expect_attention(
      {.q = values({5, 16}, in.q), .k = values({4, 16}, in.k), .v = values({3, 8}, in.v), .last = {emu::float16}}));
}

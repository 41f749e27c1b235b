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

#include "tests/verify/big.hpp"
#include "tests/verify/operations_data.hpp"
#include "tests/verify/wrong_outputs.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::operations;
using verify::Causal;

struct Problem {
  std::size_t batch = 1, heads = 2, kv_heads = 2, queries = 5, keys = 7, depth = 16, width = 8;
  std::vector<float> q = {}, k = {}, v = {};
  std::optional<double> scale = {};
  Causal causal = Causal::none;

  bool sees(std::size_t query, std::size_t key) const {
    if (causal == Causal::none) return true;
    return causal == Causal::top_left ? key <= query : key + queries <= query + keys;
  }
  double factor() const { return scale.value_or(1 / std::sqrt(static_cast<double>(depth))); }
  /// Where the keys of a head begin, in rows.
  std::size_t first_key(std::size_t matrix) const {
    return (matrix / heads * kv_heads + matrix % heads * kv_heads / heads) * keys;
  }

  std::unique_ptr<verify::Expectation> expectation(verify::KernelArithmetic arithmetic, emu::Format out,
                                                   std::optional<emu::Format> probabilities = {},
                                                   std::optional<emu::Format> scores = {}) const {
    return verify::expect_attention({.q = values({batch, heads, queries, depth}, q),
                                     .k = values({batch, kv_heads, keys, depth}, k),
                                     .v = values({batch, kv_heads, keys, width}, v),
                                     .scale = scale,
                                     .causal = causal,
                                     .arithmetic = arithmetic,
                                     .scores = scores,
                                     .probabilities = probabilities,
                                     .last = {out}});
  }
};

Problem make(Problem p, double size, emu::Format in, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  p.q = normals(random, p.batch * p.heads * p.queries * p.depth, size, in);
  p.k = normals(random, p.batch * p.kv_heads * p.keys * p.depth, size, in);
  p.v = normals(random, p.batch * p.kv_heads * p.keys * p.width, 1, in);
  return p;
}

enum class Structure { unfused, flash };

/// A kernel with every result rounded to `format`, and its faults.
struct Kernel {
  emu::Format format;
  std::optional<emu::Format> probabilities = {}, scores = {};
  Structure structure = Structure::flash;
  std::size_t block = 16;
  std::optional<std::size_t> dropped_key = {};
  std::size_t causal_shift = 0;  ///< keys that a query sees beyond those it should

  float r(float x) const { return as(format, x); }
  float p(float x) const { return probabilities ? as(*probabilities, x) : x; }

  std::vector<float> scores_of(const Problem& in, std::size_t matrix, std::size_t query) const {
    std::vector<float> s(in.keys);
    for (std::size_t j = 0; j < in.keys; ++j) {
      float sum = 0;
      for (std::size_t d = 0; d < in.depth; ++d)
        sum = r(sum + r(in.q[(matrix * in.queries + query) * in.depth + d] * in.k[(in.first_key(matrix) + j) * in.depth + d]));
      if (scores) sum = as(*scores, sum);
      s[j] = r(sum * r(static_cast<float>(in.factor())));
      const bool seen = in.sees(query, j) || (causal_shift > 0 && j <= query + causal_shift);
      if (!seen || dropped_key == j) s[j] = -infinite;
    }
    return s;
  }

  void unfused(const Problem& in, std::size_t matrix, const std::vector<float>& s, std::span<float> out) const {
    const float m = *std::max_element(s.begin(), s.end());
    std::vector<float> e(s);
    float sum = 0;
    for (float& x : e) sum = r(sum + (x = r(std::exp(r(x - m)))));
    for (std::size_t c = 0; c < out.size(); ++c) {
      float total = 0;
      for (std::size_t j = s.size(); j-- > 0;)
        total = r(total + r(p(r(e[j] / sum)) * in.v[(in.first_key(matrix) + j) * in.width + c]));
      out[c] = total;
    }
  }

  void flash(const Problem& in, std::size_t matrix, const std::vector<float>& s, std::span<float> out) const {
    float m = -infinite, sum = 0;
    std::fill(out.begin(), out.end(), 0.0F);
    for (std::size_t first = 0; first < s.size(); first += block) {
      const auto part = std::span(s).subspan(first, std::min(block, s.size() - first));
      const float greatest = std::max(m, *std::max_element(part.begin(), part.end()));
      if (greatest == -infinite) continue;
      const float factor = r(std::exp(r(m - greatest)));
      sum = r(sum * factor);
      for (float& x : out) x = r(x * factor);
      for (std::size_t j = 0; j < part.size(); ++j) {
        const float e = r(std::exp(r(part[j] - greatest)));
        sum = r(sum + e);
        for (std::size_t c = 0; c < out.size(); ++c)
          out[c] = r(out[c] + r(p(e) * in.v[(in.first_key(matrix) + first + j) * in.width + c]));
      }
      m = greatest;
    }
    for (float& x : out) x = r(x / sum);
  }

  std::vector<float> operator()(const Problem& in, emu::Format last) const {
    std::vector<float> out(in.batch * in.heads * in.queries * in.width);
    for (std::size_t row = 0; row < in.batch * in.heads * in.queries; ++row) {
      const std::size_t matrix = row / in.queries;
      const auto s = scores_of(in, matrix, row % in.queries);
      const auto to = std::span(out).subspan(row * in.width, in.width);
      structure == Structure::flash ? flash(in, matrix, s, to) : unfused(in, matrix, s, to);
    }
    for (float& x : out) x = as(last, x);
    return out;
  }
};

/// sum of v_j / sum of e^(s_i - s_j) over i.
Big exact_attention(const Problem& in, std::size_t matrix, std::size_t query, std::size_t column) {
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

TEST_CASE("attention: roundings that are not declared are told from the wrong elements", "[verify][attention]") {
  struct Case {
    Kernel kernel;
    std::optional<emu::Format> probabilities, scores;
    double size;  // of Q and K: where scores are large, their roundings are greater than those of probabilities
    const char* said;
  };
  const emu::Format narrow = emu::bfloat16, wide = emu::float32;
  const Case cases[] = {
      {{wide, narrow}, {}, {}, 1, "where probabilities are rounded to bfloat16: --probabilities bfloat16 says so"},
      {{wide, {}, narrow}, {}, {}, 5, "where scores are rounded to bfloat16: --scores bfloat16 says so"},
      {{wide, narrow, narrow}, narrow, {}, 5, "where scores are rounded to bfloat16: --scores bfloat16 says so"},
      {{.format = wide, .dropped_key = 3}, {}, {}, 1, ""},
      {{wide, narrow, narrow}, narrow, narrow, 1, ""},
  };
  for (const Case& test : cases)
    for (const bool by_inputs : {false, true}) {
      const Problem in = make({.queries = 24, .keys = 40}, test.size, emu::bfloat16, 5);
      const emu::Format out = by_inputs ? emu::float32 : emu::bfloat16;
      verify::Attention operation{.q = values({1, 2, 24, 16}, in.q),
                                  .k = values({1, 2, 40, 16}, in.k),
                                  .v = values({1, 2, 40, 8}, in.v),
                                  .scores = test.scores,
                                  .probabilities = test.probabilities,
                                  .last = {out}};
      if (by_inputs) operation.q.format = emu::bfloat16;
      const auto [wrong, said] = wrong_outputs(*verify::expect_attention(operation), test.kernel(in, out), out);
      const std::string wanted = test.said;
      CAPTURE(by_inputs, wrong, said, wanted);
      CHECK((wanted.empty() ? said.empty() : wrong > 0 && said.find(wanted) != std::string::npos));
    }
}

TEST_CASE("attention: a fault of a few elements, or of everything, is not called a rounding", "[verify][attention]") {
  const Problem in = make({.queries = 24, .keys = 40}, 1, emu::bfloat16, 5);
  verify::Attention operation{.q = values({1, 2, 24, 16}, in.q),
                              .k = values({1, 2, 40, 16}, in.k),
                              .v = values({1, 2, 40, 8}, in.v),
                              .last = {emu::float32}};
  operation.q.format = emu::bfloat16;
  const auto expectation = verify::expect_attention(operation);
  const Kernel kernel{emu::float32};
  const std::vector<float> right = kernel(in, emu::float32);
  std::vector<float> one = right, all = right;
  one[7] += 1e-4F;
  for (float& x : all) x *= 1.0012F;
  const WrongOutputs of_one = wrong_outputs(*expectation, one, emu::float32);
  const WrongOutputs of_all = wrong_outputs(*expectation, all, emu::float32);
  CHECK(of_one.said.empty());
  CHECK(of_one.count == 1);
  CHECK(of_all.said.empty());
  CHECK(of_all.count > 100);
}

TEST_CASE("attention: the radius encloses the exact value, and the precise value is it", "[verify][attention]") {
  for (const Causal causal : {Causal::none, Causal::top_left, Causal::bottom_right}) {
    for (const double size : {0.3, 1.0, 12.0}) {
      for (const std::size_t kv_heads : std::initializer_list<std::size_t>{1, 2}) {
        const Problem in = make({.kv_heads = kv_heads, .causal = causal}, size, emu::float32, 3);
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
          const Problem problem =
              make({.heads = 3, .kv_heads = 1, .queries = 12, .keys = keys, .depth = 32, .width = 16, .causal = causal}, size,
                   in, keys);
          const emu::Format out = in == emu::float8_e4m3fn ? emu::bfloat16 : in;
          for (const Structure structure : {Structure::unfused, Structure::flash}) {
            for (const bool narrow : {false, true}) {
              Kernel kernel{.format = emu::float32, .structure = structure, .block = keys > 100 ? 64U : 16U};
              if (narrow) kernel.probabilities = in;
              if (narrow && structure == Structure::unfused) kernel.scores = out;
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
  const Problem problem = make({.queries = 12, .keys = 33, .depth = 16, .width = 16}, 0.7, emu::float16, 4);
  const Kernel kernel{.format = emu::float16};
  CHECK(judge_all(*problem.expectation({.format = emu::float16}, emu::float16), kernel(problem, emu::float16), {emu::float16})
            .wrong() == 0);
  CHECK(judge_all(*problem.expectation({}, emu::float16), kernel(problem, emu::float16), {emu::float16}).beyond > 0);
}

TEST_CASE("attention: planted faults are beyond the bound", "[verify][attention]") {
  const emu::Format bf16 = emu::bfloat16;
  const Problem in = make({.queries = 12, .keys = 48, .depth = 64, .width = 32}, 1, bf16, 5);
  const std::size_t count = in.heads * in.queries * in.width;
  const auto beyond = [&](const Problem& declared, const Problem& computed, const Kernel& kernel) {
    return judge_all(*declared.expectation({}, bf16, bf16), kernel(computed, bf16), {bf16}).beyond;
  };
  const Kernel right{.format = emu::float32, .probabilities = bf16};
  CHECK(beyond(in, in, right) == 0);

  Problem wrong = in;
  wrong.scale = 1.0 / 64;  // 1/D instead of 1/sqrt(D)
  CHECK(beyond(in, wrong, right) > count / 2);

  Kernel dropping = right;
  dropping.dropped_key = 17;
  CHECK(beyond(in, in, dropping) > count / 10);

  Problem causal = in;
  causal.causal = Causal::top_left;
  Kernel late = right;
  late.causal_shift = 1;
  CHECK(beyond(causal, causal, right) == 0);
  CHECK(beyond(causal, causal, late) > count / 2);
  Problem other_corner = causal;
  other_corner.causal = Causal::bottom_right;
  CHECK(beyond(causal, other_corner, right) > count / 2);

  // Probabilities in float8 where few keys take all the weight.
  const Problem peaked = make({.queries = 12, .keys = 48, .depth = 64, .width = 32}, 2, bf16, 6);
  Kernel coarse = right;
  coarse.probabilities = emu::float8_e4m3fn;
  CHECK(beyond(peaked, peaked, right) == 0);
  CHECK(beyond(peaked, peaked, coarse) > count / 20);

  // The heads of K and V in the wrong order.
  Problem swapped = in;
  std::swap_ranges(swapped.k.begin(), swapped.k.begin() + static_cast<std::ptrdiff_t>(swapped.k.size() / 2),
                   swapped.k.begin() + static_cast<std::ptrdiff_t>(swapped.k.size() / 2));
  CHECK(beyond(in, swapped, right) > count / 2);
}

TEST_CASE("attention: what queries without keys return is declared, hidden keys take no part, bad shapes are refused",
          "[verify][attention]") {
  Problem in = make({.heads = 1, .kv_heads = 1, .queries = 5, .keys = 3, .causal = Causal::bottom_right}, 1, emu::float16, 7);
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

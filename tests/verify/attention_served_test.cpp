// SPDX-License-Identifier: Apache-2.0
// Masks, windows, softcaps, sinks, descales, lengths and log-sum-exp of attention, against plain loops and planted faults.
#include "tests/verify/attention_served.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#include "tests/verify/wrong_outputs.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::operations;
using verify::Causal;

std::vector<float> factors(std::mt19937_64& random, std::size_t count) {
  std::vector<float> out;
  for (std::size_t i = 0; i < count; ++i) {
    const float significand = 1 + static_cast<float>(random() % 1024) / 1024;
    out.push_back(std::ldexp(significand, static_cast<int>(random() % 4) - 2));
  }
  return out;
}

/// Any declarations together.
Served drawn(std::uint64_t seed, double size = 1, emu::Format format = emu::float8_e4m3fn) {
  std::mt19937_64 random(seed);
  const auto coin = [&random] { return random() % 2 == 0; };
  Served in;
  in.batch = 1 + random() % 3, in.kv_heads = 1 + random() % 2, in.heads = in.kv_heads * (1 + random() % 2);
  in.queries = 1 + random() % 6, in.keys = 1 + random() % 12;
  draw(in, random, size, format);
  in.causal = std::array{Causal::none, Causal::top_left, Causal::bottom_right}[random() % 3];
  if (coin()) in.left = random() % 6;
  if (coin()) in.right = random() % 4;
  if (coin()) in.softcap = 0.5 + static_cast<double>(random() % 40) / 8;
  if (coin()) in.sinks = normals(random, in.heads, 1, emu::bfloat16);
  if (coin()) in.q_scale = factors(random, in.rows());
  if (coin()) in.k_scale = factors(random, in.batch * in.kv_heads * in.keys);
  if (coin()) in.v_scale = factors(random, in.batch * in.kv_heads * in.keys);
  if (coin())
    for (std::size_t b = 0; b < in.batch; ++b) in.lengths.push_back(random() % (in.keys + 1));
  if (coin()) {
    in.mask = normals(random, in.rows() * in.keys, 1, emu::float32);
    for (float& x : in.mask)
      if (random() % 4 == 0) x = -infinite;
  }
  return in;
}

/// What is said of the wrong ones; empty where all are right.
std::string said_of(const verify::Expectation& expectation, const std::vector<float>& outputs) {
  const WrongOutputs wrong = wrong_outputs(expectation, outputs, emu::float32);
  return wrong.count == 0 ? std::string() : std::to_string(wrong.count) + " wrong; " + wrong.said;
}

/// Long enough for faults to have an effect everywhere.
Served long_rows(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Served in{.batch = 2, .heads = 4, .kv_heads = 2, .queries = 12, .keys = 24, .depth = 16, .width = 8};
  draw(in, random, 1.5, emu::float8_e4m3fn);
  return in;
}

bool near(double value, double radius, long double truth) {
  return std::fabs(static_cast<long double>(value) - truth) <=
         static_cast<long double>(radius) + 1e-15L * (1 + std::fabs(truth));
}

}  // namespace

TEST_CASE("served attention: any declarations together have the value of plain loops, and kernels in float are right",
          "[verify][attention]") {
  double closest = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Served in = drawn(seed, std::array{0.5, 1.5, 6.0}[seed % 3]);
    const auto both = verify::expect_attention_and_lse(declared(in), {emu::float32});
    std::vector<verify::Expected> out(in.rows() * in.width), lse(in.rows());
    both.output->expect(0, out), both.lse->expect(0, lse);
    for (std::size_t row = 0; row < in.rows(); ++row) {
      const auto truth =
          served_row<long double>(in, row / in.queries / in.heads, row / in.queries % in.heads, row % in.queries);
      for (std::size_t c = 0; c <= in.width; ++c) {
        const verify::Expected& one = c < in.width ? out[row * in.width + c] : lse[row];
        const verify::Expectation& of = c < in.width ? *both.output : *both.lse;
        CAPTURE(seed, row, c, one.value, one.radius, truth[c]);
        REQUIRE((std::isinf(truth[c]) ? one.value == static_cast<double>(truth[c]) : near(one.value, one.radius, truth[c])));
        if (std::isinf(truth[c])) continue;
        const verify::Precise precise = of.precise(c < in.width ? row * in.width + c : row);
        CHECK(near(precise.high + precise.low, 0, truth[c]));
      }
    }
    const ServedOutput kernel = served<float>(in);
    const Tally tally = judge_all(*both.output, kernel.out, {emu::float32}),
                of_lse = judge_all(*both.lse, kernel.lse, {emu::float32});
    CAPTURE(seed, tally.beyond, tally.nonfinite, of_lse.beyond, of_lse.nonfinite);
    CHECK(tally.wrong() == 0);
    CHECK(of_lse.wrong() == 0);
    closest = std::fmax(closest, std::fmax(tally.closest, of_lse.closest));
  }
  CHECK(closest > 0.05);
}

TEST_CASE("served attention: each fault is found, and named where that is cheap", "[verify][attention]") {
  struct Case {
    const char* name;
    void (*declare)(Served&);
    Faults faults;
    const char* said;
  };
  const Case cases[] = {
      {"no softcap", [](Served& in) { in.softcap = 2; }, {.no_softcap = true}, "without the softcap"},
      {"softcap after mask",
       [](Served& in) {
         in.softcap = 2, in.mask.assign(in.rows() * in.keys, 0);
         for (std::size_t i = 0; i < in.mask.size(); i += 3) in.mask[i] = -infinite;
       },
       {.softcap_after_mask = true},
       "where the mask is added before scores are capped"},
      {"no sink",
       [](Served& in) {
         in.sinks = {1, 2, 1.5, 0.5};
       },
       {.no_sink = true},
       "without the sinks"},
      {"window",
       [](Served& in) { in.left = 5, in.causal = Causal::bottom_right; },
       {.window_shift = 1},
       "with a window of one key more on the left"},
      {"window, narrow",
       [](Served& in) { in.left = 5, in.causal = Causal::bottom_right; },
       {.window_shift = -1},
       "with a window of one key less on the left"},
      {"next head's descale",
       [](Served& in) {
         in.k_scale.assign(in.batch * in.kv_heads * in.keys, 0.5F);
         std::fill_n(in.k_scale.begin(), in.k_scale.size() / 2, 0.75F);
         std::fill_n(in.k_scale.begin(), in.keys, 0.25F);
       },
       {.next_head_descale = true},
       ""},
  };
  for (const Case& test : cases) {
    Served in = long_rows(11);
    test.declare(in);
    const auto both = verify::expect_attention_and_lse(declared(in), {emu::float32});
    CAPTURE(test.name);
    const ServedOutput right = served<float>(in), wrong = served<float>(in, test.faults);
    CHECK(said_of(*both.output, right.out).empty());
    CHECK(said_of(*both.lse, right.lse).empty());
    CHECK_THAT(said_of(*both.output, wrong.out),
               Catch::Matchers::ContainsSubstring(test.said) && Catch::Matchers::ContainsSubstring("wrong"));
    CHECK_FALSE(said_of(*both.lse, wrong.lse).empty());
  }
}

TEST_CASE("served attention: log-sum-exp in base 2 or without its sink is found and named", "[verify][attention]") {
  Served in = long_rows(12);
  in.sinks = {1, 2, 1.5, 0.5};
  const auto both = verify::expect_attention_and_lse(declared(in), {emu::float32});
  CHECK(both.lse->shape() == std::vector<std::uint64_t>{2, 4, 12});
  CHECK_THAT(said_of(*both.lse, served<float>(in, {.log2_units = true}).lse),
             Catch::Matchers::ContainsSubstring("as logarithms to base 2"));
  CHECK_THAT(said_of(*both.lse, served<float>(in, {.no_sink = true}).lse),
             Catch::Matchers::ContainsSubstring("without the sinks"));
}

TEST_CASE("served attention: a row without keys is 0 with a sink, whatever is declared; its logarithm is the sink",
          "[verify][attention]") {
  Served in = long_rows(13);
  in.lengths = {0, 3};
  for (const bool sunk : {false, true}) {
    in.sinks = sunk ? std::vector<float>{1, -2, 0.5, 3} : std::vector<float>();
    verify::Attention op = declared(in);
    op.fully_masked = verify::FullyMasked::undeclared;
    if (!sunk) {
      CHECK_THROWS_WITH(verify::expect_attention(op),
                        Catch::Matchers::ContainsSubstring("query 0 of head 0 of sequence 0 sees no key"));
      op.fully_masked = verify::FullyMasked::nan;
    }
    const auto both = verify::expect_attention_and_lse(op, {emu::float32});
    std::vector<verify::Expected> out(in.rows() * in.width), lse(in.rows());
    both.output->expect(0, out), both.lse->expect(0, lse);
    CHECK((sunk ? out[0].value == 0 : std::isnan(out[0].value)));
    CHECK(lse[0].value == (sunk ? 1 : -std::numeric_limits<double>::infinity()));
    const auto standing = [&](double y) { return verify::judge(*both.lse, 0, lse[0], y, {emu::float32}); };
    CHECK((standing(std::numeric_limits<double>::infinity()) == verify::Standing::within) == !sunk);
    CHECK((standing(0) == verify::Standing::nonfinite) == !sunk);
  }
  in.sinks = {-infinite, -infinite, -infinite, -infinite};  // none
  verify::Attention op = declared(in);
  op.fully_masked = verify::FullyMasked::undeclared;
  CHECK_THROWS(verify::expect_attention(op));
  op.sinks->elements[2] = infinite;
  CHECK_THROWS_WITH(verify::expect_attention(op), Catch::Matchers::ContainsSubstring("--sinks: that of head 2 is inf"));
}

TEST_CASE("served attention: kernels cap with an approximate tanh where its error is declared", "[verify][attention]") {
  Served in = long_rows(14);
  in.softcap = 4;
  ServedOutput coarse;  // 4 tanh(s / 4) with an error of 2^-11 in tanh, up and down
  const auto tanh_of = [](float x, std::size_t i) { return std::tanh(x) + (i % 2 == 0 ? 0x1p-11F : -0x1p-11F); };
  for (std::size_t row = 0; row < in.rows(); ++row) {
    const std::size_t b = row / in.queries / in.heads, h = row / in.queries % in.heads, i = row % in.queries;
    std::vector<float> out(in.width);
    float sum = 0;
    for (std::size_t j = 0; j < in.keys; ++j) {
      float dot = 0;
      for (std::size_t d = 0; d < in.depth; ++d)
        dot += in.q[in.q_row(b, h, i) * in.depth + d] * in.k[in.k_row(b, h, j) * in.depth + d];
      const float e = std::exp(4 * tanh_of(dot / 4 / 4, i + j));
      sum += e;
      for (std::size_t c = 0; c < in.width; ++c) out[c] += e * in.v[in.k_row(b, h, j) * in.width + c];
    }
    for (const float x : out) coarse.out.push_back(x / sum);
  }
  verify::Attention op = declared(in);
  CHECK(judge_all(*verify::expect_attention(op), coarse.out, {emu::float32}).beyond > coarse.out.size() / 2);
  op.arithmetic.function_abs = 0x1p-11;
  CHECK(judge_all(*verify::expect_attention(op), coarse.out, {emu::float32}).beyond == 0);
}

TEST_CASE("served attention: factors may be applied to elements, to scores or to the output", "[verify][attention]") {
  for (const emu::Format acc : {emu::float32, emu::float16}) {
    Served in = long_rows(15);
    in.q_scale.assign(in.rows(), 0.0625F + 0x1p-11F), in.k_scale.assign(in.batch * in.kv_heads * in.keys, 0.75F);
    in.v_scale.assign(in.k_scale.size(), 0.03F);
    Served multiplied = in;  // in the accumulator's format, before anything else
    const auto multiply = [acc](std::vector<float>& x, std::vector<float>& by) {
      const std::size_t length = x.size() / by.size();
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = as(acc, x[i] * by[i / length]);
      by.clear();
    };
    multiply(multiplied.q, multiplied.q_scale), multiply(multiplied.k, multiplied.k_scale),
        multiply(multiplied.v, multiplied.v_scale);
    verify::Attention op = declared(in);
    op.arithmetic.format = acc;
    const auto expectation = verify::expect_attention(op);
    CHECK(judge_all(*expectation, served<float>(in).out, {emu::float32}).wrong() == 0);
    CHECK(judge_all(*expectation, served<float>(multiplied).out, {emu::float32}).wrong() == 0);
    for (std::vector<float>* const scale : {&in.q_scale, &in.k_scale, &in.v_scale}) {
      Served without = in;
      (scale == &in.q_scale ? without.q_scale : scale == &in.k_scale ? without.k_scale : without.v_scale).clear();
      if (acc == emu::float32) CHECK(judge_all(*expectation, served<float>(without).out, {emu::float32}).beyond > in.rows());
    }
  }
}

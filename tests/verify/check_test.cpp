// SPDX-License-Identifier: Apache-2.0
// The C++ interface says what the command says, of the same files; and each of its fields changes what is computed.
#include "verify/check.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "emu/encode.hpp"
#include "emu/error.hpp"

namespace {

using namespace ulpscope;
using Catch::Matchers::ContainsSubstring;
using verify::check_output;
using verify::MatmulCheck;
using verify::Outcome;

/// Numbers in [-1, 1) by a multiplicative generator modulo 2^31 - 1.
std::vector<float> numbers(emu::Format format, std::size_t count, std::uint64_t seed) {
  std::vector<float> values(count);
  for (float& x : values) {
    seed = seed * 48271 % 2147483647;
    x = static_cast<float>(emu::round_to(format, static_cast<double>(seed) / 0x1p30 - 1).value);
  }
  return values;
}

constexpr std::size_t m = 24, n = 20, k = 96;

struct Problem {
  std::vector<float> a = numbers(emu::bf16, m*k, 1), b = numbers(emu::bf16, k*n, 2), c = numbers(emu::bf16, m*n, 3);

  MatmulCheck check() const { return {.a = a, .b = b, .m = m, .n = n, .k = k, .in = emu::bf16}; }
  /// alpha * sum over the first `last` products + beta * c, in float64, rounded once to float32.
  std::vector<float> product(std::size_t last = k, double alpha = 1, double beta = 0) const {
    std::vector<float> d(m * n);
    for (std::size_t i = 0; i < m * n; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < last; ++j)
        sum += static_cast<double>(a[i / n * k + j]) * static_cast<double>(b[j * n + i % n]);
      d[i] = static_cast<float>(alpha * sum + beta * static_cast<double>(c[i]));
    }
    return d;
  }
};

std::vector<float> transposed(const std::vector<float>& x, std::size_t rows, std::size_t columns) {
  std::vector<float> result(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) result[i % columns * rows + i / columns] = x[i];
  return result;
}

std::string refusal_of(const MatmulCheck& check, std::span<const float> output) {
  try {
    static_cast<void>(check_output(check, output));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a right output passes, a wrong one fails with the census, and what cannot fail does not pass", "[verify]") {
  const Problem p;
  const auto right = check_output(p.check(), p.product());
  CHECK(right.passes());
  CHECK_THAT(right.text, ContainsSubstring("A  a (24x96), bfloat16\n") && ContainsSubstring("K = 96, accumulator float32"));

  const auto wrong = check_output(p.check(), p.product(k - 16));
  CHECK(wrong.outcome == Outcome::fail);
  CHECK_THAT(wrong.text, ContainsSubstring("FAIL: ") && ContainsSubstring("of 480 elements are wrong") &&
                             ContainsSubstring("if the last 16 of 96 products are left out") &&
                             ContainsSubstring("errors in ulps of float32") && ContainsSubstring("the worst elements"));

  const std::vector<float> zeros(m * k);
  MatmulCheck empty = p.check();
  empty.a = zeros;
  const auto vacuous = check_output(empty, std::vector<float>(m * n));
  CHECK(vacuous.outcome == Outcome::vacuous);
  CHECK_FALSE(vacuous.passes());
}

TEST_CASE("NaN, infinity and zeros do not pass", "[verify]") {
  const Problem p;
  for (const float value : {std::nanf(""), HUGE_VALF, 0.0F}) {
    std::vector<float> d = p.product();
    d[100] = value;
    CHECK(check_output(p.check(), d).outcome == Outcome::fail);
    CHECK(check_output(p.check(), std::vector<float>(m * n, value)).outcome == Outcome::fail);
  }
}

TEST_CASE("sums of one sign overflow to the infinity of that sign", "[verify]") {
  const std::vector<float> ones(128, 300);
  constexpr float infinite = std::numeric_limits<float>::infinity();
  const MatmulCheck check{.a = ones, .b = ones, .m = 2, .n = 2, .k = 64, .in = emu::float16, .acc = emu::float16};
  const auto outcome = [&](float output) { return check_output(check, std::vector<float>(4, output)).outcome; };
  CHECK(outcome(infinite) == Outcome::pass);
  CHECK(outcome(-infinite) == Outcome::fail);
  CHECK(outcome(NAN) == Outcome::fail);
}

TEST_CASE("each field of a check is heard", "[verify]") {
  const Problem p;
  const auto at = transposed(p.a, m, k), bt = transposed(p.b, k, n);
  const std::vector<float> d = p.product();

  MatmulCheck check = p.check();
  check.a = at, check.b = bt, check.transpose_a = check.transpose_b = verify::Transpose::yes;
  CHECK(check_output(check, d).passes());
  CHECK_FALSE(check_output({.a = p.a, .b = p.b, .m = m, .n = n, .k = k, .in = emu::e5m2}, d).passes());
  CHECK_FALSE(check_output({.a = p.a, .b = p.b, .m = m, .n = n, .k = k, .in = emu::bf16, .in_b = emu::e5m2}, d).passes());

  MatmulCheck scaled = p.check();
  scaled.c = p.c, scaled.alpha = 2, scaled.beta = -3.0;
  CHECK(check_output(scaled, p.product(k, 2, -3)).passes());
  CHECK_FALSE(check_output(scaled, d).passes());

  MatmulCheck added = p.check();
  added.c = p.c;
  CHECK(check_output(added, p.product(k, 1, 1)).passes());
  CHECK_FALSE(check_output(added, d).passes());

  const std::vector<float> two{2};
  MatmulCheck with_scale = p.check();
  with_scale.scale_a = {.values = two};
  CHECK(check_output(with_scale, p.product(k, 2)).passes());
  CHECK_FALSE(check_output(with_scale, d).passes());
  std::vector<float> by_row(m), d_by_row = d;
  for (std::size_t i = 0; i < m; ++i) by_row[i] = i % 2 == 0 ? 1.0F : 4.0F;
  for (std::size_t i = 0; i < m * n; ++i) d_by_row[i] *= by_row[i / n];
  with_scale.scale_a = {.values = by_row, .rows = m};
  CHECK(check_output(with_scale, d_by_row).passes());
  CHECK_FALSE(check_output(with_scale, d).passes());

  std::vector<float> rounded = d;
  for (float& x : rounded) x = static_cast<float>(emu::round_to(emu::bf16, x, {.rounding = emu::Rounding::toward_zero}).value);
  MatmulCheck narrow = p.check();
  narrow.out = emu::bf16;
  CHECK_FALSE(check_output(narrow, rounded).passes());
  narrow.out_options.rounding = emu::Rounding::toward_zero;
  CHECK(check_output(narrow, rounded).passes());

  const std::vector<float> aa = [&] {
    std::vector<float> twice = p.a;
    twice.insert(twice.end(), p.a.begin(), p.a.end());
    return twice;
  }();
  std::vector<float> bb = p.b, dd = d;
  for (const float x : p.b) bb.push_back(-x);
  for (const float x : d) dd.push_back(-x);
  CHECK(check_output({.a = aa, .b = bb, .m = m, .n = n, .k = k, .in = emu::bf16, .batch = 2}, dd).passes());
  dd[m * n] = 1;
  CHECK_FALSE(check_output({.a = aa, .b = bb, .m = m, .n = n, .k = k, .in = emu::bf16, .batch = 2}, dd).passes());
}

TEST_CASE("what is declared of the sums is heard", "[verify]") {
  const Problem p;
  const std::vector<float> d = p.product();
  const std::string text = check_output(p.check(), d).text;
  const auto changes = [&](auto change) {
    MatmulCheck check = p.check();
    change(check);
    return check_output(check, d).text != text;
  };
  CHECK_FALSE(changes([](MatmulCheck&) {}));
  CHECK(changes([](MatmulCheck& x) { x.acc = emu::float16; }));
  CHECK(changes([](MatmulCheck& x) { x.acc_rounding = emu::Rounding::toward_zero; }));
  CHECK(changes([](MatmulCheck& x) { x.false_alarm = 1e-6; }));
  CHECK(changes([](MatmulCheck& x) { x.promote = 16; }));
  CHECK(changes([](MatmulCheck& x) { x.split_k = 2; }));
  CHECK(changes([](MatmulCheck& x) { x.engine = "sm_90"; }));
}

TEST_CASE("tf32 reads what hardware reads of a float32", "[verify]") {
  const std::vector<float> a{1 + 0x1.8p-11F}, b{1};
  const MatmulCheck check{.a = a, .b = b, .m = 1, .n = 1, .k = 1, .in = emu::tf32};
  CHECK(check_output(check, std::vector{1.0F}).passes());
  CHECK_FALSE(check_output(check, std::vector{1 + 0x1p-10F}).passes());
}

TEST_CASE("the parts of a split K are added ascending, or in any order where that is declared", "[verify]") {
  const Problem p;
  constexpr std::size_t parts = 3;
  std::vector<float> ascending(m * n), descending(m * n);
  for (std::size_t i = 0; i < m * n; ++i) {
    std::vector<float> chain(parts);
    for (std::size_t j = 0; j < k; ++j) {
      float& sum = chain[j / (k / parts)];
      sum = std::fma(p.a[i / n * k + j], p.b[j * n + i % n], sum);
    }
    ascending[i] = (chain[0] + chain[1]) + chain[2];
    descending[i] = (chain[2] + chain[1]) + chain[0];
  }
  MatmulCheck check = p.check();
  check.engine = "fma", check.split_k = parts, check.against = verify::Against::engine;
  CHECK(check_output(check, ascending).passes());
  CHECK_FALSE(check_output(check, descending).passes());
  check.against = verify::Against::engine_any_order;
  CHECK(check_output(check, descending).passes());
  check.split_k = 1;
  CHECK_FALSE(check_output(check, descending).passes());
}

TEST_CASE("the worst elements have as many digits as tell an output from the exact result", "[verify]") {
  const std::vector<float> one{1}, more{1 + 0x1p-20F};
  const auto text_of = [&](const std::vector<float>& exact, float output) {
    const MatmulCheck check{.a = one, .b = exact, .m = 1, .n = 1, .k = 1, .in = emu::fp32};
    return check_output(check, std::vector<float>{output}).text;
  };

  CHECK_THAT(text_of(one, 1 + 41 * 0x1p-23F), ContainsSubstring("  1.0000049      1  "));
  CHECK_THAT(text_of(more, 1), ContainsSubstring("    1  1.000001  "));
}

TEST_CASE("against an engine every bit counts, against a baseline its errors", "[verify]") {
  const Problem p;
  std::vector<float> chain(m * n);
  for (std::size_t i = 0; i < m * n; ++i)
    for (std::size_t j = 0; j < k; ++j) chain[i] = std::fma(p.a[i / n * k + j], p.b[j * n + i % n], chain[i]);
  MatmulCheck check = p.check();
  check.engine = "fma", check.against = verify::Against::engine;
  CHECK(check_output(check, chain).passes());
  std::vector<float> off = chain;
  off[7] = std::nextafter(off[7], 9.0F);
  CHECK(check_output(check, off).outcome == Outcome::fail);

  check = p.check();
  check.against = verify::Against::baseline, check.baseline = chain;
  CHECK(check_output(check, chain).passes());
  CHECK(check_output(check, p.product()).passes());
  for (float& x : off) x *= 1 + 0x1p-20F;
  const auto worse = check_output(check, off);
  CHECK(worse.outcome == Outcome::fail);
  CHECK_THAT(worse.text, ContainsSubstring("baseline"));
}

TEST_CASE("what does not fit is refused in one sentence that names it", "[verify]") {
  const Problem p;
  const std::vector<float> d = p.product();
  const std::span<const float> all(d);
  const auto refused = [&](auto change) {
    MatmulCheck check = p.check();
    change(check);
    return refusal_of(check, d);
  };

  CHECK(refusal_of(p.check(), all.first(479)) == "output: 479 elements; 24x20 are 480");
  CHECK(refused([](MatmulCheck& x) { x.m = 0; }) == "m, n, k and batch are 0, 20, 96 and 1; each is 1 or more");
  CHECK(refused([](MatmulCheck& x) { x.k = 95; }) == "a: 2304 elements; 24x95 are 2280");
  CHECK(refused([&](MatmulCheck& x) { x.c = all.first(3); }) == "c: 3 elements; 24x20 are 480");
  CHECK(refused([](MatmulCheck& x) { x.beta = 1.0; }) == "beta: is the factor of c, which is not there");
  CHECK(refused([](MatmulCheck& x) { x.split_k = 0; }) == "split_k 0: give 1 or more");
  CHECK(refused([](MatmulCheck& x) { x.split_k = 97; }) == "split_k 97: K is 96, so give 1 to 96");
  CHECK(refused([](MatmulCheck& x) { x.false_alarm = 1.5; }) == "false_alarm: a probability between 0 and 1, e.g. 1e-6");
  CHECK(refused([](MatmulCheck& x) { x.acc_rounding = emu::Rounding::upward; }) ==
        "acc_rounding: give nearest_even or toward_zero");
  CHECK(refused([](MatmulCheck& x) { x.against = verify::Against::engine; }) ==
        "against engine: say which, engine E; `ulpscope engines` lists them");
  CHECK_THAT(refused([](MatmulCheck& x) { x.engine = "sm_81"; }), ContainsSubstring("sm_81") && ContainsSubstring("sm_80"));
  CHECK(refused([](MatmulCheck& x) { x.against = verify::Against::baseline; }) == "baseline: 0 elements; 24x20 are 480");
  CHECK(refused([](MatmulCheck& x) {
          x.out = emu::e5m2;
        }).ends_with("no number of float8_e5m2, which the output is said to hold"));
  const std::vector<float> third{1.0F / 3};
  CHECK(refused([&](MatmulCheck& x) { x.scale_a = {.values = third, .format = emu::e8m0}; }) ==
        "scale_a: 0.333333 is no number of float8_e8m0fnu");
}

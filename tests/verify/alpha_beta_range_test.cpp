// SPDX-License-Identifier: Apache-2.0
// Sums that leave the range of the accumulator, or of float64, before alpha and C bring them back, and infinities that meet
// those of C. The oracles are loops in the machine's own arithmetic.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "emu/catalogue.hpp"
#include "verify/matmul.hpp"
#include "verify/matmul_bound.hpp"
#include "verify/verdict.hpp"

namespace {
using namespace ulpscope;

/// One row by one column, and what is done to their product.
template <class Float>
struct OneElement {
  std::vector<Float> a, b;
  std::optional<Float> c = {};
  double alpha = 1;
  std::optional<double> beta = {};
};

template <class Float>
verify::Verdict judged(const OneElement<Float>& e, Float d) {
  const std::size_t k = e.a.size();
  const emu::Format format = sizeof(Float) == 8 ? emu::float64 : emu::float32;
  products::Product product{.engine = {},
                            .a = {{tensors::from_values("a", {1, k}, e.a)}, {format}, {}},
                            .b = {{tensors::from_values("b", {k, 1}, e.b)}, {format}, {}},
                            .c = {},
                            .acc = format,
                            .out = format,
                            .alpha = e.alpha,
                            .beta = e.beta};
  if (e.c) product.c = tensors::from_values("c", {1, 1}, std::vector<Float>{*e.c});
  const auto expectation = verify::expect_matmul(product, verify::matmul_allowance(product, {}));
  return verify::verify(*expectation, tensors::from_values("d", {1, 1}, std::vector<Float>{d}),
                        {.last = {format}, .threads = 1});
}

template <class Float>
bool is_right(const OneElement<Float>& e, Float d) {
  return judged(e, d).wrong() == 0;
}

/// Whether the infinities, -infinity first, and NaN are right.
template <class Float>
std::array<bool, 3> not_finite(const OneElement<Float>& e) {
  const Float infinity = std::numeric_limits<Float>::infinity(), nan = std::numeric_limits<Float>::quiet_NaN();
  return {is_right(e, -infinity), is_right(e, infinity), is_right(e, nan)};
}

using Three = std::array<bool, 3>;

/// As a kernel sums them, in this order.
template <class Float>
Float by_loop(const OneElement<Float>& e, const std::vector<std::size_t>& order) {
  Float sum = e.beta ? 0 : e.c.value_or(0);
  for (const std::size_t k : order) sum += e.a[k] * e.b[k];
  sum *= static_cast<Float>(e.alpha);
  return e.beta ? sum + static_cast<Float>(*e.beta) * e.c.value_or(0) : sum;
}

}  // namespace

TEST_CASE("what leaves float64 on the way and comes back is a finite number", "[verify][matmul]") {
  const OneElement<double> from_c{.a = {1e308, 1e308}, .b = {1, 1}, .c = -0.8e308};
  CHECK(by_loop(from_c, {0, 1}) == 1e308 + (1e308 - 0.8e308));
  CHECK(is_right(from_c, by_loop(from_c, {0, 1})));
  CHECK(judged(from_c, 1.2e308).equal == 1);
  CHECK_FALSE(is_right(from_c, 1.2e308 * (1 + 0x1p-40)));
  CHECK(not_finite(from_c) == Three{false, true, false});

  const OneElement<double> quarter{.a = std::vector<double>(4, 1.25e308), .b = std::vector<double>(4, 1), .alpha = 0.25};
  CHECK(judged(quarter, 1.25e308).equal == 1);
  CHECK_FALSE(is_right(quarter, 1.25e308 * (1 - 0x1p-40)));
  CHECK(not_finite(quarter) == Three{false, true, false});

  CHECK(is_right(OneElement<double>{.a = {1e308}, .b = {10}, .alpha = 0.01}, 1e307));
  CHECK_FALSE(is_right(OneElement<double>{.a = {1e308}, .b = {10}, .alpha = 0.01}, 1.001e307));
  CHECK(is_right(OneElement<double>{.a = {1e308}, .b = {1}, .c = 1e308, .alpha = 0.5}, 1e308));
  CHECK(is_right(OneElement<double>{.a = {1e308}, .b = {-10}, .c = 1e308, .alpha = 1, .beta = 9.5}, -0.5e308));

  // Terms of both signs leave the range, and no number but the small sum is right.
  const OneElement<double> both{.a = {1.5e308, -1.5e308, 1.5e308, -1.5e308, 1e300}, .b = {1, 1, 1, 1, 1}};
  CHECK(is_right(both, 1e300));
  CHECK_FALSE(is_right(both, 1e307));
  CHECK(not_finite(both) == Three{true, true, true});
}

TEST_CASE("in the place of what is beyond float64 stands what its terms overflow to", "[verify][matmul]") {
  const OneElement<double> both{.a = {-1e308, -1e308, -1e308, 1e308, 1e308, 1e308, 1e308, 1e308},
                                .b = std::vector<double>(8, 1)};
  CHECK(by_loop(both, {0, 1, 2, 3, 4, 5, 6, 7}) == -HUGE_VAL);
  CHECK(not_finite(both) == Three{true, true, true});
  CHECK_FALSE(is_right(both, 1e308));
  CHECK_FALSE(is_right(both, 0.0));
  const OneElement<double> up{.a = {-1e308, 1e308, 1e308, 1e308}, .b = std::vector<double>(4, 1)};
  CHECK(not_finite(up) == Three{false, true, false});
  // Of an operand that is infinite there is no other.
  const OneElement<double> infinite{.a = {HUGE_VAL, -1e308, 1}, .b = {1, 1, 1}};
  CHECK(not_finite(infinite) == Three{false, true, false});
  // Just beyond the range the greatest number is as near as a rounding.
  constexpr double most = std::numeric_limits<double>::max();
  const OneElement<double> edge{.a = {most, 0x1p970}, .b = {1, 1}};
  CHECK(judged(edge, HUGE_VAL).equal == 1);
  CHECK(is_right(edge, most));
  CHECK_FALSE(is_right(edge, most / 2));
}

TEST_CASE("an infinity that alpha does not make small meets the other one of C", "[verify][matmul]") {
  const auto element = [](float b, float c, double alpha, double beta) {
    return OneElement<float>{.a = {0x1p64F}, .b = {b}, .c = c, .alpha = alpha, .beta = beta};
  };
  const auto opposite = element(0x1.8p64F, -0x1p127F, 0.25, 2);
  CHECK(std::isnan(by_loop(opposite, {0})));
  CHECK(not_finite(opposite) == Three{true, true, true});
  CHECK(not_finite(element(0x1.8p64F, 0x1p127F, 0.25, 2)) == Three{false, true, false});
  CHECK(not_finite(element(0x1.8p64F, 0x1p127F, -0.25, 2)) == Three{true, true, true});
  CHECK(not_finite(element(0x1.8p64F, -0x1p127F, 0.25, 1)) == Three{false, true, false});
  CHECK(not_finite(element(0x1.8p62F, -0x1p127F, 0.25, 2)) == Three{true, false, false});
  // C is infinite itself.
  CHECK(not_finite(element(0x1.8p64F, -std::numeric_limits<float>::infinity(), 0.25, 2)) == Three{true, false, true});
  CHECK(not_finite(element(0x1.8p62F, -std::numeric_limits<float>::infinity(), 0.25, 2)) == Three{true, false, false});
}

TEST_CASE("alpha = 0 makes NaN of a sum that overflows, and no infinity", "[verify][matmul]") {
  const OneElement<float> overflows{.a = {1e20F}, .b = {1e20F}, .alpha = 0}, stays{.a = {1e10F}, .b = {1e20F}, .alpha = 0};
  CHECK(std::isnan(by_loop(overflows, {0})));
  CHECK(not_finite(overflows) == Three{false, false, true});
  CHECK(not_finite(stays) == Three{false, false, false});
  CHECK((is_right(overflows, 0.0F) && is_right(stays, 0.0F)));
  const OneElement<double> wide{.a = {1e308}, .b = {1e10}, .c = 3.0, .alpha = 0, .beta = 2};
  CHECK(not_finite(wide) == Three{false, false, true});
  CHECK(is_right(wide, 6.0));
}

TEST_CASE("what a loop in any order returns at the end of the range is right", "[verify][matmul]") {
  std::mt19937_64 random(1);
  const auto pick = [&](const auto& values) { return values[random() % values.size()]; };
  const auto draw = [&](auto zero, int top) {
    using Float = decltype(zero);
    OneElement<Float> e;
    for (std::size_t k = 0; k < 2 + random() % 6; ++k) {
      const auto fraction = static_cast<Float>(1 + static_cast<double>(random() % 256) / 256);
      const int exponent = top - static_cast<int>(random() % 4);
      e.a.push_back(std::ldexp(random() % 3 == 0 ? -fraction : fraction, exponent));
      e.b.push_back(static_cast<Float>(pick(std::array{1.0, 0.5, 2.0, -1.0})));
    }
    if (random() % 2 == 0) e.c = std::ldexp(static_cast<Float>(pick(std::array{1.0, -1.0, -1.75})), top);
    e.alpha = pick(std::array{1.0, 0.25, -0.125, 2.0, 0.0});
    if (e.c && random() % 2 == 0) e.beta = pick(std::array{1.0, 2.0, -2.0});
    std::vector<std::size_t> order(e.a.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    const Float d = by_loop(e, order);
    CAPTURE(e.a, e.b, e.c.value_or(0), e.alpha, e.beta.value_or(0), d);
    CHECK(is_right(e, d));
    return std::isfinite(d) ? 0 : 1;
  };
  int infinite = 0;
  for (int i = 0; i < 1000; ++i) infinite += draw(0.0F, 127), infinite += draw(0.0, 1023);
  CHECK(infinite > 300);
}

TEST_CASE("where float64 sums are in doubt, terms that cancel say what overflows", "[verify][matmul]") {
  // In float64 sums of terms of 2^194 the errors are beyond float32.
  constexpr float most = 0x1p97F;
  const auto element = [&](const std::vector<float>& a) {
    return OneElement<float>{.a = a, .b = std::vector<float>(a.size(), most)};
  };
  CHECK(not_finite(element({most, -most, most, -most})) == Three{true, true, true});
  CHECK(not_finite(element({most, most, -0x1p-70F})) == Three{false, true, false});
  CHECK(not_finite(element({most, most, -0x1p40F})) == Three{true, true, true});
  CHECK(not_finite(element({-most, -most})) == Three{true, false, false});
}

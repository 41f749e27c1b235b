// SPDX-License-Identifier: Apache-2.0
// Sums of integers in int32, against loops over 64 bit integers.
#include "verify/integer_matmul.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <random>
#include <vector>

#include "tensors/tensor.hpp"
#include "verify/verdict.hpp"

namespace {

using namespace ulpscope;
using verify::IntegerOverflow;

constexpr std::int64_t least = -(std::int64_t{1} << 31), greatest = (std::int64_t{1} << 31) - 1;

struct Integers {
  std::size_t m, n, k;
  std::vector<std::int64_t> a, b, c = {};

  std::int64_t term(std::size_t i, std::size_t j, std::size_t at) const { return a[i * k + at] * b[at * n + j]; }
  std::vector<std::int64_t> sums() const {
    std::vector<std::int64_t> d(m * n);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        std::int64_t sum = c.empty() ? 0 : c[j];
        for (std::size_t at = 0; at < k; ++at) sum += term(i, j, at);
        d[i * n + j] = sum;
      }
    return d;
  }
  /// Saturated after every product, in rising or falling order of k.
  std::vector<std::int64_t> saturated(bool rising) const {
    std::vector<std::int64_t> d(m * n);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        std::int64_t sum = c.empty() ? 0 : c[j];
        for (std::size_t at = 0; at < k; ++at) sum = std::clamp(sum + term(i, j, rising ? at : k - 1 - at), least, greatest);
        d[i * n + j] = sum;
      }
    return d;
  }
};

tensors::Tensor tensor(const char* name, std::vector<std::uint64_t> shape, const std::vector<std::int64_t>& values) {
  return tensors::from_values(name, std::move(shape), std::vector<double>(values.begin(), values.end()));
}

verify::Verdict judged(const Integers& in, const std::vector<std::int64_t>& d, IntegerOverflow overflow) {
  products::Product product{.a = {{tensor("A", {in.m, in.k}, in.a)}, {emu::float32}, {}},
                            .b = {{tensor("B", {in.k, in.n}, in.b)}, {emu::float32}, {}},
                            .acc = emu::float32,
                            .out = verify::int32_values};
  if (!in.c.empty()) product.c = tensor("C", {in.n}, in.c);
  const auto expectation = verify::expect_integer_matmul(product, overflow);
  return verify::verify(*expectation, tensor("D", {in.m, in.n}, d), {.last = {verify::int32_values}, .threads = 1});
}

std::vector<std::int64_t> random_integers(std::mt19937_64& random, std::size_t count, std::int64_t low, std::int64_t high) {
  std::vector<std::int64_t> out(count);
  for (auto& x : out) x = low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  return out;
}

std::vector<std::int64_t> wrapped(std::vector<std::int64_t> sums) {
  for (auto& x : sums) x = static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::uint64_t>(x)));
  return sums;
}

}  // namespace

TEST_CASE("int32 sums are equal or wrong: one off in 4096 products of int8 fails", "[verify][integers]") {
  std::mt19937_64 random(1);
  const Integers in{3,
                    5,
                    4096,
                    random_integers(random, std::size_t{3} * 4096, -128, 127),
                    random_integers(random, std::size_t{4096} * 5, -128, 127),
                    random_integers(random, 5, -100000, 100000)};
  const auto right = in.sums();
  const auto verdict = judged(in, right, IntegerOverflow::wrap);
  CHECK(verdict.outcome() == verify::Outcome::pass);
  CHECK(verdict.equal == 15);
  for (const std::int64_t off : {1, -1, 501}) {
    auto wrong = right;
    wrong[7] += off;
    const auto failed = judged(in, wrong, IntegerOverflow::wrap);
    CHECK(failed.beyond == 1);
    CHECK(failed.max_ulp == static_cast<double>(off < 0 ? -off : off));
  }
}

TEST_CASE("int32 sums beyond the range wrap around or saturate, as declared", "[verify][integers]") {
  std::mt19937_64 random(2);
  // Products of int16 near 2^30, the first of one sign, so that sums leave the range on both sides.
  Integers in{4, 6, 40, random_integers(random, std::size_t{4} * 40, 20000, 32767),
              random_integers(random, std::size_t{40} * 6, -32768, 32767)};
  for (std::size_t j = 0; j < 6; ++j)
    for (std::size_t at = 0; at < 40; ++at) {
      auto& x = in.b[at * 6 + j];
      x = j < 2 ? std::abs(x) : j < 4 ? -std::abs(x) : x;
    }
  const auto sums = in.sums();
  REQUIRE(std::any_of(sums.begin(), sums.end(), [](std::int64_t x) { return x > greatest; }));
  REQUIRE(std::any_of(sums.begin(), sums.end(), [](std::int64_t x) { return x < least; }));

  CHECK(judged(in, wrapped(sums), IntegerOverflow::wrap).equal == 24);
  CHECK(judged(in, wrapped(sums), IntegerOverflow::saturate).wrong() > 12);
  for (const bool rising : {false, true}) {
    CHECK(judged(in, in.saturated(rising), IntegerOverflow::saturate).wrong() == 0);
    CHECK(judged(in, in.saturated(rising), IntegerOverflow::wrap).wrong() > 12);
  }
  CHECK(verify::output_code(verify::int32_values, -1) == "ffffffff");
  CHECK(verify::output_code(verify::int32_values, -0x1p31) == "80000000");
  // Both ends are numbers of int32, and no others are taken for them.
  const Integers ends{1, 2, 3, {1, 1, 1}, {-32768, 32767, -32768, 32767, 0, 1}, {-2147418112, 2147418112}};
  CHECK(ends.sums() == std::vector{least, greatest});
  for (const auto overflow : {IntegerOverflow::wrap, IntegerOverflow::saturate}) {
    CHECK(judged(ends, {least, greatest}, overflow).equal == 2);
    CHECK(judged(ends, {least + 1, greatest - 1}, overflow).beyond == 2);
  }
}

TEST_CASE("int32 sums take integers of up to 16 bits", "[verify][integers]") {
  const Integers wide{1, 1, 1, {65537}, {1}};
  CHECK_THROWS(judged(wide, {65537}, IntegerOverflow::wrap));
  products::Product halves{.a = {{tensors::from_values("A", {1, 1}, std::vector<float>{0.5F})}, {emu::float32}, {}},
                           .b = {{tensors::from_values("B", {1, 1}, std::vector<float>{2})}, {emu::float32}, {}},
                           .acc = emu::float32,
                           .out = verify::int32_values};
  CHECK_THROWS(verify::expect_integer_matmul(halves, IntegerOverflow::wrap));
}

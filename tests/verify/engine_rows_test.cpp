// SPDX-License-Identifier: Apache-2.0
// What a declared engine itself returns is computed for wrong elements alone, and is right for them wherever they stand.
#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "emu/catalogue.hpp"
#include "verify/matmul.hpp"
#include "verify/matmul_bound.hpp"
#include "verify/verdict.hpp"

namespace {
using namespace ulpscope;

constexpr float infinite = std::numeric_limits<float>::infinity();

/// Counts the elements whose result on the engine is asked for.
class Asked final : public verify::Expectation {
 public:
  explicit Asked(std::unique_ptr<verify::Expectation> of) : of_(std::move(of)) {}
  std::vector<std::uint64_t> shape() const override { return of_->shape(); }
  emu::Format out() const override { return of_->out(); }
  std::string bound() const override { return of_->bound(); }
  std::string refusal() const override { return of_->refusal(); }
  void expect(std::uint64_t first, std::span<verify::Expected> elements) const override { of_->expect(first, elements); }
  verify::Precise precise(std::uint64_t index) const override { return of_->precise(index); }
  bool admits(std::uint64_t index, double output) const override { return of_->admits(index, output); }
  std::optional<double> of_engine(std::uint64_t index) const override {
    ++count_;
    return of_->of_engine(index);
  }
  int count() const { return count_; }

 private:
  std::unique_ptr<verify::Expectation> of_;
  mutable std::atomic<int> count_ = 0;
};

constexpr std::size_t m = 70, k = 12, n = 3;

/// Two products of 70 rows, a seventh of which have operands that are infinite on bfloat16's engines.
products::Product product(const std::string& engine, float special) {
  std::mt19937_64 random(1);
  std::vector<float> a(2 * m * k), b(2 * k * n);
  for (float& x : a) x = random() % 100 == 0 ? special : static_cast<float>(random() % 1000) / 1000 - 0.5F;
  for (float& x : b) x = static_cast<float>(random() % 1000) / 1000 + 0.5F;
  return {.engine = engine,
          .a = {{tensors::from_values("a", {2, m, k}, a)}, {emu::float32}, {}},
          .b = {{tensors::from_values("b", {2, k, n}, b)}, {emu::float32}, {}},
          .c = {},
          .acc = emu::float32,
          .out = emu::float32,
          .beta = {}};
}

std::unique_ptr<verify::Expectation> expected(const products::Product& product, bool has_engine = true) {
  verify::Arithmetic arithmetic;
  arithmetic.engine = products::engine_of(product);
  verify::Allowance allowance = verify::matmul_allowance(product, arithmetic);
  if (!has_engine) allowance.engine.reset();
  return verify::expect_matmul(product, allowance);
}

std::uint64_t wrong(const verify::Expectation& expectation, const std::vector<float>& d) {
  return verify::verify(expectation, tensors::from_values("d", {2, m, n}, d), {.last = {emu::float32}, .threads = 2}).wrong();
}

std::vector<float> of_engine(const products::Product& product) {
  std::vector<float> d(2 * m * n);
  products::multiply(product).source->read(0, std::span(d));
  return d;
}

}  // namespace

TEST_CASE("an engine is not asked for elements that are right, though infinite", "[verify][matmul]") {
  const products::Product config = product("fma", infinite);
  std::vector<float> d = of_engine(config);
  int not_finite = 0;
  for (const float x : d) not_finite += std::isfinite(x) ? 0 : 1;
  REQUIRE(not_finite > 20);
  const Asked right(expected(config));
  CHECK(wrong(right, d) == 0);
  CHECK(right.count() == 0);
  for (float& x : d)
    if (!std::isfinite(x)) x = 1;
  const Asked other(expected(config));
  CHECK(wrong(other, d) == static_cast<std::uint64_t>(not_finite));
  CHECK(other.count() == not_finite);
}

TEST_CASE("what an engine itself returns is right in every row of every product", "[verify][matmul]") {
  // Infinite in bfloat16, and not in float32.
  const products::Product config = product("bf16x9", 0x1.ffp127F);
  std::vector<float> d = of_engine(config);
  CHECK(wrong(*expected(config), d) == 0);
  const std::uint64_t by_engine = wrong(*expected(config, false), d);
  CHECK(by_engine > 10);
  // The same results a row further on are those of none.
  std::rotate(d.begin(), d.begin() + n, d.end());
  CHECK(wrong(*expected(config), d) > by_engine);
}

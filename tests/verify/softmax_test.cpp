// SPDX-License-Identifier: Apache-2.0
// Bounds of softmax, against plain kernels and planted faults.
#include "verify/operations/softmax.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <vector>

#include "tests/verify/big.hpp"
#include "tests/verify/operations_data.hpp"
#include "verify/operations/kept_rows.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::operations;

/// Every result rounded to the format of intermediate results.
struct Kernel {
  emu::Format format;
  float r(float x) const { return as(format, x); }
  float e(float x) const { return r(std::exp(x)); }

  std::vector<float> two_passes(std::span<const float> x, int step) const {
    const float m = *std::max_element(x.begin(), x.end());
    std::vector<float> y(x.begin(), x.end());
    for (float& v : y) v = e(r(v - m));
    float sum = 0;
    if (step > 0)
      for (const float v : y) sum = r(sum + v);
    else
      for (std::size_t i = y.size(); i-- > 0;) sum = r(sum + y[i]);
    for (float& v : y) v = step > 0 ? r(v / sum) : r(v * r(1 / sum));
    return y;
  }
  std::vector<float> online(std::span<const float> x, std::size_t block) const {
    float m = -infinite, sum = 0;
    for (std::size_t first = 0; first < x.size(); first += block) {
      const auto part = x.subspan(first, std::min(block, x.size() - first));
      const float greatest = std::max(m, *std::max_element(part.begin(), part.end()));
      if (greatest == -infinite) continue;
      sum = r(sum * e(r(m - greatest)));
      for (const float v : part) sum = r(sum + e(r(v - greatest)));
      m = greatest;
    }
    std::vector<float> y(x.begin(), x.end());
    for (float& v : y) v = r(e(r(v - m)) / sum);
    return y;
  }
};

std::vector<float> adversarial(std::size_t n, int kind, std::mt19937_64& random) {
  std::vector<float> x = normals(random, n, 1, emu::float32);
  for (std::size_t i = 0; i < n; ++i) {
    const auto at = static_cast<float>(i);
    if (kind == 1) x[i] *= 300;
    if (kind == 2) x[i] = 7.25F;
    if (kind == 3) x[i] = at / 3;
    if (kind == 4) x[i] = i % 3 == 0 ? -infinite : x[i];
    if (kind == 5) x[i] *= 1e-42F;
    if (kind == 6) x[i] = i == n / 2 ? 90.0F : 2 * x[i];
    if (kind == 7) x[i] = x[i] * 20 + 60000;
  }
  return x;
}
constexpr int kinds = 8;

std::unique_ptr<verify::Expectation> expectation(const std::vector<float>& x, std::size_t columns, emu::Format compute,
                                                 emu::Format out) {
  return verify::expect_softmax(
      {.x = values({x.size() / columns, columns}, x), .arithmetic = {.format = compute}, .last = {out}});
}

std::vector<float> rows(const std::vector<float>& x, std::size_t columns, emu::Format out, const auto& kernel) {
  std::vector<float> y;
  for (std::size_t i = 0; i < x.size(); i += columns)
    for (const float v : kernel(std::span(x).subspan(i, columns))) y.push_back(as(out, v));
  return y;
}

/// 1 / sum of e^(x_j - x_i): no maximum.
Big exact_softmax(std::span<const float> x, std::size_t i) {
  if (x[i] == -infinite) return Big(0);
  Big sum;
  for (const float v : x)
    if (v != -infinite) sum = sum + (Big(static_cast<double>(v)) - Big(static_cast<double>(x[i]))).exponential();
  return Big(1) / sum;
}

}  // namespace

TEST_CASE("softmax: the radius encloses the exact value, and the precise value is it", "[verify][softmax]") {
  std::mt19937_64 random(1);
  constexpr std::size_t n = 37;
  for (int kind = 0; kind < kinds; ++kind) {
    const auto x = adversarial(n, kind, random);
    const auto exact = expectation(x, n, emu::float32, emu::float32);
    std::vector<verify::Expected> all(n), one(1);
    exact->expect(0, all);
    for (std::size_t i = 0; i < n; ++i) {
      CAPTURE(kind, i);
      const Big truth = exact_softmax(x, i);
      CHECK(encloses(all[i].value, all[i].radius, truth));
      CHECK(all[i].radius <= 1e-13 * all[i].value + 1e-300);
      const verify::Precise precise = exact->precise(i);
      CHECK((Big(precise.high) + Big(precise.low) - truth).magnitude() <=
            Big(std::fmax(std::ldexp(precise.high, -100), 0x1p-1074)));
      CHECK(precise.rounded == static_cast<double>(truth.nearest_float()));
      exact->expect(i, one);
      CHECK(one[0].value == all[i].value);
      CHECK(one[0].allowed == all[i].allowed);
    }
  }
}

TEST_CASE("softmax: the radius does not grow with the row", "[verify][softmax]") {
  std::mt19937_64 random(4);
  for (const std::size_t n : std::initializer_list<std::size_t>{64, 1U << 16}) {
    const auto x = normals(random, n, 1, emu::float32);
    std::vector<verify::Expected> all(n);
    expectation(x, n, emu::float32, emu::float32)->expect(0, all);
    CAPTURE(n);
    CHECK(std::all_of(all.begin(), all.end(), [](const verify::Expected& e) { return e.radius <= 0x1p-48 * e.value; }));
  }
}

TEST_CASE("what the elements of a row share is made once, and again only where many other rows were asked for between",
          "[verify]") {
  const verify::KeptRows<std::uint64_t> rows;
  int made = 0;
  const auto of = [&](std::uint64_t row) { return *rows.of(row, [&] { return ++made, 10 * row; }); };
  for (int i = 0; i < 5; ++i)
    for (const std::uint64_t row : {7U, 8U}) CHECK(of(row) == 10 * row);
  CHECK(made == 2);
  constexpr std::uint64_t many = 10'000;  // more than there are threads
  for (std::uint64_t row = 9; row < many; ++row) of(row), of(8);
  CHECK(made == static_cast<int>(many) - 7);
  CHECK(of(7) == 70);
  CHECK(made == static_cast<int>(many) - 6);
}

TEST_CASE("softmax: no correct kernel is beyond the bound", "[verify][softmax]") {
  std::mt19937_64 random(2);
  double closest = 0;
  for (const std::size_t n : std::initializer_list<std::size_t>{1, 5, 64, 777}) {
    for (int kind = 0; kind < kinds; ++kind) {
      std::vector<float> x;
      for (int i = 0; i < 20; ++i) {
        const auto row = adversarial(n, n == 1 && kind == 4 ? 0 : kind, random);
        x.insert(x.end(), row.begin(), row.end());
      }
      for (const emu::Format compute : {emu::float32, emu::bfloat16, emu::float16}) {
        const emu::Format out = compute == emu::float16 ? emu::float16 : emu::bfloat16;
        for (const emu::Format last : {compute, out}) {
          const Kernel kernel{compute};
          const auto exact = expectation(x, n, compute, last);
          const auto judged = [&](const auto& of_row) {
            const Tally tally = judge_all(*exact, rows(x, n, last, of_row), {last});
            CAPTURE(n, kind, compute.fraction_bits, last.fraction_bits, tally.beyond, tally.nonfinite);
            CHECK(tally.wrong() == 0);
            closest = std::fmax(closest, tally.closest);
          };
          judged([&](auto row) { return kernel.two_passes(row, 1); });
          judged([&](auto row) { return kernel.two_passes(row, -1); });
          for (const std::size_t block : std::initializer_list<std::size_t>{16, 50, 128})
            judged([&](auto row) { return kernel.online(row, block); });
        }
      }
    }
  }
  CHECK(closest > 0.2);  // otherwise the bound says little
}

TEST_CASE("softmax: planted faults are beyond the bound", "[verify][softmax]") {
  std::mt19937_64 random(3);
  constexpr std::size_t n = 256;
  const Kernel kernel{emu::float32};
  const auto x = adversarial(n, 1, random), mild = adversarial(n, 0, random);
  const auto of = [&](const std::vector<float>& in, emu::Format out, const auto& fault) {
    return judge_all(*expectation(in, n, emu::float32, out), rows(in, n, out, fault), {out});
  };
  // Without the maximum e^x overflows.
  const Tally no_maximum = of(x, emu::float32, [](std::span<const float> row) {
    std::vector<float> y(row.begin(), row.end());
    float sum = 0;
    for (float& v : y) sum += v = std::exp(v);
    for (float& v : y) v /= sum;
    return y;
  });
  CHECK(no_maximum.nonfinite > 0);
  // A sum that misses its last element.
  const auto dropped = [&](std::span<const float> row) {
    auto y = kernel.two_passes(row.first(n - 1), 1);
    y.push_back(y.back());
    return y;
  };
  CHECK(of(mild, emu::float32, dropped).beyond > n / 2);
  // A temperature of 1 + 2^-6.
  const auto warm = [&](std::span<const float> row) {
    std::vector<float> scaled(row.begin(), row.end());
    for (float& v : scaled) v *= 1 + 0x1p-6F;
    return kernel.two_passes(scaled, 1);
  };
  CHECK(of(mild, emu::bfloat16, warm).beyond > n / 10);
  // bfloat16 sums where float32 is declared.
  const Kernel narrow{emu::bfloat16};
  CHECK(of(mild, emu::bfloat16, [&](auto row) { return narrow.two_passes(row, 1); }).beyond > n / 10);
}

TEST_CASE("softmax of NaN and +inf is NaN, of -inf 0, of nothing but -inf NaN", "[verify][softmax]") {
  const std::vector<float> x{1, no_number, 2, 1, infinite, 2, 1, -infinite, 2, -infinite, -infinite, -infinite};
  const auto exact = expectation(x, 3, emu::float32, emu::float32);
  std::vector<verify::Expected> all(x.size());
  exact->expect(0, all);
  for (const std::size_t i : std::initializer_list<std::size_t>{0, 1, 2, 3, 4, 5, 9, 10, 11}) CHECK(std::isnan(all[i].value));
  CHECK(all[7].value == 0);
  CHECK(all[7].allowed == 0);
  CHECK(judge(*exact, 7, all[7], 1e-45, {emu::float32}) == verify::Standing::beyond);
  CHECK(exact->refusal().empty());
}

TEST_CASE("softmax of nothing but -inf is what is declared", "[verify][softmax]") {
  const std::vector<float> x{-infinite, -infinite, 1, -infinite, 1, no_number, -infinite, infinite};
  for (const auto masked : {verify::FullyMasked::undeclared, verify::FullyMasked::nan, verify::FullyMasked::zero}) {
    const auto exact = verify::expect_softmax({.x = values({4, 2}, x), .last = {emu::float32}, .fully_masked = masked});
    std::vector<verify::Expected> all(x.size());
    exact->expect(0, all);
    for (const std::size_t i : {0U, 1U}) {
      const bool is_zero = masked == verify::FullyMasked::zero;
      CAPTURE(i, is_zero);
      CHECK(std::isnan(all[i].value) != is_zero);
      for (const double output : {0.0, 0x1p-149, 0.5, std::numeric_limits<double>::quiet_NaN()}) {
        const bool is_right = is_zero ? output == 0 : std::isnan(output);
        CHECK((judge(*exact, i, all[i], output, {emu::float32}) == verify::Standing::equal) == is_right);
      }
    }
    CHECK(all[2].value == 1);
    CHECK(all[3].value == 0);
    for (const std::size_t i : {4U, 5U, 6U, 7U}) CHECK(std::isnan(all[i].value));
  }
}

TEST_CASE("softmax: a bound as large as the result is refused", "[verify][softmax]") {
  CHECK(!expectation(std::vector<float>(4096, 1.0F), 4096, emu::bfloat16, emu::bfloat16)->refusal().empty());
  CHECK(expectation(std::vector<float>(16, 1.0F), 16, emu::bfloat16, emu::bfloat16)->refusal().empty());
}

TEST_CASE("softmax: the least finite number is a weight of 0, whose row is judged", "[verify][softmax]") {
  const float least = std::numeric_limits<float>::lowest();
  const auto expectation = verify::expect_softmax({.x = values({1, 3}, {1, 2, least}), .last = {emu::float32}});
  std::vector<verify::Expected> row(3);
  expectation->expect(0, row);
  for (const verify::Expected& element : row) CHECK(element.allowed < 1e-5);
  CHECK(row[2].value == 0);
}

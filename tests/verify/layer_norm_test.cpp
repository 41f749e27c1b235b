// SPDX-License-Identifier: Apache-2.0
// Bounds of layer norm and RMS norm, against plain kernels and planted faults.
#include "verify/operations/layer_norm.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tensors/tensor.hpp"
#include "tests/verify/big.hpp"
#include "tests/verify/operations_data.hpp"
#include "verify/verdict.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::operations;
using verify::Norm;

struct Moments {
  float mean, variance;
};

/// Every result rounded to the format of intermediate results.
struct Kernel {
  emu::Format format;
  float r(float x) const { return as(format, x); }

  Moments two_passes(std::span<const float> x) const {
    const auto n = static_cast<float>(x.size());
    float sum = 0, squares = 0;
    for (const float v : x) sum = r(sum + v);
    const float mean = r(sum / n);
    for (const float v : x) squares = r(squares + r(r(v - mean) * r(v - mean)));
    return {mean, r(squares / n)};
  }
  Moments welford(std::span<const float> x) const {
    float mean = 0, squares = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
      const float difference = r(x[k] - mean);
      mean = r(mean + r(difference / static_cast<float>(k + 1)));
      squares = r(squares + r(difference * r(x[k] - mean)));
    }
    return {mean, r(squares / static_cast<float>(x.size()))};
  }
  struct Part {
    float n, mean, squares;
  };
  Part merged(std::span<const float> x) const {
    if (x.size() == 1) return {1, x[0], 0};
    const Part a = merged(x.first((x.size() + 1) / 2)), b = merged(x.subspan((x.size() + 1) / 2));
    const float n = a.n + b.n, difference = r(b.mean - a.mean);
    return {n, r(a.mean + r(r(difference * b.n) / n)),
            r(r(a.squares + b.squares) + r(r(difference * difference) * r(r(a.n * b.n) / n)))};
  }
  Moments merging(std::span<const float> x) const {
    const Part all = merged(x);
    return {all.mean, r(all.squares / all.n)};
  }
  Moments one_pass(std::span<const float> x) const {
    const auto n = static_cast<float>(x.size());
    float sum = 0, squares = 0;
    for (const float v : x) sum = r(sum + v), squares = r(squares + r(v * v));
    const float mean = r(sum / n);
    return {mean, r(r(squares / n) - r(mean * mean))};
  }

  std::vector<float> normalised(std::span<const float> x, Moments m, float eps, std::span<const float> w,
                                std::span<const float> b) const {
    const float factor = r(1 / r(std::sqrt(r(m.variance + eps))));
    std::vector<float> y(x.size());
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = r(r(r(r(x[i] - m.mean) * factor) * w[i]) + b[i]);
    return y;
  }
  /// x (r w) + (b - m r w)
  std::vector<float> fused(std::span<const float> x, Moments m, float eps, std::span<const float> w,
                           std::span<const float> b) const {
    const float factor = r(1 / r(std::sqrt(r(m.variance + eps))));
    std::vector<float> y(x.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
      const float scale = r(factor * w[i]);
      y[i] = r(r(x[i] * scale) + r(b[i] - r(m.mean * scale)));
    }
    return y;
  }
};

std::vector<float> adversarial(std::size_t n, int kind, std::mt19937_64& random, emu::Format in) {
  std::vector<float> x = normals(random, n, 1, emu::float32);
  for (std::size_t i = 0; i < n; ++i) {
    if (kind == 1) x[i] += 30;
    if (kind == 2) x[i] = 3.25F;
    if (kind == 3) x[i] *= 1e-4F;
    if (kind == 4) x[i] = i == n / 3 ? 1000.0F : x[i];
    if (kind == 5) x[i] *= 1e-41F;
    if (kind == 6) x[i] = i == 0 ? 3000.0F : 0.0F;
    if (kind == 7) x[i] = 1000 + x[i] / 64;
    if (kind == 8) x[i] = 1000 + x[i] / 4;
    x[i] = as(in, x[i]);
  }
  return x;
}
constexpr int kinds = 8;

struct Case {
  std::size_t n;
  std::vector<float> x, weight, bias;
  float eps = 0x1p-17F;

  std::unique_ptr<verify::Expectation> expectation(verify::KernelArithmetic arithmetic, emu::Format out,
                                                   Norm norm = Norm::layer,
                                                   verify::Variance variance = verify::Variance::centred) const {
    return verify::expect_layer_norm({.x = values({x.size() / n, n}, x),
                                      .weight = values({n}, weight),
                                      .bias = values({n}, bias),
                                      .eps = static_cast<double>(eps),
                                      .norm = norm,
                                      .variance = variance,
                                      .arithmetic = arithmetic,
                                      .last = {out}});
  }
  std::vector<float> each(emu::Format out, const auto& kernel) const {
    std::vector<float> y;
    for (std::size_t i = 0; i < x.size(); i += n)
      for (const float v : kernel(std::span(x).subspan(i, n))) y.push_back(as(out, v));
    return y;
  }
};

Case make(std::size_t n, std::size_t rows, int kind, std::uint64_t seed, emu::Format in = emu::float32) {
  std::mt19937_64 random(seed);
  Case c{.n = n, .x = {}, .weight = normals(random, n, 0.3, in, 1), .bias = normals(random, n, 0.1, in)};
  for (std::size_t i = 0; i < rows; ++i) {
    const auto row = adversarial(n, kind, random, in);
    c.x.insert(c.x.end(), row.begin(), row.end());
  }
  return c;
}

/// The variance by pairs, sum over i < j of (x_i - x_j)^2 / n^2, and the power -1/2.
Big exact_norm(const Case& c, std::size_t i, Norm norm) {
  const Big n(static_cast<double>(c.n));
  Big sum, squares;
  for (std::size_t j = 0; j < c.n; ++j) {
    const Big x(static_cast<double>(c.x[j]));
    sum = sum + x;
    if (norm == Norm::rms) squares = squares + x * x * n;
    for (std::size_t k = 0; norm == Norm::layer && k < j; ++k) {
      const Big difference = x - Big(static_cast<double>(c.x[k]));
      squares = squares + difference * difference;
    }
  }
  const Big factor = (squares / n / n + Big(static_cast<double>(c.eps))).power(Big(-0.5));
  const Big x(static_cast<double>(c.x[i]));
  return (norm == Norm::layer ? x - sum / n : x) * factor * Big(static_cast<double>(c.weight[i])) +
         Big(static_cast<double>(c.bias[i]));
}

}  // namespace

TEST_CASE("layer norm: the radius encloses the exact value, and the precise value is it", "[verify][layer_norm]") {
  for (const Norm norm : {Norm::layer, Norm::rms}) {
    for (int kind = 0; kind < kinds; ++kind) {
      for (const float eps : {0x1p-17F, 0.0F}) {
        if (eps == 0 && kind == 2) continue;
        Case c = make(23, 1, kind, 5);
        c.eps = eps;
        const auto exact = c.expectation({}, emu::float32, norm);
        std::vector<verify::Expected> all(c.n);
        exact->expect(0, all);
        for (std::size_t i = 0; i < c.n; ++i) {
          CAPTURE(kind, i, eps, all[i].value, all[i].radius);
          const Big truth = exact_norm(c, i, norm);
          CHECK(encloses(all[i].value, all[i].radius, truth));
          CHECK(all[i].radius <= 1e-9 * (all[i].magnitude + 1));
          const verify::Precise precise = exact->precise(i);
          CHECK((Big(precise.high) + Big(precise.low) - truth).magnitude() <= Big(std::ldexp(std::fabs(precise.high), -100)));
          CHECK(precise.rounded == static_cast<double>(truth.nearest_float()));
        }
      }
    }
  }
}

TEST_CASE("layer norm: the radius does not grow with the row", "[verify][layer_norm]") {
  for (const Norm norm : {Norm::layer, Norm::rms})
    for (const std::size_t n : std::initializer_list<std::size_t>{64, 1U << 16}) {
      Case c = make(n, 1, 0, 5);
      std::vector<verify::Expected> all(n);
      c.expectation({}, emu::float32, norm)->expect(0, all);
      CAPTURE(n);
      CHECK(std::all_of(all.begin(), all.end(), [](const verify::Expected& e) { return e.radius <= 0x1p-48 * e.magnitude; }));
    }
}

TEST_CASE("layer norm: no correct kernel is beyond the bound", "[verify][layer_norm]") {
  double closest = 0;
  std::size_t worth = 0;
  for (const std::size_t n : std::initializer_list<std::size_t>{1, 4, 64, 500}) {
    for (int kind = 0; kind < kinds; ++kind) {
      for (const emu::Format compute : {emu::float32, emu::bfloat16, emu::float16}) {
        const emu::Format in = compute == emu::float32 ? emu::bfloat16 : compute;
        const Case c = make(n, 20, kind, 7 + n, in);
        for (const emu::Format out : {compute, in}) {
          const Kernel k{compute};
          const auto judged = [&](const verify::Expectation& exact, const auto& kernel) {
            const Tally tally = judge_all(exact, c.each(out, kernel), {out});
            CAPTURE(n, kind, compute.fraction_bits, out.fraction_bits, tally.beyond, tally.nonfinite);
            CHECK(tally.wrong() == 0);
            closest = std::fmax(closest, tally.closest);
          };
          const auto exact = c.expectation({.format = compute}, out);
          worth += exact->refusal().empty();
          const std::span<const float> w = c.weight, b = c.bias;
          judged(*exact, [&](auto x) { return k.normalised(x, k.two_passes(x), c.eps, w, b); });
          judged(*exact, [&](auto x) { return k.normalised(x, k.welford(x), c.eps, w, b); });
          judged(*exact, [&](auto x) { return k.normalised(x, k.merging(x), c.eps, w, b); });
          judged(*exact, [&](auto x) { return k.fused(x, k.two_passes(x), c.eps, w, b); });
          judged(*exact, [&](auto x) { return k.fused(x, k.merging(x), c.eps, w, b); });
          const auto deep = c.expectation({.format = compute, .depth = 18}, out);  // two for each of nine merges
          judged(*deep, [&](auto x) { return k.normalised(x, k.merging(x), c.eps, w, b); });
          if (kind == 2 || kind == 7) continue;  // the difference of the squares may be negative
          const auto once = c.expectation({.format = compute}, out, Norm::layer, verify::Variance::one_pass);
          judged(*once, [&](auto x) { return k.normalised(x, k.one_pass(x), c.eps, w, b); });
        }
      }
    }
  }
  CHECK(worth > 90);  // of 192; in bfloat16 a sum of 500 terms is refused
  CHECK(closest > 0.2);
}

TEST_CASE("rms norm: no correct kernel is beyond the bound", "[verify][layer_norm]") {
  for (const std::size_t n : std::initializer_list<std::size_t>{1, 64, 500}) {
    for (int kind = 0; kind < kinds; ++kind) {
      for (const emu::Format compute : {emu::float32, emu::bfloat16}) {
        const Case c = make(n, 20, kind, 11 + n, emu::bfloat16);
        const Kernel k{compute};
        const auto y = c.each(emu::bfloat16, [&](std::span<const float> x) {
          float squares = 0;
          for (const float v : x) squares = k.r(squares + k.r(v * v));
          return k.normalised(x, {0, k.r(squares / static_cast<float>(n))}, c.eps, c.weight, c.bias);
        });
        const Tally tally = judge_all(*c.expectation({.format = compute}, emu::bfloat16, Norm::rms), y, {emu::bfloat16});
        CAPTURE(n, kind, compute.fraction_bits);
        CHECK(tally.wrong() == 0);
      }
    }
  }
}

TEST_CASE("layer norm: planted faults are beyond the bound", "[verify][layer_norm]") {
  constexpr std::size_t n = 64;
  const Kernel k{emu::float32};
  const auto faulty = [&](const Case& c, emu::Format out, const auto& kernel) {
    return judge_all(*c.expectation({}, out), c.each(out, kernel), {out}).beyond;
  };
  const Case normal = make(n, 10, 0, 13), tiny = make(n, 10, 3, 17), far = make(n, 10, 8, 19);
  const auto with = [&](const Case& c, const auto& change) {
    return [&, change](std::span<const float> x) {
      Moments m = k.two_passes(x);
      float eps = c.eps;
      change(m, eps);
      return k.normalised(x, m, eps, c.weight, c.bias);
    };
  };
  // n - 1 instead of n: 2^-7 of the result.
  const auto unbiased = [](Moments& m, float&) { m.variance *= 64.0F / 63.0F; };
  CHECK(faulty(normal, emu::float32, with(normal, unbiased)) > 9 * n);
  CHECK(faulty(normal, emu::bfloat16, with(normal, unbiased)) > 4 * n);
  // No eps where the variance is 10^-8.
  CHECK(faulty(tiny, emu::bfloat16, with(tiny, [](Moments&, float& eps) { eps = 0; })) > 9 * n);
  // The mean left in.
  CHECK(faulty(normal, emu::bfloat16, with(normal, [](Moments& m, float&) { m.mean = 0; })) > 2 * n);
  // Weights without bias.
  const std::vector<float> none(n);
  const auto no_bias = [&](std::span<const float> x) {
    return k.normalised(x, k.two_passes(x), normal.eps, normal.weight, none);
  };
  CHECK(faulty(normal, emu::bfloat16, no_bias) > 5 * n);
  // Mean of squares minus square of the mean, of numbers around 1000 with a deviation of 1/4.
  CHECK(faulty(far, emu::float32, [&](auto x) { return k.normalised(x, k.one_pass(x), far.eps, far.weight, far.bias); }) > n);
  // Sums in bfloat16.
  const Kernel narrow{emu::bfloat16};
  CHECK(faulty(normal, emu::bfloat16,
               [&](auto x) { return k.normalised(x, narrow.two_passes(x), normal.eps, normal.weight, normal.bias); }) > n);
}

TEST_CASE("layer norm without anything to divide by is NaN, and bad shapes are refused", "[verify][layer_norm]") {
  const std::vector<float> x{3, 3, 3, 0, 0, 0, 1, no_number, 2, 1, 2, infinite};
  const auto undefined = [&](Norm norm, double eps) {
    const auto exact = verify::expect_layer_norm({.x = values({4, 3}, x), .eps = eps, .norm = norm, .last = {emu::float32}});
    std::vector<verify::Expected> all(12);
    exact->expect(0, all);
    std::vector<bool> rows;
    for (std::size_t i = 0; i < 12; i += 3) rows.push_back(std::isnan(all[i].value));
    return rows;
  };
  CHECK(undefined(Norm::layer, 0) == std::vector{true, true, true, true});
  CHECK(undefined(Norm::rms, 0) == std::vector{false, true, true, false});  // 1 / infinity is 0
  CHECK(undefined(Norm::layer, 1e-5) == std::vector{false, false, true, true});
  CHECK_THROWS(verify::expect_layer_norm({.x = values({4, 3}, x), .weight = values({2}, {1, 1}), .last = {emu::float32}}));
  CHECK_THROWS(verify::expect_layer_norm({.x = values({4, 3}, x), .last = {emu::float64}}));
  for (const auto& [norm, name] :
       {std::pair(Norm::layer, "layer norm needs rows"), std::pair(Norm::rms, "RMS norm needs rows")})
    CHECK_THROWS_WITH(verify::expect_layer_norm({.x = values({5, 0}, {}), .norm = norm, .last = {emu::float32}}),
                      std::string(name) + " of at least one element, not 5x0");
}

TEST_CASE("norms whose squares overflow pass zeros, and say so", "[verify][layer_norm]") {
  std::mt19937_64 random(3);
  const std::vector<float> x = normals(random, 150, 1e20, emu::float32);
  const std::vector<float> zeros(150, 0);
  const tensors::Tensor output = tensors::from_values("zeros", {3, 50}, zeros);
  for (const Norm norm : {Norm::layer, Norm::rms}) {
    const auto exact = verify::expect_layer_norm({.x = values({3, 50}, x), .norm = norm, .last = {emu::float32}});
    const verify::Verdict verdict = verify::verify(*exact, output, {.last = {emu::float32}});
    CHECK(verdict.zeros_pass == 150);
    CHECK(verdict.outcome() == verify::Outcome::vacuous);
  }
}

// SPDX-License-Identifier: Apache-2.0
// Norms of float32 kernels in many orders are within their tighter bounds, an epsilon that is wrong is beyond them; infinities.
#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "tests/verify/operations_data.hpp"
#include "verify/operations/layer_norm.hpp"
#include "verify/operations/partial_means.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::operations;
using verify::Norm;
using verify::Standing;
using verify::Variance;

constexpr verify::LastRounding single{emu::float32};
constexpr float eps = 1e-5F;

using Terms = std::vector<float>;
using Adder = std::function<float(Terms)>;

float sequential(const Terms& x) {
  float sum = 0;
  for (const float v : x) sum += v;
  return sum;
}
float pairwise(std::span<const float> x) {
  if (x.size() == 1) return x[0];
  return pairwise(x.first(x.size() / 2)) + pairwise(x.subspan(x.size() / 2));
}
/// `lanes` chains of every lanes-th term, whose sums are added by pairs.
float in_lanes(const Terms& x, std::size_t lanes) {
  Terms sums(std::min(lanes, x.size()), 0.0F);
  for (std::size_t i = 0; i < x.size(); ++i) sums[i % sums.size()] += x[i];
  return pairwise(sums);
}
Terms sorted(Terms x, bool rising) {
  std::sort(x.begin(), x.end(),
            [&](float a, float b) { return rising ? std::fabs(a) < std::fabs(b) : std::fabs(a) > std::fabs(b); });
  return x;
}
/// All of one sign first, the greatest first: partial sums as large as they can be.
Terms by_sign(Terms x) {
  std::sort(x.begin(), x.end(), std::greater<>());
  return x;
}

/// No term of 1024 meets more than 64 additions: 32 or more lanes, a tree of at most 5 levels or 8 above them.
const std::vector<Adder> shallow{[](const Terms& x) { return pairwise(x); }, [](const Terms& x) { return in_lanes(x, 32); },
                                 [](const Terms& x) { return in_lanes(sorted(x, false), 32); },
                                 [](const Terms& x) { return in_lanes(by_sign(x), 128); },
                                 [](const Terms& x) { return pairwise(by_sign(x)); }};
const std::vector<Adder> deep{
    [](const Terms& x) { return sequential(x); }, [](const Terms& x) { return sequential(sorted(x, false)); },
    [](const Terms& x) { return sequential(sorted(x, true)); }, [](const Terms& x) { return sequential(by_sign(x)); },
    [](const Terms& x) { return in_lanes(by_sign(x), 4); }};

/// How a norm may be wrong.
enum class Fault { none, eps_missing, eps_outside, eps_small, eps_per_sum };

float inverse_root(float squares, float n, Fault fault) {
  switch (fault) {
    case Fault::none: return 1 / std::sqrt(squares / n + eps);
    case Fault::eps_missing: return 1 / std::sqrt(squares / n);
    case Fault::eps_outside: return 1 / (std::sqrt(squares / n) + eps);
    case Fault::eps_small: return 1 / std::sqrt(squares / n + 1e-6F);
    case Fault::eps_per_sum: break;
  }
  return 1 / std::sqrt((squares + eps) / n);
}

Terms norm_of(std::span<const float> x, Norm norm, const Adder& add, Fault fault) {
  const auto n = static_cast<float>(x.size());
  const float mean = norm == Norm::layer ? add({x.begin(), x.end()}) / n : 0;
  Terms centred(x.begin(), x.end()), squares;
  for (float& v : centred) v -= mean;
  for (const float v : centred) squares.push_back(v * v);
  const float factor = inverse_root(add(squares), n, fault);
  for (float& v : centred) v *= factor;
  return centred;
}

struct Welford {
  float n = 0, mean = 0, squares = 0;
  void add(float x) {
    n += 1;
    const float difference = x - mean;
    mean += difference / n;
    squares += difference * (x - mean);
  }
  Welford merged(const Welford& b) const {
    const float both = n + b.n, difference = b.mean - mean;
    return {both, mean + difference * (b.n / both), squares + b.squares + difference * difference * (n * b.n / both)};
  }
};

/// Lanes of Welford's updates, merged by pairs.
Terms by_welford(std::span<const float> x, std::size_t lanes) {
  std::vector<Welford> parts(std::min(lanes, x.size()));
  for (std::size_t i = 0; i < x.size(); ++i) parts[i % parts.size()].add(x[i]);
  for (; parts.size() > 1; parts.resize((parts.size() + 1) / 2))
    for (std::size_t i = 0; i < parts.size() / 2; ++i) parts[i] = parts[i].merged(parts[parts.size() - 1 - i]);
  const float factor = inverse_root(parts[0].squares, parts[0].n, Fault::none);
  Terms y(x.begin(), x.end());
  for (float& v : y) v = (v - parts[0].mean) * factor;
  return y;
}

struct Rows {
  std::size_t n;
  Terms x;

  verify::LayerNorm operation(Norm norm) const {
    return {.x = values({x.size() / n, n}, x), .eps = static_cast<double>(eps), .norm = norm, .last = single};
  }
  Terms each(const std::function<Terms(std::span<const float>)>& kernel) const {
    Terms y;
    for (std::size_t i = 0; i < x.size(); i += n)
      for (const float v : kernel(std::span(x).subspan(i, n))) y.push_back(v);
    return y;
  }
  Tally judged(const verify::LayerNorm& operation, const std::function<Terms(std::span<const float>)>& kernel) const {
    return judge_all(*verify::expect_layer_norm(operation), each(kernel), single);
  }
};

Rows normal_rows(std::size_t n, std::size_t rows, std::uint64_t seed, emu::Format in, double offset = 0) {
  std::mt19937_64 random(seed);
  return {n, normals(random, n * rows, 1, in, offset)};
}

constexpr std::array faults{Fault::eps_missing, Fault::eps_outside, Fault::eps_small, Fault::eps_per_sum};

}  // namespace

TEST_CASE("norms: a wrong epsilon is beyond the bound of 64 additions, at a deviation of 1", "[verify][layer_norm]") {
  const std::size_t n = GENERATE(std::size_t{64}, std::size_t{128}, std::size_t{512}, std::size_t{1024});
  const Norm norm = GENERATE(Norm::rms, Norm::layer);
  const Rows rows = normal_rows(n, 8, n, emu::bfloat16);
  verify::LayerNorm operation = rows.operation(norm);
  operation.arithmetic.depth = 64;
  for (const Adder& add : shallow)
    CHECK(rows.judged(operation, [&](auto x) { return norm_of(x, norm, add, Fault::none); }).wrong() == 0);
  for (const Fault fault : faults) {
    CAPTURE(static_cast<int>(fault), n, static_cast<int>(norm));
    const Tally tally = rows.judged(operation, [&](auto x) { return norm_of(x, norm, shallow[1], fault); });
    CHECK(tally.beyond > 8);
  }
}

TEST_CASE("norms: a wrong epsilon is beyond the probable bound of rows of up to 1024", "[verify][layer_norm]") {
  const std::size_t n = GENERATE(std::size_t{256}, std::size_t{640}, std::size_t{768}, std::size_t{1024});
  const Norm norm = GENERATE(Norm::rms, Norm::layer);
  const Rows rows = normal_rows(n, 8, n + 1, emu::bfloat16);
  verify::LayerNorm operation = rows.operation(norm);
  operation.false_alarm = 1e-6;
  for (const Fault fault : faults) {
    CAPTURE(static_cast<int>(fault), n, static_cast<int>(norm));
    const Tally tally = rows.judged(operation, [&](auto x) { return norm_of(x, norm, shallow[1], fault); });
    CHECK(tally.beyond > 0);
  }
}

TEST_CASE("norms: no order of additions is beyond its bound", "[verify][layer_norm]") {
  double closest = 0, closest_probable = 0;
  for (const double offset : {0.0, 20.0}) {
    for (const std::size_t n : std::initializer_list<std::size_t>{3, 100, 1024}) {
      const Rows rows = normal_rows(n, 12, 17 * n, n == 100 ? emu::bfloat16 : emu::float32, offset);
      for (const Norm norm : {Norm::rms, Norm::layer}) {
        const auto judged = [&](const verify::LayerNorm& operation, const auto& kernel, double& most) {
          const Tally tally = rows.judged(operation, kernel);
          CAPTURE(n, offset, static_cast<int>(norm), operation.arithmetic.depth, tally.closest);
          CHECK(tally.wrong() == 0);
          most = std::max(most, tally.closest);
        };
        for (const Variance variance : {Variance::centred, Variance::two_pass}) {
          verify::LayerNorm any = rows.operation(norm);
          any.variance = variance;
          verify::LayerNorm shallow_one = any, probable = any;
          shallow_one.arithmetic.depth = 64, probable.false_alarm = 1e-6;
          for (const Adder& add : shallow)
            judged(
                shallow_one, [&](auto x) { return norm_of(x, norm, add, Fault::none); }, closest);
          for (const Adder& add : deep) {
            judged(
                any, [&](auto x) { return norm_of(x, norm, add, Fault::none); }, closest);
            judged(
                probable, [&](auto x) { return norm_of(x, norm, add, Fault::none); }, closest_probable);
          }
          if (norm == Norm::rms || variance == Variance::two_pass) continue;
          for (const std::size_t lanes : std::initializer_list<std::size_t>{1, 4, 32, 128}) {
            verify::LayerNorm updated = any;  // each update and merge is two additions
            const std::size_t parts = std::min(n, lanes);
            updated.arithmetic.depth = 2 * ((n + parts - 1) / parts + static_cast<std::size_t>(std::bit_width(parts - 1)));
            judged(
                updated, [&](auto x) { return by_welford(x, lanes); }, closest);
            judged(
                probable, [&](auto x) { return by_welford(x, lanes); }, closest_probable);
            const auto by_value = [&](std::span<const float> x) {  // in falling order, put back
              std::vector<std::size_t> at(x.size());
              std::iota(at.begin(), at.end(), std::size_t{0});
              std::sort(at.begin(), at.end(), [&](std::size_t a, std::size_t b) { return x[a] > x[b]; });
              Terms fallen, y(x.size());
              for (const std::size_t i : at) fallen.push_back(x[i]);
              fallen = by_welford(fallen, lanes);
              for (std::size_t i = 0; i < at.size(); ++i) y[at[i]] = fallen[i];
              return y;
            };
            judged(updated, by_value, closest);
          }
        }
      }
    }
  }
  CHECK(closest > 0.15);
  CHECK(closest_probable > 0.2);
}

TEST_CASE("norms: rows in falling order are within the probable bound of Welford's updates", "[verify][layer_norm]") {
  for (const std::size_t n : std::initializer_list<std::size_t>{64, 1024}) {
    Rows rows = normal_rows(n, 12, 5 * n, emu::float32);
    for (std::size_t i = 0; i < rows.x.size(); i += n)
      std::sort(rows.x.begin() + static_cast<std::ptrdiff_t>(i), rows.x.begin() + static_cast<std::ptrdiff_t>(i + n),
                std::greater<>());
    verify::LayerNorm operation = rows.operation(Norm::layer);
    operation.false_alarm = 1e-6;
    for (const std::size_t lanes : std::initializer_list<std::size_t>{1, 4, 32})
      CHECK(rows.judged(operation, [&](auto x) { return by_welford(x, lanes); }).wrong() == 0);
  }
}

TEST_CASE("sums over parts of a row are beyond their bound as seldom as that says", "[verify][layer_norm]") {
  constexpr std::size_t n = 64;
  constexpr int draws = 20000;
  std::mt19937_64 random(3);
  std::vector<double> x;
  for (const float v : normals(random, n, 1, emu::float32)) x.push_back(static_cast<double>(v));
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
  for (double& v : x) v -= mean;
  std::vector<double> falling = x;
  std::sort(falling.begin(), falling.end(), std::greater<>());
  for (const double lambda : {3.0, 3.5}) {
    const std::vector<double> certain = verify::greatest_parts(falling, lambda);
    CHECK(certain[9] >= std::accumulate(falling.begin(), falling.begin() + 10, 0.0));
    std::vector<double> bounds = certain;
    while (!(bounds[n / 2] < certain[n / 2])) {  // an order in which no run of elements is beyond them
      std::shuffle(x.begin(), x.end(), random);
      bounds = verify::greatest_parts(x, lambda);
    }
    std::array<int, n> beyond{};
    for (int draw = 0; draw < draws; ++draw) {
      std::shuffle(x.begin(), x.end(), random);
      double sum = 0;
      for (std::size_t k = 0; k < n; ++k) beyond[k] += std::fabs(sum += x[k]) > bounds[k] ? 1 : 0;
    }
    for (std::size_t k = 0; k < n; ++k) CHECK(beyond[k] <= 2 * std::exp(-lambda * lambda / 2) * draws);
    if (lambda == 3) CHECK(beyond[n / 4] > 0);
  }
}

TEST_CASE("norms: rows of one number, whose roundings have one sign, are held to the certain bound", "[verify][layer_norm]") {
  const float number = GENERATE(1.1F, 0.7F, 3.3F);
  const Rows rows{1024, Terms(1024, number)};
  verify::LayerNorm operation = rows.operation(Norm::rms);
  operation.false_alarm = 1e-6;
  CHECK(rows.judged(operation, [&](auto x) { return norm_of(x, Norm::rms, deep[0], Fault::none); }).wrong() == 0);
}

// In torch: x = torch.arange(1., 9.).reshape(1, 8); x[0, 2] = inf; F.rms_norm(x, (8,), None, 1e-5), and F.layer_norm
TEST_CASE("norms: an infinity makes an RMS norm 0 elsewhere and NaN there, a layer norm NaN", "[verify][layer_norm]") {
  for (const Terms& ends : {Terms{infinite, 4}, Terms{-infinite, 4}, Terms{infinite, -infinite}}) {
    const Rows rows{4, {1, ends[0], -3, ends[1]}};
    const Terms bias{0.5F, 1, 2, -1};
    verify::LayerNorm operation = rows.operation(Norm::rms);
    const auto standing = [&](const verify::LayerNorm& norm, std::size_t i, float y) {
      const auto exact = verify::expect_layer_norm(norm);
      std::vector<verify::Expected> all(4);
      exact->expect(0, all);
      return verify::judge(*exact, i, all[i], static_cast<double>(y), single);
    };
    CHECK(standing(operation, 0, 0) == Standing::equal);
    CHECK(standing(operation, 2, -0.0F) == Standing::equal);
    CHECK(standing(operation, 0, no_number) == Standing::nonfinite);
    CHECK(standing(operation, 0, 1e-20F) == Standing::beyond);
    CHECK(standing(operation, 1, no_number) == Standing::equal);
    CHECK(standing(operation, 1, 0) == Standing::nonfinite);
    operation.bias = values({4}, bias);
    CHECK(standing(operation, 2, 2) == Standing::equal);
    CHECK(standing(operation, 2, 0) == Standing::beyond);
    for (std::size_t i = 0; i < 4; ++i) CHECK(standing(rows.operation(Norm::layer), i, 0) == Standing::nonfinite);
    for (std::size_t i = 0; i < 4; ++i) CHECK(standing(rows.operation(Norm::layer), i, no_number) == Standing::equal);
  }
  const Rows with_nan{4, {1, infinite, no_number, 4}};
  const auto exact = verify::expect_layer_norm(with_nan.operation(Norm::rms));
  std::vector<verify::Expected> all(4);
  exact->expect(0, all);
  for (const auto& expected : all) CHECK(std::isnan(expected.value));
}

TEST_CASE("norms: squares that overflow make 0 or the exact result, and nothing between", "[verify][layer_norm]") {
  const Rows rows{4, {1e20F, -2e20F, 3e20F, 4e20F}};  // x^2 is beyond float32; exact: x / sqrt(7.5e40)
  const auto beyond = [&](Norm norm, const Terms& y) {
    const auto exact = verify::expect_layer_norm(rows.operation(norm));
    return judge_all(*exact, y, single).wrong();
  };
  const Terms right{0.36514837F, -0.73029674F, 1.0954452F, 1.4605935F};
  CHECK(beyond(Norm::rms, right) == 0);
  CHECK(beyond(Norm::rms, {0, 0, 0, 0}) == 0);
  CHECK(beyond(Norm::rms, {0.25F, -0.5F, 1, 1.25F}) == 4);
  CHECK(beyond(Norm::rms, Terms(4, no_number)) == 4);
  CHECK(beyond(Norm::layer, {0, 0, 0, 0}) == 0);
  CHECK(beyond(Norm::layer, {0.25F, -0.5F, 2, 2.5F}) == 4);
}

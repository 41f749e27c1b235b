// SPDX-License-Identifier: Apache-2.0
// Muon against plain loops, and its iteration against what it does to singular values, which a rotation by pairs finds.
#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "training/state/optimizer.hpp"
#include "training/state/orthogonal.hpp"

namespace ulpscope::training {
namespace {

/// Rows of long doubles.
using Matrix = std::vector<std::vector<long double>>;

Matrix gaussian(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Matrix x(rows, std::vector<long double>(columns));
  for (auto& row : x)
    for (long double& value : row) {
      value = -6;  // the sum of twelve uniform numbers is nearly normal
      for (int i = 0; i < 12; ++i) value += static_cast<long double>(random() >> 40) * 0x1p-24L;
      value = static_cast<long double>(static_cast<float>(value));
    }
  return x;
}

template <class Real>
std::vector<Real> flat(const Matrix& x) {
  std::vector<Real> values;
  for (const auto& row : x)
    for (const long double value : row) values.push_back(static_cast<Real>(value));
  return values;
}

template <class Real>
Matrix matrix_of(const std::vector<Real>& values, std::size_t rows) {
  const std::size_t columns = values.size() / rows;
  Matrix x(rows, std::vector<long double>(columns));
  for (std::size_t i = 0; i < values.size(); ++i) x[i / columns][i % columns] = static_cast<long double>(values[i]);
  return x;
}

Matrix transpose(const Matrix& x) {
  Matrix t(x[0].size(), std::vector<long double>(x.size()));
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < t.size(); ++j) t[j][i] = x[i][j];
  return t;
}

Matrix times(const Matrix& x, const Matrix& y) {
  Matrix d(x.size(), std::vector<long double>(y[0].size()));
  for (std::size_t i = 0; i < d.size(); ++i)
    for (std::size_t j = 0; j < d[0].size(); ++j)
      for (std::size_t k = 0; k < y.size(); ++k) d[i][j] += x[i][k] * y[k][j];
  return d;
}

/// Hestenes: rows are rotated by pairs until all are orthogonal; their lengths are the singular values.
std::vector<long double> singular_values(Matrix x) {
  if (x.size() > x[0].size()) x = transpose(x);
  for (int sweep = 0; sweep < 60; ++sweep)
    for (std::size_t p = 0; p < x.size(); ++p)
      for (std::size_t q = p + 1; q < x.size(); ++q) {
        long double pp = 0, qq = 0, pq = 0;
        for (std::size_t k = 0; k < x[0].size(); ++k) pp += x[p][k] * x[p][k], qq += x[q][k] * x[q][k], pq += x[p][k] * x[q][k];
        if (pq == 0) continue;
        const long double angle = std::atan2(2 * pq, pp - qq) / 2, s = std::sin(angle), c = std::cos(angle);
        for (std::size_t k = 0; k < x[0].size(); ++k) {
          const long double u = x[p][k], v = x[q][k];
          x[p][k] = c * u + s * v, x[q][k] = c * v - s * u;
        }
      }
  std::vector<long double> values;
  for (const auto& row : x) {
    long double sum = 0;
    for (const long double value : row) sum += value * value;
    values.push_back(std::sqrt(sum));
  }
  std::sort(values.begin(), values.end());
  return values;
}

long double norm_of(const Matrix& x) {
  long double sum = 0;
  for (const auto& row : x)
    for (const long double value : row) sum += value * value;
  return std::sqrt(sum);
}

/// As torch/optim/_muon.py has it, in long double, on the matrix as it stands: a polynomial of a matrix and its transpose is
/// the same on either side.
Matrix newton_schulz(Matrix x, int steps) {
  const long double norm = std::max(norm_of(x), 1e-7L);
  for (auto& row : x)
    for (long double& value : row) value /= norm;
  for (int step = 0; step < steps; ++step) {
    const Matrix gram = times(x, transpose(x)), square = times(gram, gram);
    Matrix sum = gram;
    for (std::size_t i = 0; i < gram.size(); ++i)
      for (std::size_t j = 0; j < gram.size(); ++j) sum[i][j] = -4.7750L * gram[i][j] + 2.0315L * square[i][j];
    const Matrix added = times(sum, x);
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t j = 0; j < x[0].size(); ++j) x[i][j] = 3.4445L * x[i][j] + added[i][j];
  }
  return x;
}

TEST_CASE("the iteration in float64 follows plain loops", "[training]") {
  const auto extents =
      GENERATE(MatrixExtents{6, 17}, MatrixExtents{17, 6}, MatrixExtents{9, 9}, MatrixExtents{1, 5}, MatrixExtents{5, 1});
  const int steps = GENERATE(1, 5, 7);
  CAPTURE(extents.rows, extents.columns, steps);
  const Matrix x = gaussian(extents.rows, extents.columns, 3), expected = newton_schulz(x, steps);
  const std::vector<double> values =
      orthogonalized(flat<double>(x), extents, emu::float64, static_cast<std::uint64_t>(steps), 1);
  for (std::size_t i = 0; i < values.size(); ++i)
    CHECK(std::fabs(static_cast<long double>(values[i]) - expected[i / extents.columns][i % extents.columns]) < 1e-12L);
}

TEST_CASE("singular values go where the polynomial takes them, into the published range", "[training]") {
  const MatrixExtents extents{20, 48};
  const Matrix x = gaussian(extents.rows, extents.columns, 5);
  std::vector<long double> expected = singular_values(x);
  const long double norm = norm_of(x);
  for (long double& s : expected) {
    s /= norm;
    for (int step = 0; step < 5; ++step) s = 3.4445L * s - 4.7750L * s * s * s + 2.0315L * s * s * s * s * s;
  }
  std::sort(expected.begin(), expected.end());
  const std::vector<long double> wide =
      singular_values(matrix_of(orthogonalized(flat<double>(x), extents, emu::float64, 5, 1), extents.rows));
  for (std::size_t i = 0; i < wide.size(); ++i) CHECK(std::fabs(wide[i] - expected[i]) < 1e-12L);

  // The roundings of the last step are added to its result: three matrices of elements of about 3.4445 / sqrt(48) times a
  // quarter of an ulp, as roundings are on average, whose norm is about sqrt(20) + sqrt(48) times that, 0.03 in bfloat16. What
  // came before is input of that step.
  for (const emu::Format format : {emu::bfloat16, emu::float16, emu::float32}) {
    CAPTURE(format.fraction_bits);
    const long double rounding =
        std::ldexp(3 * 3.4445L / std::sqrt(48.0L) * (std::sqrt(20.0L) + std::sqrt(48.0L)), -format.fraction_bits - 2);
    const std::vector<float> values = orthogonalized(flat<float>(x), extents, format, 5, 1);
    for (const long double s : singular_values(matrix_of(values, extents.rows))) {
      CHECK(s > 0.6818L - rounding);
      CHECK(s < 1.2024L + rounding);
    }
    CHECK(std::all_of(values.begin(), values.end(), [&](float value) {
      return emu::round_to(format, static_cast<double>(value)).value == static_cast<double>(value);
    }));
  }
}

/// A float32 number rounded to bfloat16, to nearest, ties to even.
float bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000U);
}

TEST_CASE("the iteration in bfloat16, operation by operation", "[training]") {
  constexpr std::size_t rows = 5, columns = 33;
  std::vector<float> x = flat<float>(gaussian(rows, columns, 8));
  const std::vector<float> values = orthogonalized(x, {rows, columns}, emu::bfloat16, 5, 3);
  double squares = 0;
  for (float& value : x) value = bf16(value), squares += static_cast<double>(value) * static_cast<double>(value);
  const float norm = bf16(static_cast<float>(std::sqrt(squares)));
  for (float& value : x) value = bf16(value / norm);
  const auto at = [](const std::vector<float>& m, std::size_t width, std::size_t i, std::size_t j) { return m[i * width + j]; };
  for (int step = 0; step < 5; ++step) {
    std::vector<float> gram(rows * rows), polynomial(rows * rows), next(rows * columns);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < rows; ++j) {
        float sum = 0;
        for (std::size_t k = 0; k < columns; ++k) sum = std::fma(at(x, columns, i, k), at(x, columns, j, k), sum);
        gram[i * rows + j] = bf16(sum);
      }
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < rows; ++j) {
        float sum = 0;
        for (std::size_t k = 0; k < rows; ++k) sum = std::fma(bf16(2.0315F * at(gram, rows, i, k)), at(gram, rows, k, j), sum);
        polynomial[i * rows + j] = bf16(bf16(-4.7750F * at(gram, rows, i, j)) + bf16(sum));
      }
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) {
        float sum = 0;
        for (std::size_t k = 0; k < rows; ++k) sum = std::fma(at(polynomial, rows, i, k), at(x, columns, k, j), sum);
        next[i * columns + j] = bf16(bf16(3.4445F * at(x, columns, i, j)) + bf16(sum));
      }
    x = next;
  }
  CHECK(values == x);
}

TEST_CASE("a transposed matrix becomes the transposed result, to the bit", "[training]") {
  const Matrix x = gaussian(7, 30, 2);
  for (const emu::Format format : {emu::bfloat16, emu::float32}) {
    const std::vector<float> lying = orthogonalized(flat<float>(x), {7, 30}, format, 5, 1),
                             standing = orthogonalized(flat<float>(transpose(x)), {30, 7}, format, 5, 2);
    CHECK(matrix_of(lying, 7) == transpose(matrix_of(standing, 30)));
  }
  CHECK(orthogonalized(std::vector<float>(12), {3, 4}, emu::bfloat16, 5, 1) == std::vector<float>(12));
  CHECK_THROWS_AS(orthogonalized(std::vector<float>(12), {3, 5}, emu::bfloat16, 5, 1), Error);
}

TEST_CASE("Muon's steps in float64 follow the formulas", "[training]") {
  const Shape shape = GENERATE(Shape{6, 4}, Shape{3, 8}, Shape{4, 2, 3, 3});
  const bool nesterov = GENERATE(true, false);
  const auto adjust = GENERATE(RateAdjustment::original, RateAdjustment::match_rms_adamw);
  const int ns_steps = GENERATE(5, 2);
  const std::size_t rows = shape[0], count = count_of(shape), columns = count / rows;
  const OptimizerSettings settings{.kind = OptimizerKind::muon,
                                   .momentum = 0.95,
                                   .nesterov = nesterov,
                                   .weight_decay = 0.1,
                                   .adjust_lr = adjust,
                                   .ns_steps = static_cast<std::uint64_t>(ns_steps)};
  const StateStorage storage{
      .weights = {emu::float64, {}}, .first = {emu::float64, {}}, .second = {emu::float64, {}}, .orthogonal = emu::float64};
  Matrix w = gaussian(rows, columns, 4), momentum(rows, std::vector<long double>(columns));
  std::vector<double> weights = flat<double>(w);
  OptimizerState<double> state;
  const auto r = static_cast<long double>(rows), c = static_cast<long double>(columns);
  const long double factor =
      adjust == RateAdjustment::original ? std::sqrt(std::max(1.0L, r / c)) : 0.2L * std::sqrt(std::max(r, c));
  for (int step = 0; step < 12; ++step) {
    const Matrix g = gaussian(rows, columns, 100 + static_cast<std::uint64_t>(step));
    optimizer_step<double>(settings, storage, 0.02, weights, flat<double>(g), state, 0, 0, shape, 2);
    Matrix update = g;
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) {
        momentum[i][j] = 0.95L * momentum[i][j] + 0.05L * g[i][j];
        update[i][j] = nesterov ? 0.05L * g[i][j] + 0.95L * momentum[i][j] : momentum[i][j];
      }
    update = newton_schulz(update, ns_steps);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) w[i][j] = w[i][j] * (1 - 0.02L * 0.1L) - 0.02L * factor * update[i][j];
  }
  for (std::size_t i = 0; i < count; ++i)
    CHECK(std::fabs(static_cast<long double>(weights[i]) - w[i / columns][i % columns]) < 1e-12L);
  CHECK(state.second.empty());
}

TEST_CASE("what has one dimension takes AdamW's step under Muon", "[training]") {
  OptimizerSettings settings{.kind = OptimizerKind::muon, .momentum = 0.95, .weight_decay = 0.1, .beta1 = 0.8, .eps = 1e-6};
  std::vector<float> muon{1, -2, 3}, adamw = muon;
  OptimizerState<float> of_muon, of_adamw;
  for (int step = 0; step < 5; ++step) {
    settings.kind = OptimizerKind::muon;
    optimizer_step<float>(settings, {}, 0.01, muon, {0.5F, 1, -0.25F}, of_muon, 0, 0, {3});
    settings.kind = OptimizerKind::adamw;
    optimizer_step<float>(settings, {}, 0.01, adamw, {0.5F, 1, -0.25F}, of_adamw, 0, 0);
  }
  CHECK(muon == adamw);
  CHECK(of_muon == of_adamw);
  settings.kind = OptimizerKind::muon;
  CHECK_THROWS_AS(optimizer_step<float>(settings, {}, 0.01, muon, {0.5F, 1, -0.25F}, of_muon, 0, 0, {3, 2}), Error);
  CHECK_THROWS_AS(optimizer_step<float>(settings, {}, 0.01, muon, {0.5F, 1, -0.25F}, of_muon, 0, 0), Error);
}

TEST_CASE("the format of Muon's iteration is that of the storage, and bits do not depend on threads", "[training]") {
  const std::vector<float> gradient = flat<float>(gaussian(40, 70, 6));
  const auto after = [&](emu::Format format, int threads) {
    std::vector<float> w(gradient.size());
    OptimizerState<float> state;
    const OptimizerSettings settings{.kind = OptimizerKind::muon, .momentum = 0.95, .nesterov = true};
    optimizer_step<float>(settings, {.orthogonal = format}, 1, w, gradient, state, 0, 0, {40, 70}, threads);
    return w;
  };
  CHECK(after(emu::bfloat16, 1) == after(emu::bfloat16, 3));
  CHECK(after(emu::float32, 1) != after(emu::bfloat16, 1));
  CHECK(name_of(parse_rate_adjustment("match_rms_adamw")) == "match_rms_adamw");
  CHECK(name_of(parse_optimizer("muon")) == "muon");
  CHECK_THROWS_AS(parse_rate_adjustment("rms"), Error);
}

}  // namespace
}  // namespace ulpscope::training

// SPDX-License-Identifier: Apache-2.0
// Polynomials for 2^f: the best of a degree, found by exchanging the points at which its error is largest.
#include <algorithm>
#include <array>
#include <cmath>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/math.hpp"
#include "studies/attention/attention.hpp"

namespace ulpscope::studies {
namespace {

const double ln2 = emu::log(2.0);

double exp2(double x) { return emu::exp(x * ln2); }

double value_of(const std::vector<double>& coefficients, double f) {
  double sum = 0;
  for (std::size_t i = coefficients.size(); i-- > 0;) sum = sum * f + coefficients[i];
  return sum;
}

/// Solves the equations; each row ends with its right side. The pivot is the largest of its column.
std::vector<double> solved(std::vector<std::vector<double>> rows) {
  const std::size_t n = rows.size();
  for (std::size_t k = 0; k < n; ++k) {
    const auto pivot = std::max_element(rows.begin() + static_cast<std::ptrdiff_t>(k), rows.end(),
                                        [k](const auto& a, const auto& b) { return std::fabs(a[k]) < std::fabs(b[k]); });
    std::swap(rows[k], *pivot);
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const double factor = rows[i][k] / rows[k][k];
      for (std::size_t j = k; j <= n; ++j) rows[i][j] -= factor * rows[k][j];
    }
  }
  std::vector<double> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(rows[i][n] / rows[i][i]);
  return out;
}

/// The polynomial whose relative errors at the points are equal and alternate in sign.
std::vector<double> levelled(const std::vector<double>& points) {
  std::vector<std::vector<double>> equations;
  double sign = 1;
  for (const double f : points) {
    std::vector<double> row;
    double power = 1 / exp2(f);
    for (std::size_t j = 0; j + 1 < points.size(); ++j, power *= f) row.push_back(power);
    row.push_back(sign);
    row.push_back(1);
    equations.push_back(std::move(row));
    sign = -sign;
  }
  std::vector<double> coefficients = solved(std::move(equations));
  coefficients.pop_back();  // the error
  return coefficients;
}

/// Where the error is largest between one change of its sign and the next.
std::vector<double> extremes(const std::vector<double>& coefficients) {
  constexpr int grid = 1 << 14;
  std::vector<double> found;
  double most = 0, before = 0;
  for (int i = 0; i <= grid; ++i) {
    const double f = static_cast<double>(i) / grid, error = value_of(coefficients, f) / exp2(f) - 1;
    if (found.empty() || (error < 0) != (before < 0)) {
      found.push_back(f);
      most = std::fabs(error);
    } else if (std::fabs(error) > most) {
      found.back() = f;
      most = std::fabs(error);
    }
    before = error;
  }
  return found;
}

/// 2^x, x <= 0, as a kernel forms it: 2^f by the polynomial, the whole part added to the exponent.
float exp2_by(const std::vector<float>& coefficients, double x) {
  const double whole = std::floor(x);
  const auto f = static_cast<float>(x - whole);
  float sum = 0;
  for (std::size_t i = coefficients.size(); i-- > 0;) sum = std::fma(sum, f, coefficients[i]);
  return std::ldexp(sum, static_cast<int>(std::max(whole, -1000.0)));
}

double to_bf16(double x) { return emu::round_to(emu::bf16, x).value; }

/// Outputs whose probabilities are 2^x, x the distance from the row's maximum, rounded to bfloat16.
template <class Exp2>
double output_error(const AttentionProblem& problem, Exp2 power) {
  const std::vector<double> p = probabilities_of(problem), exact = attention_of(problem, p);
  std::vector<double> rounded(p.size());
  for (std::size_t i = 0; i < problem.queries; ++i) {
    const std::span<const double> row = std::span(p).subspan(i * problem.keys, problem.keys);
    const double most = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (std::size_t j = 0; j < row.size(); ++j) {
      const double share = static_cast<double>(power(emu::log(row[j] / most) / ln2));
      sum += share;
      rounded[i * problem.keys + j] = to_bf16(share);
    }
    for (std::size_t j = 0; j < row.size(); ++j) rounded[i * problem.keys + j] /= sum;
  }
  return relative_distance(attention_of(problem, rounded), exact);
}

}  // namespace

std::vector<float> exp2_polynomial(int degree) {
  const auto count = static_cast<std::size_t>(degree) + 2;
  std::vector<double> points;
  for (std::size_t i = 0; i < count; ++i) points.push_back(static_cast<double>(i) / static_cast<double>(count - 1));
  std::vector<double> coefficients;
  constexpr int rounds = 12;  // the error settles after some five
  for (int round = 0; round < rounds; ++round) {
    coefficients = levelled(points);
    std::vector<double> next = extremes(coefficients);
    if (next.size() != count) break;
    points = std::move(next);
  }
  return {coefficients.begin(), coefficients.end()};
}

Exp2Row exp2_row(const AttentionProblem& problem, int degree) {
  const std::vector<float> coefficients = degree == 0 ? std::vector<float>() : exp2_polynomial(degree);
  const auto power = [&](double x) { return degree == 0 ? static_cast<float>(exp2(x)) : exp2_by(coefficients, x); };
  Exp2Row row{.degree = degree};
  constexpr int points = 1 << 20;
  int differing = 0;
  for (int i = 0; i < points; ++i) {
    const double f = static_cast<double>(i) / points - 1, exact = exp2(f), got = static_cast<double>(power(f));
    row.max_rel_error = std::max(row.max_rel_error, std::fabs(got / exact - 1));
    row.max_rel_error_bf16 = std::max(row.max_rel_error_bf16, std::fabs(to_bf16(got) / exact - 1));
    differing += to_bf16(got) == to_bf16(exact) ? 0 : 1;
  }
  row.differing_bf16 = static_cast<double>(differing) / points;
  row.error = output_error(problem, power);
  return row;
}

}  // namespace ulpscope::studies

// SPDX-License-Identifier: Apache-2.0
// Dot products of a chosen condition number: T. Ogita, S. M. Rump, S. Oishi, "Accurate sum and dot product", SIAM J. Sci.
// Comput. 26 (2005), algorithm 6.1, with every number rounded to the formats of the operands. All rows of A are one vector,
// times signs and powers of two, so that what a column of B cancels, it cancels for all rows.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/exact_sum.hpp"
#include "emu/math.hpp"
#include "emu/names.hpp"
#include "verify/generate/generate_draw.hpp"
#include "verify/generate/generate_kinds.hpp"

namespace ulpscope::verify {
namespace {

using namespace detail;

/// Tries for a column; the one whose condition number is nearest counts.
constexpr std::uint64_t tries = 24;
/// How far the condition number of a column may be off.
constexpr double most_factor = 8;
constexpr double least_condition = 8;
constexpr std::size_t least_k = 6;  // three products to cancel, three that cancel them

double rounded(emu::Format format, double x) { return emu::round_to(format, x, {.policy = emu::Policy::saturating}).value; }

/// The vector that all rows are made of, and the exponents of its products. Half of it has random exponents, the first the
/// largest; of the other half they fall evenly to 0.
struct Row {
  double log2_condition;
  int shift_a, shift_b;  ///< of the exponents, so that the largest numbers are in range
  std::size_t half;
  std::vector<int> exponents;
  std::vector<double> x;
};

Row row(const CaseRequest& request, double log2_condition) {
  Row out{log2_condition, 0, 0, request.k / 2, std::vector<int>(request.k), std::vector<double>(request.k)};
  const Draw numbers(request.seed, Purpose::a), exponents(request.seed, Purpose::exponents);
  const double most = out.log2_condition / 2;
  // Numbers are below 2^(most + 2), those that cancel below 2^(most + 4).
  out.shift_a = std::min(0, request.a.max_exponent() - static_cast<int>(most) - 3);
  out.shift_b = std::min(0, request.b.max_exponent() - static_cast<int>(most) - 5);
  const std::size_t rest = request.k - out.half;
  for (std::size_t i = 0; i < request.k; ++i) {
    const bool first_half = i < out.half;
    double e =
        first_half ? most * exponents.unit(i) : most * (1 - static_cast<double>(i - out.half) / static_cast<double>(rest - 1));
    if (i == 0) e = most + 1;
    if (i + 1 == out.half) e = 0;
    out.exponents[i] = static_cast<int>(std::floor(e + 0.5));
    const double magnitude = (1 + numbers.unit(i)) / 2;  // not near 0: it divides
    out.x[i] = rounded(request.a, numbers.sign(i + request.k) * magnitude * power(out.exponents[i] + out.shift_a));
  }
  return out;
}

struct Column {
  std::vector<double> y;
  double condition = 0;
};

Column column(const CaseRequest& request, const Row& row, std::uint64_t number) {
  const Draw numbers(request.seed, Purpose::b);
  Column out{std::vector<double>(request.k), 0};
  emu::ExactSum sum, magnitudes;
  for (std::size_t i = 0; i < request.k; ++i) {
    const double random =
        numbers.sign(number * 2 * request.k + 2 * i) * (1 + numbers.unit(number * 2 * request.k + 2 * i + 1)) / 2;
    const double factor = random * power(row.exponents[i] + row.shift_b);
    if (i < row.half) {
      out.y[i] = rounded(request.b, factor);
    } else if (row.x[i] != 0) {
      const double wanted = random * power(row.exponents[i] + row.shift_a + row.shift_b);
      out.y[i] = rounded(request.b, (wanted - sum.value()) / row.x[i]);
    }
    sum.add_product(row.x[i], out.y[i]);
    magnitudes.add(std::fabs(row.x[i] * out.y[i]));
  }
  out.condition = 2 * magnitudes.value() / std::fabs(sum.value());
  return out;
}

/// How many times the condition number is too large or too small.
double off(double condition, double wanted) {
  if (!std::isfinite(condition) || condition == 0) return std::numeric_limits<double>::infinity();
  return std::max(condition / wanted, wanted / condition);
}

Column best_column(const CaseRequest& request, const Row& row, std::size_t j) {
  Column best = column(request, row, tries * j);
  for (std::uint64_t i = 1; i < tries && off(best.condition, request.condition) > 2; ++i) {
    Column next = column(request, row, tries * j + i);
    if (off(next.condition, request.condition) < off(best.condition, request.condition)) best = std::move(next);
  }
  return best;
}

std::string number(double x) {
  const double digits = std::floor(emu::log10(x));
  return x > 0 && std::isfinite(x) ? "about 1e" + std::to_string(static_cast<int>(digits)) : "none: it cancels wholly";
}

/// The algorithm gives larger condition numbers than it is asked for, the more so the longer the vectors: it is asked for
/// less, until the first column has what is wanted.
Row calibrated_row(const CaseRequest& request) {
  constexpr int rounds = 4;
  const double wanted = emu::log2(request.condition);
  double asked = wanted;
  Row best = row(request, asked);
  double best_off = off(best_column(request, best, 0).condition, request.condition);
  for (int i = 0; i < rounds && best_off > 2; ++i) {
    const double condition = best_column(request, row(request, asked), 0).condition;
    if (!std::isfinite(condition)) break;
    asked = std::max(2.0, asked + (wanted - emu::log2(condition)));
    Row next = row(request, asked);
    const double next_off = off(best_column(request, next, 0).condition, request.condition);
    if (!(next_off < best_off)) continue;
    best = std::move(next);
    best_off = next_off;
  }
  return best;
}

/// Rows differ by signs and halvings, as far as numbers stay exact.
double row_factor(const CaseRequest& request, const Row& row, std::size_t i) {
  const Draw signs(request.seed, Purpose::signs);
  const double half = (signs.bits(i) >> 8 & 1) != 0 ? 0.5 : 1;
  const bool exact = std::all_of(row.x.begin(), row.x.end(), [&](double x) { return holds(request.a, x * half); });
  return signs.sign(i) * (exact ? half : 1);
}

}  // namespace

/// With P the sum of magnitudes, K additions lose at most lambda sqrt(K) u P / 2 (verify/operations/random_sums.hpp; no sum is
/// greater than the terms of one sign, lambda is about 7) of a result of 2 P / condition, which may be half as large: a share
/// of lambda sqrt(K) u condition / 2, 7 / 128 for the condition 2^-6 / (u sqrt(K)).
double usual_condition(std::size_t k, emu::Format accumulator) {
  const auto root_log2 = static_cast<int>(std::bit_width(k - 1) + 1) / 2;  // of K, rounded up
  return std::max({least_condition, power(accumulator.precision() - 6 - root_log2), static_cast<double>(k)});
}

/// The same share, for the condition K, is 7/8 where K sqrt(K) u is 1/4.
std::size_t usual_products(emu::Format accumulator) {
  return std::size_t{1} << 2 * std::max(accumulator.precision() - 2, 0) / 3;
}

MatmulCase generate_cancellation(const CaseRequest& request) {
  if (!(request.condition >= least_condition) || !(request.condition <= 0x1p200))
    throw Error("cancellation: --condition is a number from 8 to 2^200");
  need_k("cancellation", request, least_k, "half of the products cancel the other half");
  MatmulCase made = blank_case(request);
  const Row chosen = calibrated_row(request);
  const std::vector<std::size_t> order = Draw(request.seed, Purpose::positions).permutation(request.k, 0);
  for (std::size_t i = 0; i < request.m; ++i) {
    const double factor = row_factor(request, chosen, i);
    for (std::size_t k = 0; k < request.k; ++k) made.a[i * request.k + order[k]] = static_cast<float>(factor * chosen.x[k]);
  }
  std::vector<double> conditions;
  for (std::size_t j = 0; j < request.n; ++j) {
    const Column column = best_column(request, chosen, j);
    conditions.push_back(column.condition);
    for (std::size_t k = 0; k < request.k; ++k) made.b[order[k] * request.n + j] = static_cast<float>(column.y[k]);
    if (!(off(column.condition, request.condition) <= most_factor))
      throw Error("cancellation: " + std::to_string(request.k) + " products of " + emu::format_name(request.a) + " and " +
                  emu::format_name(request.b) + " do not reach condition " + number(request.condition) + " (column " +
                  std::to_string(j) + " has " + number(column.condition) + "); give another --condition or a larger --k");
  }
  std::sort(conditions.begin(), conditions.end());
  made.facts.push_back({"condition_wanted", request.condition, "2 sum |a||b| / |sum a b|"});
  made.facts.push_back({"condition_least", conditions.front(), "of all outputs"});
  made.facts.push_back({"condition_median", conditions[conditions.size() / 2], "of all outputs"});
  made.facts.push_back({"condition_greatest", conditions.back(), "of all outputs"});
  return made;
}

}  // namespace ulpscope::verify

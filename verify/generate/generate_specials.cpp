// SPDX-License-Identifier: Apache-2.0
// Operands at the edges of their formats: subnormal numbers, NaN and infinity, zeros of both signs; and elements that tell
// where they came from.
#include <algorithm>
#include <cmath>
#include <limits>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/math.hpp"
#include "emu/names.hpp"
#include "verify/generate/generate_draw.hpp"
#include "verify/generate/generate_kinds.hpp"

namespace ulpscope::verify {
namespace {

using namespace detail;

int clamped(int e, Exponents range) { return std::clamp(e, range.least, range.greatest); }

}  // namespace

MatmulCase generate_subnormals(const CaseRequest& request) {
  const emu::Format a = request.a;
  if (!a.has_subnormals()) throw Error("subnormals: " + emu::format_name(a) + " has no subnormal numbers; give another --in");
  MatmulCase made = blank_case(request);
  const Draw numbers(request.seed, Purpose::a), signs(request.seed, Purpose::signs);
  const std::uint64_t subnormals = a.min_normal_code() - 1;
  for (std::size_t i = 0; i < made.a.size(); ++i)
    made.a[i] = static_cast<float>(numbers.sign(made.a.size() + i) * emu::decode(a, 1 + numbers.integer(i, subnormals)));
  // Even columns bring products near 1, odd ones sums below the least normal number of the output format.
  const Exponents range = normal_powers(request.b);
  const int k_log2 = static_cast<int>(std::ceil(emu::log2(static_cast<double>(request.k))));
  const int least = std::max(request.out.min_exponent(), request.accumulator.min_exponent());
  const int ordinary = clamped(std::min(0, request.out.max_exponent() - k_log2 - 1) - a.min_exponent(), range);
  // A sum of K terms with random signs is about sqrt(K) of them.
  const int tiny = clamped(least - a.min_exponent() - (k_log2 + 1) / 2 - 1, range);
  for (std::size_t k = 0; k < request.k; ++k)
    for (std::size_t j = 0; j < request.n; ++j)
      made.b[k * request.n + j] = static_cast<float>(signs.sign(k * request.n + j) * power(j % 2 == 0 ? ordinary : tiny));
  const int spacing = a.min_spacing_exponent() + tiny;
  made.any_order_is_exact =
      a.fraction_bits + k_log2 <= request.accumulator.precision() && spacing >= request.accumulator.min_spacing_exponent();
  made.facts.push_back({"factor_even_columns_log2", static_cast<double>(ordinary), "B's magnitude"});
  made.facts.push_back({"factor_odd_columns_log2", static_cast<double>(tiny), "B's magnitude"});
  return made;
}

MatmulCase generate_one_nan(const CaseRequest& request) {
  if (!request.a.has_nan()) throw Error("one_nan: " + emu::format_name(request.a) + " has no NaN; give another --in for A");
  if (!request.out.has_nan()) throw Error("one_nan: " + emu::format_name(request.out) + " has no NaN; give another --out");
  MatmulCase made = blank_case(request);
  const Draw a(request.seed, Purpose::a), b(request.seed, Purpose::b), positions(request.seed, Purpose::positions);
  // B is never 0, so that infinity times it is infinite; A has so few ones that no sum leaves the output format's range.
  const auto most = static_cast<std::size_t>(std::clamp(std::floor(emu::max_finite(request.out)) - 1, 1.0, 64.0));
  const std::size_t stride = (request.k + most - 1) / most;
  for (std::size_t i = 0; i < made.a.size(); ++i) made.a[i] = i % request.k % stride == 0 ? static_cast<float>(a.sign(i)) : 0;
  for (std::size_t i = 0; i < made.b.size(); ++i) made.b[i] = static_cast<float>(b.sign(i));
  made.any_order_is_exact = true;
  const std::size_t row = positions.integer(0, request.m), k = request.k - 1;
  made.a[row * request.k + k] = std::numeric_limits<float>::quiet_NaN();
  made.facts.push_back({"nan_row", static_cast<double>(row), "its NaN is at k = K - 1"});
  if (request.m > 1 && request.a.has_infinity() && request.out.has_infinity()) {
    const std::size_t other = (row + 1 + positions.integer(1, request.m - 1)) % request.m;
    made.a[other * request.k + positions.integer(2, request.k)] = std::numeric_limits<float>::infinity();
    made.facts.push_back({"infinite_row", static_cast<double>(other), "infinity in A, of B's sign in the result"});
  }
  return made;
}

/// Row i is an odd number, column j a power of two: their product tells both. Row i takes it at k = K - 1 - i % K alone, where
/// B's powers are moved on by i % K columns, so that it tells k as well.
MatmulCase generate_permutation(const CaseRequest& request) {
  const int bits = std::min({request.a.precision(), request.out.precision(), request.accumulator.precision()});
  const Exponents b = normal_powers(request.b);
  const int least = std::max({b.least, request.out.min_exponent(), request.accumulator.min_exponent()});
  const int greatest = std::min({b.greatest, request.out.max_exponent() - bits, request.accumulator.max_exponent() - bits});
  if (greatest <= least || request.a.max_exponent() < bits)
    throw Error("permutation: " + emu::format_name(request.out) +
                " has too small a range to tell rows from columns; give another --out");
  // As many exponents as there are columns, about 0; 8 at least, so that they tell k where there is one column.
  const auto wanted = static_cast<int>(std::clamp<std::size_t>(request.n, 8, 4096));
  const int columns = std::min(greatest - least + 1, wanted);
  const int first = std::clamp(-columns / 2, least, greatest - columns + 1);
  const std::size_t odd = std::size_t{1} << (bits - 1), rows = 2 * odd;
  MatmulCase made = blank_case(request);
  for (std::size_t i = 0; i < request.m; ++i)
    made.a[i * request.k + request.k - 1 - i % request.k] =
        static_cast<float>((i / odd % 2 == 0 ? 1 : -1) * static_cast<double>(2 * (i % odd) + 1));
  for (std::size_t k = 0; k < request.k; ++k)
    for (std::size_t j = 0; j < request.n; ++j)
      made.b[k * request.n + j] =
          static_cast<float>(power(first + static_cast<int>((j + request.k - 1 - k) % static_cast<std::size_t>(columns))));
  made.any_order_is_exact = true;
  made.facts.push_back({"distinct_rows", static_cast<double>(std::min(rows, request.m)),
                        "row i has the odd part 2 (i % half) + 1, of negative sign in the second half"});
  made.facts.push_back({"distinct_columns", static_cast<double>(std::min(static_cast<std::size_t>(columns), request.n)),
                        "column j of row i has the power least_exponent + (j + i % K) % " + std::to_string(columns)});
  made.facts.push_back({"least_exponent", static_cast<double>(first), "of column 0 in row 0"});
  return made;
}

/// Rows by i % 4: only -0; x - x (K of 2 or more); -0 and +0; a negative number too small for the output format.
MatmulCase generate_signed_zero(const CaseRequest& request) {
  for (const emu::Format format : {request.a, request.out})
    if (!format.has_negative_zero())
      throw Error("signed_zero: " + emu::format_name(format) + " has no -0; give another format");
  MatmulCase made = blank_case(request);
  made.c.assign(request.m * request.n, -0.0F);
  std::fill(made.b.begin(), made.b.end(), 1.0F);
  const int tiny = request.out.min_spacing_exponent() - 2;
  const Split least = split_exponent(tiny, {request.a.min_spacing_exponent(), 0}, normal_powers(request.b), 0);
  const bool underflows = least.fits && tiny >= request.accumulator.min_spacing_exponent() && request.k > 2;
  for (std::size_t i = 0; i < request.m; ++i) {
    float* const row = made.a.data() + i * request.k;
    std::fill(row, row + request.k, -0.0F);
    if (i % 4 == 1 && request.k > 1) row[0] = 1, row[1] = -1;
    if (i % 4 == 2) row[request.k / 2] = 0.0F;
    if (i % 4 == 3 && underflows) row[request.k - 1] = static_cast<float>(-power(least.factors.a));
  }
  if (underflows)
    for (std::size_t j = 0; j < request.n; ++j)
      made.b[(request.k - 1) * request.n + j] = static_cast<float>(power(least.factors.b));
  const std::size_t quarter = request.m / 4;
  made.facts.push_back({"underflowing_rows", underflows ? static_cast<double>(quarter) : 0.0,
                        "rows 3, 7, 11 ...: negative results too small for the output format"});
  return made;
}

}  // namespace ulpscope::verify

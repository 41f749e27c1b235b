// SPDX-License-Identifier: Apache-2.0
// Sums whose result tells how they were added: in what order, with how many bits, in what range.
#include <algorithm>
#include <cmath>

#include "emu/decode.hpp"
#include "emu/error.hpp"
#include "emu/math.hpp"
#include "emu/names.hpp"
#include "verify/generate/generate_draw.hpp"
#include "verify/generate/generate_kinds.hpp"

namespace ulpscope::verify {
namespace {

using namespace detail;

/// Exponents of the powers of two that products of normal numbers can be.
Exponents product_powers(const CaseRequest& request) {
  const Exponents a = normal_powers(request.a), b = normal_powers(request.b);
  return {a.least + b.least, a.greatest + b.greatest};
}

std::string pair_name(const CaseRequest& request) {
  return emu::format_name(request.a) + " and " + emu::format_name(request.b);
}

/// 2^e as a product whose factor in B is as near 1 as it can be. Precondition: e is among product_powers().
Factors factors(const CaseRequest& request, int e) {
  return split_exponent(e, normal_powers(request.a), normal_powers(request.b), 0).factors;
}

}  // namespace

MatmulCase generate_large_k_bias(const CaseRequest& request) {
  MatmulCase made = blank_case(request);
  const Draw a(request.seed, Purpose::a), b(request.seed, Purpose::b);
  const auto significand = [](emu::Format format, const Draw& draw, std::size_t i) {
    const auto codes = std::uint64_t{1} << format.fraction_bits;
    return static_cast<float>(1 + static_cast<double>(draw.integer(i, codes)) / static_cast<double>(codes));
  };
  for (std::size_t i = 0; i < made.a.size(); ++i) made.a[i] = significand(request.a, a, i);
  for (std::size_t i = 0; i < made.b.size(); ++i) made.b[i] = significand(request.b, b, i);
  const int growth = static_cast<int>(std::ceil(emu::log2(static_cast<double>(request.k)))) + 2;
  made.any_order_is_exact = request.a.fraction_bits + request.b.fraction_bits + growth <= request.accumulator.precision();
  made.facts.push_back({"sum_over_product_log2", emu::log2(static_cast<double>(request.k)),
                        "a sum is about this much larger than its products"});
  return made;
}

namespace {

/// Small terms of `alignment`: element (i, j) has 2^(large - first - i % rows - rows (j % columns)).
struct Ladder {
  int large, first, rows, columns;
  Factors start;  ///< of the first of them
  int last() const { return first + rows * columns - 1; }
};

Ladder ladder(const CaseRequest& request) {
  constexpr int first_wanted = 12, last_wanted = 48;  // engines are known to keep 13 to 35 bits (docs/engines.md)
  const Exponents a = normal_powers(request.a), b = normal_powers(request.b), powers = product_powers(request);
  const int greatest = std::min(request.accumulator.max_exponent() - 1, request.out.max_exponent() + first_wanted);
  const int large = std::min({powers.greatest, greatest, (first_wanted + last_wanted) / 2});
  const int least = std::max({powers.least, request.out.min_exponent(), request.accumulator.min_exponent()});
  const int reach = std::min(large - least, last_wanted);
  const int first = std::min(first_wanted, (reach + 1) / 2);
  const int steps = reach - first + 1;
  const int rows = std::min({static_cast<int>(std::min<std::size_t>(request.m, 8)), steps, a.greatest - a.least + 1});
  int columns = static_cast<int>(std::min<std::size_t>(request.n, 64));
  for (columns = std::min(columns, steps / std::max(rows, 1)); columns > 0 && rows > 0; --columns) {
    // B takes as much of the first as its range allows; from there on rows divide A's part and columns divide B's.
    const Split start = split_exponent(large - first, {a.least + rows - 1, a.greatest},
                                       {b.least + rows * (columns - 1), b.greatest}, b.greatest);
    if (start.fits && first > 0) return {large, first, rows, columns, start.factors};
  }
  throw Error("alignment: products of " + pair_name(request) + " and results in " + emu::format_name(request.out) +
              " span too few binades; give formats of a greater range");
}

}  // namespace

MatmulCase generate_alignment(const CaseRequest& request) {
  need_k("alignment", request, 3, "a large product, its negative and a small one");
  const Ladder steps = ladder(request);
  const Factors large = factors(request, steps.large);
  MatmulCase made = blank_case(request);
  const Draw signs(request.seed, Purpose::signs);
  for (std::size_t i = 0; i < request.m; ++i) {
    float* const row = made.a.data() + i * request.k;
    row[0] = static_cast<float>(power(large.a));
    row[1] = -row[0];
    row[2] = static_cast<float>(power(steps.start.a - static_cast<int>(i % static_cast<std::size_t>(steps.rows))));
  }
  for (std::size_t j = 0; j < request.n; ++j) {
    const int divided = steps.rows * static_cast<int>(j % static_cast<std::size_t>(steps.columns));
    made.b[j] = made.b[request.n + j] = static_cast<float>(signs.sign(j) * power(large.b));
    made.b[2 * request.n + j] = static_cast<float>(signs.sign(j) * power(steps.start.b - divided));
  }
  made.facts.push_back(
      {"large_log2", static_cast<double>(steps.large), "the large term; an output is 0 where the small one is lost"});
  made.facts.push_back(
      {"first_bit", static_cast<double>(steps.first), "the largest of the small terms is 2^-this of the large one"});
  made.facts.push_back(
      {"last_bit", static_cast<double>(steps.last()), "the smallest; an engine that keeps F bits loses those beyond F"});
  return made;
}

MatmulCase generate_order(const CaseRequest& request) {
  need_k("order", request, 4, "a large product, small ones, and last its negative");
  const int lost = request.accumulator.precision() + 1;  // a quarter of a last bit: added to the large term it leaves no trace
  const Exponents powers = product_powers(request);
  const int k_log2 = static_cast<int>(std::ceil(emu::log2(static_cast<double>(request.k))));
  const int large = std::min(
      {powers.greatest, request.accumulator.max_exponent() - 1, lost + std::min(0, request.out.max_exponent() - 1 - k_log2)});
  if (large - lost < powers.least)
    throw Error("order: products of " + pair_name(request) + " span " + std::to_string(powers.greatest - powers.least) +
                " binades; losing a term in " + emu::format_name(request.accumulator) + " takes " + std::to_string(lost) +
                "; give formats of a greater range, or --acc float16");
  MatmulCase made = blank_case(request);
  const Draw signs(request.seed, Purpose::signs);
  const Factors of_large = factors(request, large), of_small = factors(request, large - lost);
  const std::size_t middle = request.k / 2, last = request.k - 1;
  const auto is_large = [&](std::size_t k) { return k == 0 || k == middle || k == last; };
  for (std::size_t i = 0; i < request.m; ++i) {
    float* const row = made.a.data() + i * request.k;
    for (std::size_t k = 0; k < request.k; ++k) row[k] = is_large(k) ? 0 : static_cast<float>(power(of_small.a));
    if (i % 4 == 3) continue;  // without L: 0 is no sum of it
    row[i % 2 == 0 ? 0 : middle] = static_cast<float>(power(of_large.a));
    row[last] = -static_cast<float>(power(of_large.a));
  }
  for (std::size_t k = 0; k < request.k; ++k)
    for (std::size_t j = 0; j < request.n; ++j)
      made.b[k * request.n + j] = static_cast<float>(signs.sign(j) * power(is_large(k) ? of_large.b : of_small.b));
  made.facts.push_back({"large_log2", static_cast<double>(large),
                        "rows have it by i % 4 at k = 0, K/2, 0 or not at all, and its negative last"});
  made.facts.push_back({"small_log2", static_cast<double>(large - lost), "all other products"});
  made.facts.push_back(
      {"small_terms", static_cast<double>(request.k - 3), "of an output; one at a time they are lost in the large one"});
  return made;
}

MatmulCase generate_overflow_partial(const CaseRequest& request) {
  need_k("overflow_partial", request, 5, "two products overflow, two take them back, one is left");
  const int last_binade = request.accumulator.max_exponent();
  const Exponents powers = product_powers(request);
  if (powers.greatest < last_binade)
    throw Error("overflow_partial: products of " + pair_name(request) + " stay below 2^" + std::to_string(powers.greatest + 2) +
                ", " + emu::format_name(request.accumulator) + " ends at 2^" + std::to_string(last_binade + 1) +
                "; give --acc float16, or an --in of a greater range");
  MatmulCase made = blank_case(request);
  const Draw signs(request.seed, Purpose::signs), significands(request.seed, Purpose::a);
  const std::size_t half = (request.k - 1) / 2;
  const int half_log2 = static_cast<int>(std::ceil(emu::log2(static_cast<double>(half))));
  const Factors large = factors(request, last_binade), small = factors(request, 0);
  // Near the range: all of them together stay in the last binade, and every sum of them is a number of the accumulator.
  Split near = split_exponent(last_binade - half_log2, normal_powers(request.a), {large.b, large.b}, large.b);
  near.fits = near.fits && half_log2 <= request.accumulator.precision();
  for (std::size_t i = 0; i < request.m; ++i) {
    float* const row = made.a.data() + i * request.k;
    const bool stays = i % 2 == 1 && near.fits;
    const double significand =
        !stays && request.a.fraction_bits > 0 ? 1 + 0.5 * static_cast<double>(significands.integer(i, 2)) : 1;
    const double term = significand * power(stays ? near.factors.a : large.a);
    row[request.k - 1] = static_cast<float>(power(small.a) * (i % 2 == 0 || request.a.fraction_bits == 0 ? 1 : 1.5));
    if (i % 4 == 3) continue;  // the small product alone, which no order loses
    std::fill(row, row + half, static_cast<float>(term));
    std::fill(row + half, row + 2 * half, static_cast<float>(-term));
  }
  for (std::size_t k = 0; k < request.k; ++k)
    for (std::size_t j = 0; j < request.n; ++j)
      made.b[k * request.n + j] = static_cast<float>(signs.sign(j) * power(k + 1 < request.k ? large.b : small.b));
  made.facts.push_back({"overflowing_rows", static_cast<double>(near.fits ? (request.m + 1) / 2 : request.m - request.m / 4),
                        "rows whose sums in ascending order leave the accumulator's range: every second from the first"});
  made.facts.push_back(
      {"largest_partial_sum_log2", emu::log2(static_cast<double>(half)) + last_binade, "at least, in ascending order"});
  return made;
}

}  // namespace ulpscope::verify

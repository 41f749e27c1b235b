// SPDX-License-Identifier: Apache-2.0
// Bounds for declared arithmetic, against sums in that arithmetic in many orders; and the probabilistic form.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <utility>
#include <vector>

#include "emu/engine_bound.hpp"
#include "emu/exact_sum.hpp"
#include "emu/names.hpp"
#include "tests/emu/bound_problems.hpp"

namespace {

using namespace ulpscope;
using Catch::Matchers::WithinRel;
using emu::Chain;
using emu::DeclaredSum;
using emu::ExactSum;
using emu::Products;
using emu::Rounding;
using emu::SumOrder;
using test::Values;

double gamma(double n, double u) { return n * u / (1 - n * u); }

/// Declared arithmetic, one rounding an operation, from exact sums.
class Arithmetic {
 public:
  explicit Arithmetic(const DeclaredSum& sum) : acc_(sum.accumulator) {
    options_.rounding = sum.rounding;
    options_.flush_subnormals = sum.flushes_subnormals;
    options_.subnormals_are_zero = sum.zeroes_subnormals;
  }
  double operand(emu::Format f, double x) const {
    return options_.subnormals_are_zero && std::fabs(x) < emu::decode(f, f.min_normal_code()) ? 0 : x;
  }
  double fma(double a, double b, double c) const {
    ExactSum sum;
    sum.add_product(a, b);
    sum.add(c);
    return sum.rounded(acc_, options_).value;
  }
  double add(double x, double y) const { return fma(1, x, y); }

 private:
  emu::Format acc_;
  emu::RoundingOptions options_;
};

using Terms = std::vector<double>;

double sequential(const Arithmetic& arithmetic, const Terms& terms) {
  double sum = terms.front();
  for (std::size_t i = 1; i < terms.size(); ++i) sum = arithmetic.add(sum, terms[i]);
  return sum;
}

double pairwise(const Arithmetic& arithmetic, std::span<const double> terms) {
  if (terms.size() == 1) return terms.front();
  const std::size_t middle = (terms.size() + 1) / 2;
  return arithmetic.add(pairwise(arithmetic, terms.first(middle)), pairwise(arithmetic, terms.subspan(middle)));
}

/// Any two terms, until there is one; now and then always the last sum, which makes the longest row.
double at_random(const Arithmetic& arithmetic, Terms terms, test::Random& random) {
  const bool chain = random.one_in(2);
  while (terms.size() > 1) {
    const auto pick = [&] { return static_cast<std::size_t>(random.below(static_cast<int>(terms.size()))); };
    std::swap(terms[pick()], terms.back());
    const double x = terms.back();
    terms.pop_back();
    double& other = terms[chain ? 0 : pick()];
    other = arithmetic.add(other, x);
  }
  return terms.front();
}

double summed(const DeclaredSum& declared, const Terms& terms, test::Random& random) {
  const Arithmetic arithmetic(declared);
  switch (declared.order) {
    case SumOrder::any: return at_random(arithmetic, terms, random);
    case SumOrder::sequential: return sequential(arithmetic, terms);
    case SumOrder::pairwise: break;
  }
  return pairwise(arithmetic, terms);
}

/// Products [begin, end) of a row and a column in declared arithmetic.
double part_of(const DeclaredSum& declared, const test::BoundProblem& p, std::size_t begin, std::size_t end, const Terms& c,
               test::Random& random) {
  const Arithmetic arithmetic(declared);
  const auto a = [&](std::size_t x) { return arithmetic.operand(p.a_format, p.a[x]); };
  const auto b = [&](std::size_t x) { return arithmetic.operand(p.b_format, p.b[x]); };
  if (declared.products == Products::fused) {
    // Lanes of fused multiply-adds, one where the order is sequential; then the lanes.
    Terms lanes(declared.order == SumOrder::sequential ? 1 : static_cast<std::size_t>(random.between(1, 5)));
    if (!c.empty()) lanes[0] = c[0];
    for (std::size_t x = begin; x < end; ++x) {
      double& lane = lanes[(x - begin) % lanes.size()];
      lane = arithmetic.fma(a(x), b(x), lane);
    }
    return summed(declared, lanes, random);
  }
  Terms terms = c;
  for (std::size_t x = begin; x < end; ++x) terms.push_back(arithmetic.fma(a(x), b(x), 0));
  if (declared.block == 0) return summed(declared, terms, random);
  Terms blocks = c;
  for (std::size_t x = c.size(); x < terms.size(); x += declared.block) {
    const auto first = terms.begin() + static_cast<std::ptrdiff_t>(x);
    const auto count = static_cast<std::ptrdiff_t>(std::min(declared.block, terms.size() - x));
    blocks.push_back(summed(declared, Terms(first, first + count), random));
  }
  return summed(declared, blocks, random);
}

double product_of(const DeclaredSum& declared, const test::BoundProblem& p, test::Random& random) {
  const std::size_t promote = p.chain.promote;
  if (promote == 0 || promote >= p.k) return part_of(declared, p, 0, p.k, p.c, random);
  Terms parts = p.c;
  for (std::size_t x = 0; x < p.k; x += promote)
    parts.push_back(part_of(declared, p, x, std::min(p.k, x + promote), {}, random));
  const DeclaredSum joined{.a = {}, .b = {}, .accumulator = emu::float32};
  return summed(joined, parts, random);
}

std::vector<DeclaredSum> declared_sums() {
  std::vector<DeclaredSum> sums;
  for (const auto& [in, acc] :
       {std::pair{emu::fp16, emu::float32}, std::pair{emu::bf16, emu::float32}, std::pair{emu::fp16, emu::fp16},
        std::pair{emu::e4m3, emu::bf16}, std::pair{emu::float32, emu::float32}})
    for (const Rounding rounding : {Rounding::nearest_even, Rounding::toward_zero, Rounding::upward})
      for (const SumOrder order : {SumOrder::any, SumOrder::sequential, SumOrder::pairwise})
        for (const auto& [flushes, zeroes] : {std::pair(false, false), std::pair(true, true), std::pair(true, false)}) {
          const DeclaredSum sum{.a = in,
                                .b = in,
                                .accumulator = acc,
                                .rounding = rounding,
                                .order = order,
                                .flushes_subnormals = flushes,
                                .zeroes_subnormals = zeroes};
          sums.push_back(sum);
          sums.push_back(sum);
          sums.back().block = 8;
          if (order == SumOrder::pairwise) continue;
          sums.push_back(sum);
          sums.back().products = Products::fused;
        }
  return sums;
}

/// The part of its bound that an error is.
double share(const DeclaredSum& declared, const test::BoundProblem& p, double computed) {
  const test::Observed observed = test::observe(p, 0, 0, computed);
  Chain chain = p.chain;
  chain.largest_a = test::largest(p.a);
  chain.largest_b = test::largest(p.b);
  const double allowed = emu::any_order_bound(declared, p.k, chain).allowed(observed.magnitude);
  CAPTURE(computed, observed.error, observed.magnitude, allowed);
  CHECK(observed.error <= allowed);
  return allowed > 0 ? observed.error / allowed : 0;
}

}  // namespace

TEST_CASE("no error of declared arithmetic exceeds its bound: formats, roundings, orders, products, parts", "[emu][bound]") {
  std::uint64_t seed = 0;
  for (const DeclaredSum& declared : declared_sums())
    for (const Values values : test::all_values)
      for (const std::size_t k : {1U, 2U, 9U, 60U})
        for (const Chain& chain : {Chain{}, Chain{.promote = 16, .has_c = true}, Chain{.has_c = true}}) {
          if (chain.promote > 0 && ++seed % 3 != 0) continue;
          emu::EngineMode mode{};
          mode.model = emu::fma_chain(declared.accumulator);
          test::Random random(++seed);
          const test::BoundProblem p = test::bound_problem({&mode, declared.a, declared.b, values, k, 1, 1}, chain, seed);
          CAPTURE(emu::format_name(declared.a), emu::format_name(declared.accumulator), emu::name_of(declared.rounding),
                  static_cast<int>(declared.order), static_cast<int>(declared.products), declared.block,
                  declared.flushes_subnormals, declared.zeroes_subnormals, static_cast<int>(values), k, chain.promote,
                  chain.has_c);
          share(declared, p, product_of(declared, p, random));
        }
}

TEST_CASE("sums that lose at every addition come near the bound of declared arithmetic", "[emu][bound]") {
  // 1 and then halves of its last place, each lost in a tie; toward zero, ever so little less than a last place.
  for (const auto& [rounding, factor, least] :
       {std::tuple{Rounding::nearest_even, 1.0, 0.99}, std::tuple{Rounding::toward_zero, 1.4140625, 0.99}}) {
    const DeclaredSum declared{.a = emu::fp16, .b = emu::fp16, .rounding = rounding};
    test::BoundProblem p{{}, emu::fp16, emu::fp16, 1, 1, 4096, {}, {}, {}, {}, {}};
    p.a.assign(p.k, std::ldexp(factor, -12));
    p.a[0] = 1;
    p.b = p.a;
    const Arithmetic arithmetic(declared);
    double sum = 0;
    for (std::size_t x = 0; x < p.k; ++x) sum = arithmetic.add(sum, arithmetic.fma(p.a[x], p.b[x], 0));
    CAPTURE(emu::name_of(rounding), sum);

    CHECK(share(declared, p, sum) > least);
  }
}

TEST_CASE("bounds for declared arithmetic are Higham's", "[emu][bound]") {
  const DeclaredSum in_single{.a = emu::fp16, .b = emu::fp16};
  const auto relative = [](const DeclaredSum& sum, std::size_t k, const Chain& chain = {}) {
    return emu::any_order_bound(sum, k, chain).relative;
  };

  CHECK(relative(in_single, 4096) == gamma(4095, 0x1p-24));  // products of halfs are floats
  CHECK(relative({.a = emu::float32, .b = emu::float32}, 4096) == gamma(4096, 0x1p-24));
  CHECK(relative({.a = emu::fp16, .b = emu::fp16, .order = SumOrder::pairwise}, 4096) == gamma(12, 0x1p-24));
  CHECK(relative({.a = emu::fp16, .b = emu::fp16, .rounding = Rounding::toward_zero}, 4096) == 4095 * 0x1p-23);
  CHECK(relative({.a = emu::fp16, .b = emu::fp16, .block = 64}, 4096) == gamma(63 + 63, 0x1p-24));
  CHECK_THAT(relative(in_single, 4096, {.promote = 128}),
             WithinRel(gamma(127, 0x1p-24) + gamma(31, 0x1p-24) * (1 + gamma(127, 0x1p-24)), 1e-14));
  CHECK_THAT(relative(in_single, 4096, {.split_k = 4, .has_c = true}),
             WithinRel(gamma(1023, 0x1p-24) + gamma(4, 0x1p-24) * (1 + gamma(1023, 0x1p-24)), 1e-14));
  CHECK(std::isinf(relative({.a = emu::fp16, .b = emu::fp16, .accumulator = emu::fp16}, 2049)));
  CHECK(emu::any_order_bound(in_single, 4096).absolute == 0);  // and their products and sums do not underflow
  CHECK(emu::any_order_bound(in_single, 0).relative == 0);
}

TEST_CASE("the probabilistic allowance grows as the root of the length, and never exceeds the bound", "[emu][bound]") {
  const DeclaredSum single{.a = emu::fp16, .b = emu::fp16};
  const auto allowance = [&](std::size_t k, double false_alarm) {
    return emu::probable(emu::any_order_bound(single, k), false_alarm);
  };
  // lambda of 10^-6: sqrt(2 ln(2 10^6)) = 5.3868...
  CHECK_THAT(allowance(1025, 1e-6), WithinRel(5.386771 * 32 * 0x1p-24, 1e-3));
  CHECK_THAT(allowance(16385, 1e-6), WithinRel(4 * allowance(1025, 1e-6), 1e-2));
  for (const emu::EngineMode& mode : emu::engine_modes()) {
    const emu::Format in = mode.inputs.empty() ? emu::fp16 : mode.inputs.front();
    for (const std::size_t k : {1U, 64U, 4096U, 1U << 20}) {
      const emu::ErrorBound bound = *emu::engine_bound(mode.model, in, in, k, {.scale_format = mode.scale_format});
      CAPTURE(mode.engine, mode.instruction, k);
      CHECK(emu::probable(bound, 1e-30) <= bound.relative);
      CHECK(emu::probable(bound, 1e-3) <= emu::probable(bound, 1e-9));
      CHECK(std::isfinite(bound.absolute));
    }
  }
  // Where the deterministic bound has no meaning, this one has none: 4096 sums in float16 can stagnate.
  const emu::ErrorBound half = emu::any_order_bound({.a = emu::fp16, .b = emu::fp16, .accumulator = emu::fp16}, 4096);
  CHECK(std::isinf(half.relative));
  CHECK(std::isinf(emu::probable(half, 1e-9)));
}

TEST_CASE("errors under the model stay within the probabilistic allowance and come near it", "[emu][bound]") {
  // c = 1 and products far below it: every sum lies near 1, so that every rounding error is anything up to a unit of it.
  const std::size_t elements = 500, k = 1000;
  struct Case {
    const char* engine;
    double least;  ///< part of the allowance that the greatest error reaches
  };
  for (const Case& x : {Case{"fma", 0.3}, Case{"sm_80", 0.4}, Case{"sm_90", 0.4}, Case{"amx_bf16", 0.05}}) {
    const emu::Format in = std::string(x.engine) == "amx_bf16" ? emu::bf16 : emu::fp16;
    const emu::EngineMode& mode = emu::find_engine(x.engine, {in, in});
    test::BoundProblem p{mode.model, in, in, 1, elements, k, {}, {}, {}, {}, {.has_c = true}};
    test::Random random(17);
    const auto draw = [&](double size) { return emu::round_to(in, size * (1 + random.below(1 << 20) * 0x1p-20)).value; };
    for (std::size_t at = 0; at < k; ++at) p.a.push_back(draw(0x1p-10));
    for (std::size_t at = 0; at < k * elements; ++at) p.b.push_back(draw(0x1p-10));
    p.c.assign(elements, 1);
    Chain chain = p.chain;
    chain.largest_a = test::largest(p.a);
    chain.largest_b = test::largest(p.b);
    const emu::ErrorBound bound = *emu::engine_bound(p.engine, in, in, k, chain);
    const double allowance = emu::probable(bound, 1e-3 / static_cast<double>(elements));
    REQUIRE(allowance < bound.relative);

    const std::vector<double> computed = test::product_on_engine(p);

    double closest = 0;
    for (std::size_t j = 0; j < elements; ++j) {
      const test::Observed observed = test::observe(p, 0, j, computed[j]);
      closest = std::max(closest, observed.error / (allowance * observed.magnitude + bound.absolute));
    }
    CAPTURE(x.engine, closest);
    CHECK(closest <= 1);
    CHECK(closest > x.least);
  }
}

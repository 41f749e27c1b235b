// SPDX-License-Identifier: Apache-2.0
// Operands that lose as much as can be come near the bounds, which are those of the derivation.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <vector>

#include "emu/engine_bound.hpp"
#include "emu/names.hpp"
#include "tests/emu/bound_judge.hpp"

namespace {

using namespace ulpscope;
using emu::Chain;
using emu::EngineMode;
using emu::Magnitudes;
using test::BoundProblem;
using test::judge;
using test::Tally;

}  // namespace

TEST_CASE("operands that lose as much as can be come near the bound", "[emu][bound]") {
  // Product 0 is 2^(2 first). Each other is factor^2 2^(a + b): just below the last bit that a step keeps, or half a unit of
  // the sum, as which it is lost whole.
  struct Case {
    const char* engine;
    emu::Format in, acc;
    int first;
    double factor;
    int a, b;
    std::size_t k;
    double least;  ///< part of the bound
  };
  constexpr double root_of_two = 1.4140625;  // a float16 below it; 1.375 is one of e4m3
  for (const Case& x : {Case{"sm_80", emu::fp16, emu::float32, 0, root_of_two, -13, -12, 4096, 0.75},
                        Case{"sm_70", emu::fp16, emu::float32, 0, root_of_two, -12, -12, 4096, 0.75},
                        Case{"sm_90", emu::fp16, emu::float32, 0, root_of_two, -13, -13, 4096, 0.75},
                        Case{"sm_90", emu::e4m3, emu::float32, 1, 1.375, -6, -6, 512, 0.8},
                        Case{"sm_89", emu::e4m3, emu::float32, 1, 1.375, -6, -6, 512, 0.8},
                        Case{"fma", emu::fp16, emu::float32, 0, 1, -12, -12, 4096, 0.99},
                        Case{"fp16_chain", emu::fp16, emu::fp16, 0, root_of_two, -6, -6, 64, 0.85},
                        Case{"x86_fma", emu::fp16, emu::fp16, 0, root_of_two, -6, -6, 64, 0.85}}) {
    const EngineMode& mode = emu::find_engine(x.engine, {x.in, x.in, x.acc});
    BoundProblem p{mode.model, x.in, x.in, 1, 1, x.k, {}, {}, {}, {}, {}};
    p.a.assign(x.k, std::ldexp(x.factor, x.a));
    p.b.assign(x.k, std::ldexp(x.factor, x.b));
    p.a[0] = p.b[0] = std::ldexp(1.0, x.first);
    CAPTURE(x.engine, emu::format_name(x.in));
    Tally tally;

    judge(p, tally);

    CHECK(tally.closest > x.least);
  }
}

TEST_CASE("each way to lose c or the greatest term comes near the bound by itself", "[emu][bound]") {
  // A product a b of two equal numbers, seven others that a cut at 24 bits loses (or none), and c.
  emu::Engine windowed = emu::block_fma(1, 25);
  windowed.stages[0].addend_window = 3;
  const emu::EngineRequest halves{emu::fp16, emu::fp16};
  struct Case {
    const char* what;
    emu::Engine engine;
    double a;
    std::size_t others;
    double c;
    double least;  ///< part of the bound
  };
  for (const Case& x : {
           Case{"3 bits are kept, and the product loses nearly 2^-3 as c does",
                emu::parse_engine("block:n=1,f=3,out=rz", halves), 1.060546875, 0, 0.12499, 0.75},
           Case{"c is floored at 24 bits, and the sum then is a tie", emu::find_engine("cdna3", halves).model, 1, 7,
                0x1p-24 * (2 - 0x1p-23), 0.95},
           Case{"c is just outside of the window", windowed, 1, 0, 0x1p-4 * (2 - 0x1p-23), 0.85},
           Case{"the product is far below c's last bit, and rounded up", emu::parse_engine("block:n=1,f=60,out=rp", halves),
                0x1p-24, 0, 1, 0.95},
       }) {
    const std::size_t k = 1 + x.others;
    BoundProblem p{x.engine, emu::fp16, emu::fp16, 1, 1, k, {}, {}, {x.c}, {}, {.has_c = true}};
    p.a.assign(k, 0x1.6ap-13);  // 2^-24 at most, together
    p.b.assign(k, 0x1.6ap-12);
    p.a[0] = p.b[0] = x.a;
    p.c = {emu::round_to(emu::float32, x.c).value};
    CAPTURE(x.what);
    Tally tally;

    judge(p, tally);

    CHECK(tally.closest > x.least);
    CHECK(tally.closest <= 1);
  }
}

TEST_CASE("subnormal sums of one stage are lost in the next as their exponents say", "[emu][bound]") {
  // Eight sums of one product, 2^-24 each, rounded to float16: the second stage keeps six bits below their exponent, -14.
  constexpr std::size_t k = 8;
  emu::Engine engine = emu::block_fma(k, 25, emu::float16, emu::Rounding::nearest_even);
  engine.stages[0].terms = 1;
  engine.stages[0].addend = emu::Addend::none;
  engine.stages[1] = engine.stages[0];
  engine.stages[1].terms = emu::Stage::all;
  engine.stages[1].fraction_bits = 6;
  engine.stages[1].rounded = false;
  engine.stages[2] = emu::block_fma(1, 25, emu::float16, emu::Rounding::nearest_even).stages[0];
  engine.stage_count = 3;
  const std::vector<double> roots(k, 0x1p-12);
  const BoundProblem p{engine, emu::fp16, emu::fp16, 1, 1, k, roots, roots, {}, {}, {}};
  Tally tally;

  judge(p, tally);

  CHECK(test::product_on_engine(p).front() == 0);
  CHECK(tally.judged == 1);
}

TEST_CASE("operands that all lose the same need not obey the model of random errors", "[emu][bound]") {
  const emu::Engine& engine = emu::find_engine("sm_90", {emu::e4m3, emu::e4m3}).model;
  const std::size_t k = 4096;
  BoundProblem p{engine, emu::e4m3, emu::e4m3, 1, 1, k, {}, {}, {}, {}, {}};
  p.a.assign(k, 1.375 * 0x1p-6);
  p.a[0] = 2;
  p.b = p.a;
  const emu::ErrorBound bound = *emu::engine_bound(engine, emu::e4m3, emu::e4m3, k);
  const double computed = test::product_on_engine(p).front();
  const test::Observed observed = test::observe(p, 0, 0, computed);

  CHECK(observed.error <= bound.allowed(observed.magnitude));
  CHECK(observed.error > emu::probable(bound, 1e-3) * observed.magnitude);
}

TEST_CASE("a product that lscale makes half the least number is lost, as much as the bound allows", "[emu][bound]") {
  struct Case {
    emu::Format acc;
    int lscale;
    double a, b;
  };
  for (const char* const name : {"arm_fp8", "arm_fp8/fmlal", "arm_fp8/fmmla"})
    for (const Case& x : {Case{emu::float16, 15, 0x1p-5, 0x1p-5}, Case{emu::float32, 127, 0x1p-12, 0x1p-11}}) {
      EngineMode mode = emu::find_engine(name, {emu::e5m2, emu::e5m2, x.acc});
      mode.model.product_exponent = -x.lscale;
      const BoundProblem p{mode.model, emu::e5m2, emu::e5m2, 1, 1, 1, {x.a}, {x.b}, {}, {}, {}};
      Tally tally;

      judge(p, tally);

      CAPTURE(name, x.lscale);
      CHECK(test::product_on_engine(p).front() == 0);
      CHECK(tally.closest > 0.99);
      CHECK(tally.closest <= 1);
    }
}

TEST_CASE("c joins a sum that lscale scaled down by a rounding of its own", "[emu][bound]") {
  // 1 + 2^-24 is a tie, and so is what comes of it and c.
  EngineMode mode = emu::find_engine("arm_fp8", {emu::e5m2, emu::e5m2});
  mode.model.product_exponent = -20;
  const BoundProblem p{mode.model, emu::e5m2, emu::e5m2, 1, 1, 2, {1, 0x1p-12}, {1, 0x1p-12}, {0x1p-24}, {}, {.has_c = true}};
  Tally tally;

  judge(p, tally);

  CHECK(test::product_on_engine(p).front() == 1);
  CHECK(tally.closest > 0.99);
  CHECK(tally.closest <= 1);
}

TEST_CASE("bounds are those of the derivation", "[emu][bound]") {
  const auto relative = [](const char* name, emu::Format in, emu::Format acc, std::size_t k, const Chain& chain = {}) {
    return emu::engine_bound(emu::find_engine(name, {in, in, acc}).model, in, in, k, chain)->relative;
  };
  const auto gamma = [](double n, double u) { return n * u / (1 - n * u); };
  using Catch::Matchers::WithinRel;

  CHECK(relative("sm_90", emu::e4m3, emu::float32, 4096) == 128 * (32 * 0x1p-13 + 0x1p-13));
  CHECK(relative("sm_90", emu::e4m3, emu::float32, 32, {.has_c = true}) == 33 * 0x1p-13 + 0x1p-13);  // c has 23 bits
  CHECK(relative("sm_80", emu::fp16, emu::float32, 64) == 8 * (8 * 0x1p-24 + 0x1p-23));
  CHECK(relative("fp16_chain", emu::fp16, emu::fp16, 1024) == gamma(1024, 0x1p-11));
  CHECK(std::isinf(relative("fp16_chain", emu::fp16, emu::fp16, 2048)));
  CHECK(relative("pairwise", emu::fp16, emu::float32, 1024) == gamma(10, 0x1p-24));  // products are exact
  CHECK(relative("pairwise", emu::fp16, emu::fp16, 1024) == gamma(11, 0x1p-11));
  const double part = 4 * 33 * 0x1p-13;
  CHECK_THAT(relative("sm_90", emu::e4m3, emu::float32, 4096, {.promote = 128}),
             WithinRel(part + gamma(31, 0x1p-24) * (1 + part), 1e-14));
  // A step of AMX: 15 roundings in each chain (the first product is exact) and one of their sum; 9 steps join one before.
  CHECK_THAT(relative("amx_bf16", emu::bf16, emu::float32, 320), WithinRel(gamma(15 + 1 + 9, 0x1p-24), 1e-14));
  CHECK_THAT(relative("cdna1", emu::fp16, emu::float32, 400), WithinRel(gamma(100, 0x1p-24), 1e-14));
  CHECK(relative("exact", emu::fp16, emu::float32, 65536) == 0x1p-24 / (1 - 0x1p-24));
  // A product of floats has 46 bits below its exponent, more than are kept: the greatest loses as well.
  const emu::Engine one = emu::parse_engine("block:n=1,f=25,out=rz", {emu::float32, emu::float32});
  CHECK(emu::engine_bound(one, emu::float32, emu::float32, 1)->relative == 2 * 0x1p-25 + 0x1p-23);
  CHECK_THAT(relative("fma", emu::fp16, emu::float32, 4096, {.epilogue = 2}),
             WithinRel(gamma(4096, 0x1p-24) + gamma(2, 0x1p-24) * (1 + gamma(4096, 0x1p-24)), 1e-14));
  // What is lost whatever the sums are is multiplied by scales as well; next to it, what underflows then is nothing.
  const auto absolute = [](double scale) {
    const emu::Engine& engine = emu::find_engine("sm_90", {emu::fp16, emu::fp16}).model;
    return emu::engine_bound(engine, emu::fp16, emu::fp16, 64, {.scale_products = 64, .largest_scale = scale})->absolute;
  };
  CHECK_THAT(absolute(1024), WithinRel(1024 * absolute(1), 1e-9));
  // Scales in software: 32 parts of 128 products meet 31 additions and two multiplications.
  CHECK_THAT(relative("fma", emu::fp16, emu::float32, 4096, {.scale_products = 128}),
             WithinRel(gamma(128, 0x1p-24) + gamma(33, 0x1p-24) * (1 + gamma(128, 0x1p-24)), 1e-14));
}

TEST_CASE("what subnormal operands and scales fall short of their exponents is a factor where the engine scales",
          "[emu][bound]") {
  const auto relative = [](emu::EngineScales scales, emu::Format in, emu::Format of_scales, Magnitudes magnitudes) {
    const EngineMode& mode = emu::find_engine("sm_100", {in, in, emu::float32, scales, of_scales});
    return emu::engine_bound(mode.model, in, in, 64, {.magnitudes = magnitudes, .scale_format = of_scales})->relative;
  };
  using enum emu::EngineScales;
  using enum Magnitudes;

  // Two steps of 32 products, 25 bits; a product of subnormals of e4m3 is 2^-6 of its exponent at least.
  CHECK(relative(products, emu::e4m3, emu::e8m0, floored) == 2 * (32 * 0x1p-25 + 0x1p-23));
  CHECK(relative(products, emu::e4m3, emu::e8m0, as_they_are) == 2 * (64 * 32 * 0x1p-25 + 0x1p-23));
  // One step of four groups, 35 bits. A sum of products of e2m1 is 1/4 at least, and scales in e4m3 may be subnormal.
  CHECK(relative(group_sums, emu::e2m1, emu::e8m0, floored) == 4 * 0x1p-35 + 0x1p-23);
  CHECK(relative(group_sums, emu::e2m1, emu::e8m0, as_they_are) == 4 * 4 * 0x1p-35 + 0x1p-23);
  CHECK(relative(group_sums, emu::e2m1, emu::e4m3, as_they_are) == 64 * 4 * 4 * 0x1p-35 + 0x1p-23);
}

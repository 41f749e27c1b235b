// SPDX-License-Identifier: Apache-2.0
// Steps of few products, against the reference: operands over so many binades that floats and doubles just hold their sums, or
// just do not, sums that cancel, ties, the greatest and the least numbers.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/engine_matmul.hpp"
#include "emu/engines.hpp"
#include "emu/names.hpp"
#include "emu/simd.hpp"
#include "tests/emu/engine_problems.hpp"

namespace {
using namespace ulpscope::test;

/// Whether a mode adds a few products a step, and others than float64.
bool is_short(const EngineMode& mode) {
  const Engine& engine = mode.model;
  return engine.accumulator != float64 && engine.scales == EngineScales::none && engine.products != Stage::all &&
         (engine.stages[0].summing != Summing::sequential || engine.products > 1) && engine.products <= 16;
}

/// Numbers of a format, of either sign, from 2^least to 2^greatest, many with nothing but their first and last bit.
float spread_number(Format format, int least, int greatest, Random& random) {
  const auto width = static_cast<std::uint32_t>(greatest - least + 1);
  const int exponent =
      std::clamp(least + static_cast<int>(random.below(width)), format.min_spacing_exponent(), format.max_exponent() - 1);
  const Code power = encode(format, std::ldexp(1.0, exponent));
  const Code fraction = exponent < format.min_exponent() ? 0
                        : random.below(3) == 0           ? random() & format.fraction_mask()
                                                         : random.below(2);
  const auto x = static_cast<float>(decode(format, power | fraction));
  return random.below(2) == 0 ? x : -x;
}

/// Rows of A in pairs of columns that cancel, against rows of B that are alike but for one in eight.
Problem spread_problem(const EngineMode& mode, Format format, int least, int greatest, Random& random) {
  Problem p{&mode, format, format, 5, 40, 1 + random.below(80), {}, {}, {}, {}, {}};
  for (std::size_t at = 0; at < p.m * p.k; ++at)
    p.a.push_back(at % p.k % 2 == 1 && random.below(2) == 0 ? -p.a.back() : spread_number(format, least, greatest, random));
  p.b.resize(p.k * p.n);
  for (std::size_t x = 0; x < p.k; ++x)
    for (std::size_t j = 0; j < p.n; ++j)
      p.b[x * p.n + j] = x % 2 == 1 && random.below(8) != 0 ? p.b[(x - 1) * p.n + j]
                         : random.below(16) == 0            ? -0.0F
                                                            : spread_number(format, least, greatest, random);
  for (std::size_t at = 0; at < p.m * p.n; ++at)
    p.c.push_back(at % 5 == 0 ? (at % 2 == 0 ? 0.0F : -0.0F)
                              : spread_number(mode.model.accumulator, 2 * least, 2 * greatest, random));
  return p;
}

void check_on_all_paths(const Problem& p) {
  for (const SimdPath path : simd_paths()) {
    const ChosenPath chosen(path);
    CAPTURE(p.mode->engine, p.mode->instruction, format_name(p.a_format), p.k, name_of(path));
    CHECK(first_difference(p, product(p.request())).value_or("") == "");
  }
}

/// One output of `a` by `b` and c, three times.
Problem alone(const EngineMode& mode, Format format, std::vector<float> a, const std::vector<float>& b, float c) {
  Problem p{&mode, format, format, 1, 3, a.size(), std::move(a), {}, {}, {}, {}};
  for (const float x : b) p.b.insert(p.b.end(), p.n, x);
  p.c.assign(p.n, c);
  return p;
}

const EngineMode& engine_of(std::string_view name, Format format, Format accumulator = float32) {
  return find_engine(name, {format, format, accumulator});
}

}  // namespace

TEST_CASE("sums over few and many binades, that cancel and that do not, are the reference's") {
  Random random(5);
  for (const EngineMode& mode : engine_modes()) {
    if (!is_short(mode)) continue;
    for (const Format format : mode.inputs)
      for (const int binades : {2, 5, 9, 13, 20, 40, 120})
        for (const int middle : {0, -50, 50}) {
          const Problem p = spread_problem(mode, format, middle - binades / 2, middle + binades / 2, random);
          CAPTURE(binades, middle);
          check_on_all_paths(p);
        }
  }
}

TEST_CASE("sums of BFDOT are rounded to odd, flushed, and infinite from 2^128 on") {
  const EngineMode& mode = engine_of("arm_bf16", bfloat16);
  constexpr float greatest = std::numeric_limits<float>::max(), least = 0x1p-126F, large = 0x1p64F;
  struct Case {
    std::vector<float> a, b;
    float c, result;
  };
  for (const Case& x : {
           Case{{1, 1}, {1, 0x1p-30F}, 0, 1 + 0x1p-23F},   // odd, above
           Case{{1, 1}, {1, -0x1p-30F}, 0, 1 - 0x1p-24F},  // and below: already odd
           Case{{1, 1}, {0x1.02p0F, 0x1p-30F}, -0x1.02p0F, 0x1p-23F},
           Case{{1, 1}, {0x1p-12F, 0x1p-13F}, 0x1.000002p0F, 0x1.001802p0F},
           Case{{large, 1}, {large, 0}, 0, std::numeric_limits<float>::infinity()},
           Case{{large, 1}, {0x1.fep63F, 0x1p100F}, greatest, std::numeric_limits<float>::infinity()},
           Case{{-large, 1}, {0x1p63F, 0}, greatest, 0x1.fffffcp126F},  // what is left is finite
           Case{{0x1p-63F, 0}, {0x1p-63F, 0}, -0x1.8p-126F, -0.0F},     // the sum is subnormal
           Case{{0x1p-64F, 1}, {-0x1p-63F, -0.0F}, -0.0F, -0.0F},       // the product is
           Case{{1, 0}, {least, 0}, least / 2, least},                  // and c
       }) {
    const Problem p = alone(mode, bfloat16, x.a, x.b, x.c);
    CAPTURE(x.a, x.b, x.c);
    check_on_all_paths(p);
    CHECK(same(product(p.request()).front(), x.result));
  }
}

TEST_CASE("an infinity or NaN as c stays, and sums of nothing but zeros keep the sign that the engine gives them") {
  constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const EngineMode& mode : engine_modes()) {
    if (!is_short(mode)) continue;
    const Format format = mode.inputs.front();
    for (const float c : {infinity, -infinity, nan, -0.0F, 0.0F})
      for (const float a : {1.0F, -1.0F})
        for (const float b : {0.0F, -0.0F, 1.0F})
          check_on_all_paths(alone(mode, format, std::vector<float>(9, a), std::vector<float>(9, b), c));
  }
}

TEST_CASE("products that cancel leave all of c and of what they are not") {
  for (const EngineMode& mode : engine_modes()) {
    if (!is_short(mode)) continue;
    for (const Format format : mode.inputs)
      for (int exponent = -40; exponent <= 60; ++exponent) {
        const int of_a = exponent / 2, of_b = exponent - of_a;
        const auto rounded = [&](double x) { return static_cast<float>(decode(format, encode(format, x))); };
        const float a = rounded(std::ldexp(1.0, of_a)), b = rounded(std::ldexp(1.0, of_b)), least = rounded(0x1p-9);
        if (std::isinf(a) || std::isinf(b) || a == 0 || b == 0) continue;
        const float c = mode.model.accumulator == float16 ? 0x1.004p0F : 0x1.000002p0F;
        for (const float sign : {1.0F, -1.0F}) {
          check_on_all_paths(alone(mode, format, {sign * a, -sign * a}, {b, b}, c));
          check_on_all_paths(alone(mode, format, {sign * a, sign * least, -sign * a}, {b, least, b}, sign * c));
          check_on_all_paths(alone(mode, format, {sign * a, sign * least, least, -sign * a}, {b, least, -0.0F, b}, 0));
        }
      }
  }
}

TEST_CASE("products that are exact, and tiny, are flushed before they are added") {
  EngineMode mode = engine_of("cdna2", float16);
  constexpr Format wide{7, 2, 70, Specials::ieee};
  for (const int products : {2, 4}) {
    mode.model.products = mode.model.stages[0].terms = products;
    for (const int exponent : {-128, -127, -126, -125})
      for (const float sign : {1.0F, -1.0F}) {
        const float a = std::ldexp(1.75F, exponent / 2 - 1), b = std::ldexp(1.75F, exponent - exponent / 2);
        check_on_all_paths(alone(mode, wide, {0x1p-63F, sign * a}, {0x1p-62F, b}, 0));
        check_on_all_paths(alone(mode, wide, {a, sign * a}, {-0.0F, b}, -0.0F));
      }
  }
}

TEST_CASE("a sum that is too small for its format is a zero, whose sign the next step keeps or loses") {
  for (const EngineMode& mode : engine_modes()) {
    if (!is_short(mode)) continue;
    for (const Format format : mode.inputs)
      for (const float sign : {1.0F, -1.0F}) {
        const auto step = static_cast<std::size_t>(mode.model.products);
        const auto least = static_cast<float>(decode(format, 1));
        std::vector<float> a(2 * step, least), b(2 * step, -0.0F);
        a[0] = sign * least;
        b[0] = least;
        check_on_all_paths(alone(mode, format, a, b, 0));
        check_on_all_paths(alone(mode, format, a, b, -0.0F));
      }
  }
}

TEST_CASE("products that no float holds are added before they are rounded") {
  const EngineMode& mode = engine_of("arm_ebf16", bfloat16);
  for (const float a : {0x1p-75F, 0x1.02p-75F, 0x1.8p-76F})
    for (const float b : {0x1p-75F, -0x1.02p-75F, 0x1.8p-74F}) {
      check_on_all_paths(alone(mode, bfloat16, {a, a}, {b, b}, 0));
      check_on_all_paths(alone(mode, bfloat16, {a, 0x1.02p-75F}, {b, 0x1.8p-75F}, 0));
    }
  check_on_all_paths(alone(mode, bfloat16, {0x1p64F, 0x1p64F}, {0x1p64F, -0x1p63F}, 0));
}

TEST_CASE("a tie of c and a product is broken by the least product") {
  for (const EngineMode& mode : engine_modes()) {
    if (!is_short(mode) || mode.model.accumulator != float32) continue;
    for (const Format format : mode.inputs)
      for (const int of_c : {20, 30, 40, 50})
        for (const float least : {0x1p-9F, -0x1p-9F, 0.0F}) {
          const auto rounded = [&](double x) { return static_cast<float>(decode(format, encode(format, x))); };
          const int of_tie = of_c - float32.precision();
          const float a = rounded(std::ldexp(1.0, of_tie / 2)), b = rounded(std::ldexp(1.0, of_tie - of_tie / 2));
          const float c = std::ldexp(1.0F, of_c);
          if (!std::isfinite(a) || !std::isfinite(b)) continue;
          check_on_all_paths(alone(mode, format, {a, rounded(least)}, {b, rounded(0x1p-9)}, c));
          check_on_all_paths(alone(mode, format, {-a, rounded(least)}, {b, rounded(0x1p-9)}, -c * 0x1.000002p0F));
        }
  }
}

TEST_CASE("products into float16 are summed exactly before they meet c") {
  const EngineMode& mode = engine_of("arm_fp8", float8_e5m2, float16);
  REQUIRE(mode.model.accumulator == float16);
  // c and half its unit, give or take a product that float32 does not hold beside the other; sums that a float16 holds as a
  // subnormal number, or not at all; the midpoint above the greatest one.
  for (const float c : {1.0F, 0x1.004p0F, -1.0F, 0.0F, -0.0F, 65504.0F, 0x1p-24F})
    for (const float first : {0x1p-11F, -0x1p-11F, -0x1p-12F, 0x1p-25F, 16.0F, 0x1p15F})
      for (const float second : {0x1p-32F, -0x1p-32F, 0.0F, -0.0F, 0x1p-25F, -0x1p-26F}) {
        const auto root = [](float x) { return std::ldexp(1.0F, std::ilogb(x == 0 ? 1.0F : x) / 2); };
        const std::vector<float> a{root(first), root(second)}, b{first / a[0], second / a[1]};
        check_on_all_paths(alone(mode, float8_e5m2, a, b, c));
      }
}

TEST_CASE("sums of CDNA3 are floored: products to the sum's unit, and c to its own, however small") {
  for (const EngineMode& mode : engine_modes()) {
    if (mode.engine != "cdna3" || mode.model.accumulator == float64) continue;
    const Format format = mode.inputs.front();
    for (const int of_product : {-20, -8, -7, -1, 0, 1, 7})
      for (const int of_c : {-149, -126, -60, -33, -26, -25, -24, -9, 0, 7, 31, 96, 97, 98, 120})
        for (const float sign : {1.0F, -1.0F})
          for (const float fraction : {1.0F, 1.25F}) {
            const auto product = static_cast<float>(decode(format, encode(format, std::ldexp(fraction, of_product))));
            const float c = std::ldexp(sign * (of_c < -126 ? 1.0F : 1 + 0x1p-23F), of_c);
            check_on_all_paths(alone(mode, format, {product, 1, 1}, {1, sign * 0x1p-6F, -sign * 0x1p-6F}, c));
            check_on_all_paths(alone(mode, format, {-product, 0, 0}, {1, 0, 0}, c));
          }
  }
}

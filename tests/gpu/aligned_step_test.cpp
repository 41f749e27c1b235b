// SPDX-License-Identifier: Apache-2.0
// The fast path's step beside the interpreter: where it trusts itself it is right, and it trusts itself with ordinary numbers.
#include "gpu/cuda/aligned_step.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/engine_step.hpp"
#include "emu/engines.hpp"
#include "gpu/adversarial.hpp"
#include "gpu/cuda/aligned_chain.hpp"
#include "gpu/cuda/aligned_levels.hpp"
#include "gpu/cuda/aligned_rule.hpp"

namespace {

using namespace ulpscope;
using emu::Code;
using gpu::cuda::AlignedPlan;

constexpr std::uint64_t seed = 20241115;

struct Case {
  const emu::EngineMode* mode;
  emu::Engine engine;  ///< without scales
  emu::Format a, b;
  AlignedPlan plan;
};

/// Every mode of the NVIDIA engines that has one sum a step, with every pair of its formats.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const emu::EngineMode& mode : emu::engine_modes())
    for (const emu::Format a : mode.inputs)
      for (const emu::Format b : mode.inputs) {
        if (!mode.mixed && a != b) continue;
        emu::Engine engine = mode.model;
        if (engine.scales == emu::EngineScales::products) engine.scales = emu::EngineScales::none;
        const auto plan = gpu::cuda::aligned_plan(mode.model, a, b);
        if (plan && !plan->paired) all.push_back({&mode, engine, a, b, *plan});
      }
  return all;
}

struct StepResult {
  float value;
  bool usual;
  bool whole = false;  ///< tensor cores added the products
};

/// Calls f with the plan's kind as a constant.
template <class F>
auto by_kind(const gpu::cuda::AlignedKind& kind, F f) {
  using gpu::cuda::AlignedKind;
  if (kind.summed) return f.template operator()<AlignedKind{.summed = true}>();
  if (kind.chained)
    return kind.half ? f.template operator()<AlignedKind{.half = true, .chained = true}>()
                     : f.template operator()<AlignedKind{.chained = true}>();
  if (kind.wide) return f.template operator()<AlignedKind{.wide = true}>();
  return kind.half ? f.template operator()<AlignedKind{.half = true}>() : f.template operator()<AlignedKind{}>();
}

/// As tensor cores find a level: of the greatest exponent, or of the lowest bit.
std::uint32_t level(const Case& x, const std::vector<gpu::cuda::AlignedOperand>& left,
                    const std::vector<gpu::cuda::AlignedOperand>& right, std::uint32_t gpu::cuda::OperandLevels::*which) {
  using namespace gpu::cuda;
  float greatest = 0;
  for (std::size_t first = 0; first < left.size(); first += level_products) {
    double sum = 0;
    for (std::size_t k = first; k < first + level_products; ++k) {
      const OperandLevels a = operand_levels(x.a, Side::rows, left[k]), b = operand_levels(x.b, Side::columns, right[k]);
      sum += double{detail::float_of(a.*which << 16)} * double{detail::float_of(b.*which << 16)};
    }
    greatest = std::max(greatest, static_cast<float>(sum));
  }
  return level_of(detail::bits_of(greatest));
}
float norm(const std::vector<gpu::cuda::AlignedOperand>& operands) {
  float squares = 0;
  for (const auto& operand : operands) squares += operand.value * operand.value;
  return gpu::cuda::norm_of(squares);
}

/// One step by the functions under test, as the kernel uses them.
StepResult step(const Case& x, const Code* a, const Code* b, Code c) {
  using namespace gpu::cuda;
  const auto n = static_cast<std::size_t>(x.plan.block);
  const AlignedRule& rule = x.plan.rule;
  std::vector<AlignedOperand> left, right;
  for (std::size_t k = 0; k < n; ++k) {
    left.push_back(aligned_operand(x.a, a[k], x.plan.as_float16));
    right.push_back(aligned_operand(x.b, b[k], x.plan.as_float16));
  }
  const auto pair = [](const std::vector<AlignedOperand>& operands, std::size_t k) {
    return (static_cast<std::uint32_t>(operands[k].exponent) & 0xffff) | static_cast<std::uint32_t>(operands[k + 1].exponent)
                                                                             << 16;
  };
  std::uint32_t greatest = first_exponents(rule.kind, rule.least_exponent);
  for (std::size_t k = 0; k < n; k += 2) greatest = add_and_max(pair(left, k), pair(right, k), greatest);
  const int of_products = greater_half(greatest);
  const auto addend = static_cast<float>(emu::decode(x.engine.accumulator, c));
  return by_kind(rule.kind, [&]<AlignedKind kind>() {
    std::uint32_t to = 0;
    bool usual = kind.levelled() ? usual_addend(rule, addend) : usual_addend(addend);
    if constexpr (kind.levelled()) {
      to = alignment_of_level<kind>(rule, level(x, left, right, &OperandLevels::greatest), addend);
    } else {
      to = alignment<kind>(rule, of_products, addend);
    }
    if (kind.wide) {
      Extremes extremes;
      extremes.see(of_products, addend, to);
      usual = extremes.usual();
    }
    for (std::size_t k = 0; k < n; ++k) usual = usual && !left[k].special && !right[k].special;
    if (!usual) return StepResult{0, false};
    float value = 0;
    std::uint32_t beyond = 0;
    const std::uint32_t grid = grid_of(rule, to);
    const bool whole =
        kind.summed && is_whole(rule, grid, level(x, left, right, &OperandLevels::lowest), norm(left) * norm(right));
    if (whole) {
      double sum = 0;
      for (std::size_t k = 0; k < n; ++k) sum += double{left[k].value} * double{right[k].value};
      value = rounded_whole(rule, grid, static_cast<float>(sum), addend);
      CHECK(double{static_cast<float>(sum)} == sum);
    } else if (kind.chained) {
      const std::uint32_t empty = empty_chain(rule, to);
      float chain = chain_of(empty, addend);
      std::uint32_t left_side = 0, right_side = 0;
      for (std::size_t k = 0; k < n; ++k) {
        const std::uint32_t l = side_of(left[k].value), r = side_of(right[k].value);
        chain = chained(chain, left[k].value, right[k].value, left_side ^ l, right_side ^ r);
        left_side = l;
        right_side = r;
      }
      value = rounded_chain<kind>(rule, empty, chain, left_side, right_side);
    } else {
      std::int64_t sum = 0;
      for (std::size_t k = 0; k < n; ++k) sum += aligned_term(left[k].value, right[k].value, scale_of(rule, to));
      value = n > 16 ? rounded_sum<kind>(rule, to, sum, addend, beyond)
                     : rounded_sum<kind>(rule, to, static_cast<std::int32_t>(sum), addend, beyond);
    }
    const bool overflow = kind.half && std::fabs(value) > gpu::cuda::detail::greatest_half;
    return StepResult{value, beyond >> 31 == 0 && !overflow, whole};
  });
}

struct Count {
  std::size_t trusted = 0, wrong = 0, whole = 0;
};

void compare(const Case& x, const Code* a, const Code* b, Code c, Count& count) {
  const StepResult result = step(x, a, b, c);
  if (!result.usual) return;
  ++count.trusted;
  count.whole += result.whole ? 1 : 0;
  const auto n = static_cast<std::size_t>(x.plan.block);
  const Code wanted = emu::inner_product(x.engine, x.a, {a, n}, x.b, {b, n}, c);
  const Code got = emu::encode(x.engine.accumulator, result.value);
  if (wanted == got || ++count.wrong > 1) return;
  std::ostringstream words;
  words << std::hex << "c " << c << " wanted " << wanted << " got " << got << " products";
  for (std::size_t k = 0; k < n; ++k) words << ' ' << a[k] << '*' << b[k];
  UNSCOPED_INFO(words.str());
}

Count adversarial(const Case& x, std::uint64_t count) {
  gpu::TestShape shape;
  shape.a = x.a;
  shape.b = x.b;
  shape.c = x.engine.accumulator;
  shape.products = static_cast<std::size_t>(x.plan.block);
  std::vector<Code> a(shape.products), b(shape.products);
  Count found;
  for (std::uint64_t i = 0; i < count; ++i) {
    Code c = 0;
    gpu::Adversary(shape, seed, i).make({a.data(), b.data(), &c});
    compare(x, a.data(), b.data(), c, found);
  }
  return found;
}

}  // namespace

TEST_CASE("the fast step has every NVIDIA engine of one sum a step") {
  std::vector<std::string_view> without;
  for (const emu::EngineMode& mode : emu::engine_modes())
    if (mode.engine.starts_with("sm_") && !gpu::cuda::aligned_plan(mode.model, mode.inputs[0], mode.inputs[0]) &&
        mode.model.scales != emu::EngineScales::group_sums && mode.inputs[0] != emu::float64)
      without.push_back(mode.engine);

  CHECK(without.empty());
}

TEST_CASE("where the fast step trusts itself it gives the interpreter's bits", "[long]") {
  for (const Case& x : cases()) {
    CAPTURE(x.mode->engine, x.mode->instruction, x.a.exponent_bits, x.b.exponent_bits, x.engine.accumulator.exponent_bits);
    const Count found = adversarial(x, 30000);

    CHECK(found.wrong == 0);
    CHECK(found.trusted > 400);
  }
}

TEST_CASE("the fast step obeys least exponents, short results and other fraction bits") {
  for (const Case& named : cases()) {
    if (named.mode->engine != "sm_90" && named.mode->engine != "sm_80") continue;
    for (const auto& [fraction_bits, result_bits, least] :
         {std::tuple(24, -1, -3), std::tuple(10, -1, -40), std::tuple(5, 7, -10), std::tuple(13, 13, -8192),
          std::tuple(20, 9, 5)}) {
      Case x = named;
      const bool half = x.engine.accumulator == emu::float16;
      x.engine.stages[0].fraction_bits = fraction_bits;
      x.engine.result_fraction_bits = half ? -1 : result_bits;
      x.engine.least_exponent = least;
      const auto plan = gpu::cuda::aligned_plan(x.engine, x.a, x.b);
      REQUIRE(plan);
      x.plan = *plan;
      CAPTURE(x.mode->engine, x.a.exponent_bits, half, fraction_bits, result_bits, least);

      CHECK(adversarial(x, 10000).wrong == 0);
    }
  }
}

TEST_CASE("the fast step trusts itself with ordinary numbers, and with zeros") {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  for (const Case& x : cases()) {
    CAPTURE(x.mode->engine, x.a.exponent_bits, x.b.exponent_bits, x.engine.accumulator.exponent_bits);
    const auto n = static_cast<std::size_t>(x.plan.block);
    Count found;
    for (int i = 0; i < 300; ++i) {
      std::vector<Code> a(n), b(n);
      const double scale = std::ldexp(1.0, i % 3 == 0 ? -20 : 0);
      for (std::size_t k = 0; k < n; ++k) {
        a[k] = i % 5 == 0 ? 0 : emu::encode(x.a, scale * normal(random), {.policy = emu::Policy::saturating});
        b[k] = emu::encode(x.b, normal(random), {.policy = emu::Policy::saturating});
      }
      compare(x, a.data(), b.data(), i % 7 == 0 ? 0 : emu::encode(x.engine.accumulator, normal(random)), found);
    }
    CHECK(found.wrong == 0);
    CHECK(found.trusted == 300);
  }
}

TEST_CASE("a chain takes terms of both signs to the last unit of its range") {
  using namespace gpu::cuda;
  std::mt19937 random(11);
  const AlignedRule rule{{.chained = true}, 13, least_alignment, ~0u};
  const std::uint32_t empty = empty_chain(rule, detail::power(13));  // the unit is 1
  for (int i = 0; i < 20000; ++i) {
    const auto number = [&](unsigned most) { return static_cast<float>(random() % (2 * most + 1)) - static_cast<float>(most); };
    const float whole = number(1 << 14);
    const float c = whole + number(3) / 4;
    float chain = chain_of(empty, c);
    int wanted = static_cast<int>(c);
    std::uint32_t a_side = 0, b_side = 0;
    for (int k = 0; k < 32; ++k) {
      const float a = number(1023) / 8, b = number(1023);
      if (std::fabs(static_cast<float>(wanted) + a * b) >= 0x1p22F - 1) break;
      chain = chained(chain, a, b, a_side ^ side_of(a), b_side ^ side_of(b));
      wanted += static_cast<int>(a * b);
      a_side = side_of(a);
      b_side = side_of(b);
    }
    REQUIRE(rounded_chain<AlignedKind{.chained = true}>(rule, empty, chain, a_side, b_side) == static_cast<float>(wanted));
  }
}

TEST_CASE("steps of narrow operands are chains or sums of tensor cores, where the device has them, and no others are") {
  for (const Case& x : cases()) {
    const int bits = x.engine.stages[0].fraction_bits;
    CAPTURE(x.mode->engine, x.a.exponent_bits, x.b.exponent_bits, bits);
    CHECK(x.plan.rule.kind.chained == (bits == 13));
    CHECK(x.plan.rule.kind.summed == (x.a.bits() <= 8 && bits == 25 && x.engine.accumulator == emu::float32));
    const auto old = gpu::cuda::aligned_plan(x.mode->model, x.a, x.b, 75);
    REQUIRE(old);
    CHECK_FALSE(old->rule.kind.levelled());
  }
}

TEST_CASE("the level of a sum is that of its greatest term, and all 16 terms of the next level are less") {
  using namespace gpu::cuda;
  for (const emu::Format a : {emu::e4m3, emu::e5m2, emu::e2m1})
    for (const emu::Format b : {emu::e4m3, emu::e5m2}) {
      REQUIRE(has_levels(a));
      const auto level_of_operand = [](emu::Format f, Side side, int below) {
        const float value = std::ldexp(1.0F, f.max_exponent() - below);
        return double{detail::float_of(operand_levels(f, side, {value, f.max_exponent() - below, false}).greatest << 16)};
      };
      for (int i = 0; i <= a.max_exponent() - a.min_exponent(); ++i)
        for (int j = 0; j <= b.max_exponent() - b.min_exponent(); ++j) {
          CAPTURE(a.exponent_bits, b.exponent_bits, i, j);
          const auto one = static_cast<float>(level_of_operand(a, Side::rows, i) * level_of_operand(b, Side::columns, j));
          const auto of = [](float sum) { return static_cast<int>(level_of(detail::bits_of(sum)) >> 23); };
          const int wanted = std::max(0, levels - i - j);
          CHECK(of(one) == wanted);
          CHECK(of(level_products * one) == wanted);
        }
    }
  CHECK(level_of(0) >> 23 == 0);
}

TEST_CASE("tensor cores add nearly all steps of normal numbers") {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  for (const Case& x : cases()) {
    if (x.mode->engine != "sm_100" || !x.plan.rule.kind.summed || x.a != x.b || x.a.bits() != 8) continue;
    if (x.mode->model.scales != emu::EngineScales::none) continue;
    Count found;
    for (int i = 0; i < 10; ++i) {
      Code c = 0;
      for (int at = 0; at < 128; ++at) {  // K = 4096
        std::vector<Code> a(32), b(32);
        for (auto* codes : {&a, &b})
          for (Code& code : *codes) code = emu::encode(x.a, normal(random), {.policy = emu::Policy::saturating});
        compare(x, a.data(), b.data(), c, found);
        c = emu::inner_product(x.engine, x.a, a, x.b, b, c);
      }
    }
    CAPTURE(x.a.exponent_bits, found.whole);
    CHECK(found.wrong == 0);
    CHECK(found.trusted == 1280);
    CHECK(found.whole >= (x.a == emu::e4m3 ? 1280 : 1270));
  }
}

TEST_CASE("addends that an alignment to the lowest level would cut are not trusted") {
  using namespace gpu::cuda;
  for (const Case& x : cases()) {
    const AlignedRule& rule = x.plan.rule;
    if (!rule.kind.levelled() || x.engine.accumulator != emu::float32) continue;
    const float alignment = std::ldexp(1.0F, rule.coarsest_unit + rule.fraction_bits),
                unit = std::ldexp(1.0F, rule.coarsest_unit);
    CAPTURE(x.mode->engine, x.a.exponent_bits, x.b.exponent_bits);
    CHECK(usual_addend(rule, 0));
    CHECK(usual_addend(rule, std::nextafter(alignment, 1.0F)));
    CHECK(usual_addend(rule, -alignment / 2));
    CHECK(usual_addend(rule, 3 * unit));
    CHECK_FALSE(usual_addend(rule, 1.5F * unit));
    CHECK_FALSE(usual_addend(rule, std::nextafter(alignment, 0.0F)) == (rule.fraction_bits < 24));
    const std::vector<Code> zeros(32, 0);
    Count found;
    for (const float c : {alignment, 3 * unit, -unit, std::nextafter(alignment, 1.0F)})
      compare(x, zeros.data(), zeros.data(), emu::encode(emu::float32, c), found);
    CHECK(found.wrong == 0);
    CHECK(found.trusted == 4);
  }
}

TEST_CASE("sums of 16 of the greatest products are right alone, and not trusted where c takes them out of 32 bits") {
  for (const Case& x : cases()) {
    if (x.mode->engine != "sm_90" || x.a != emu::float16 || x.engine.accumulator != emu::float32) continue;
    const std::vector<Code> a(16, 0x7bff), b(16, 0xfbff);
    Count alone;
    compare(x, a.data(), a.data(), 0, alone);
    compare(x, a.data(), b.data(), 0, alone);

    CHECK(alone.trusted == 2);
    CHECK(alone.wrong == 0);
    CHECK_FALSE(step(x, a.data(), a.data(), emu::encode(emu::float32, 0x1.fp30)).usual);
    CHECK_FALSE(step(x, a.data(), b.data(), emu::encode(emu::float32, -0x1.fp30)).usual);
    CHECK(step(x, a.data(), b.data(), emu::encode(emu::float32, 0x1.fp30)).usual);
  }
}

TEST_CASE("engines that are not cut sums go to the interpreter") {
  CHECK_FALSE(gpu::cuda::aligned_plan(emu::fma_chain(emu::float32), emu::float16, emu::float16));
  CHECK_FALSE(
      gpu::cuda::aligned_plan(emu::block_fma(16, 25, emu::float32, emu::Rounding::nearest_even), emu::float16, emu::float16));
  CHECK_FALSE(gpu::cuda::aligned_plan(emu::block_fma(16, 28), emu::float16, emu::float16));
  CHECK_FALSE(gpu::cuda::aligned_plan(emu::block_fma(16, 25), emu::float32, emu::float32));
  emu::Engine flushing = emu::block_fma(16, 25);
  flushing.subnormal_inputs_are_zero = true;
  CHECK_FALSE(gpu::cuda::aligned_plan(flushing, emu::float16, emu::float16));
}

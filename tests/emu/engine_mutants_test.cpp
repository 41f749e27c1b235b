// SPDX-License-Identifier: Apache-2.0
// The comparison of engine_oracle_test.cpp must find engines with one field changed; one that finds nothing proves nothing.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <utility>

#include "emu/encode.hpp"
#include "emu/engine_step.hpp"
#include "tests/emu/engine_oracle_check.hpp"

namespace {
using namespace ulpscope;
using emu::Engine;

/// No more than the comparison gives a mode of one or two formats. Most mutants are found by the first hundred; least exponents
/// take tens of thousands.
constexpr int inner_products = 50000;

/// Whether the check objects to the mode of that name and formats after `change`.
template <class Change>
bool is_found(std::string_view name, const emu::EngineRequest& request, Change&& change) {
  const emu::EngineMode& mode = emu::find_engine(name, request);
  Engine mutant = mode.model;
  change(mutant);
  return mutant != mode.model && test::first_mismatch(mode, mutant, {request.a, request.b}, inner_products, 0) != std::nullopt;
}

constexpr emu::EngineRequest half{.a = emu::float16, .b = emu::float16};
constexpr emu::EngineRequest brain{.a = emu::bfloat16, .b = emu::bfloat16};
constexpr emu::EngineRequest half_to_half{.a = emu::float16, .b = emu::float16, .accumulator = emu::float16};
constexpr emu::EngineRequest quarter{.a = emu::e4m3, .b = emu::e5m2};
constexpr emu::EngineRequest fnuz{.a = emu::float8_e4m3fnuz, .b = emu::float8_e5m2fnuz};
constexpr emu::EngineRequest mxf4{.a = emu::e2m1, .b = emu::e2m1, .scales = emu::EngineScales::group_sums};
constexpr emu::EngineRequest mxf8{.a = emu::e4m3, .b = emu::e5m2, .scales = emu::EngineScales::products};

TEST_CASE("a block FMA with another alignment is found") {
  for (const auto* name : {"sm_70", "sm_75", "sm_80", "sm_89", "sm_90", "sm_120"}) {
    CAPTURE(name);
    CHECK(is_found(name, half, [](Engine& e) { e.stages[0].fraction_bits += 1; }));
    CHECK(is_found(name, half, [](Engine& e) { e.stages[0].fraction_bits -= 1; }));
    CHECK(is_found(name, half, [](Engine& e) { e.stages[0].addend_fraction_bits = e.stages[0].fraction_bits + 1; }));
    CHECK(is_found(name, half, [](Engine& e) { e.stages[0].addend_window = e.stages[0].fraction_bits - 1; }));
    CHECK(is_found(name, half, [](Engine& e) { e.stages[0].cut = emu::Cut::downward; }));
    CHECK(is_found(name, half, [](Engine& e) { e.stages[0].summing = emu::Summing::exact; }));
    CHECK(is_found(name, half, [](Engine& e) { e.stages[0].addend = emu::Addend::none; }));
  }
  CHECK(is_found("sm_89", quarter, [](Engine& e) { e.stages[0].fraction_bits = 14; }));
}

TEST_CASE("a block FMA of another length is found") {
  for (const auto* name : {"sm_80", "sm_90"}) {
    CAPTURE(name);
    CHECK(is_found(name, half, [](Engine& e) { e.products = e.stages[0].terms = e.products * 2; }));
    CHECK(is_found(name, half, [](Engine& e) { e.products = e.stages[0].terms = e.products / 2; }));
  }
}

TEST_CASE("a block FMA with another result is found") {
  for (const auto& request : {half, half_to_half}) {
    CAPTURE(request.accumulator.fraction_bits);
    CHECK(is_found("sm_90", request, [](Engine& e) { e.stages[0].rounding = emu::Rounding::nearest_away; }));
    CHECK(is_found("sm_90", request, [](Engine& e) { e.stages[0].rounding = emu::Rounding::downward; }));
    CHECK(is_found("sm_90", request, [](Engine& e) { e.nan_code ^= 1; }));
    CHECK(is_found("sm_90/mma", {.a = emu::e4m3, .b = emu::e5m2, .accumulator = request.accumulator},
                   [](Engine& e) { e.operands_become_float16 = false; }));
    CHECK(is_found("sm_90", request, [](Engine& e) { e.subnormal_inputs_are_zero = true; }));
    CHECK(is_found("sm_90", request, [](Engine& e) { e.subnormal_results_are_zero = true; }));
  }
  CHECK(is_found("sm_90", brain, [](Engine& e) { e.overflow_is_infinity = false; }));
  CHECK(is_found("sm_89", quarter, [](Engine& e) { e.result_fraction_bits = 14; }));
  CHECK(is_found("sm_89", quarter, [](Engine& e) { e.result_fraction_bits = -1; }));
}

TEST_CASE("a block FMA with another least exponent is found") {
  for (const auto* name : {"sm_80", "sm_100"}) {
    CAPTURE(name);
    CHECK(is_found(name, brain, [](Engine& e) { e.least_exponent += 1; }));
    CHECK(is_found(name, brain, [](Engine& e) { e.least_exponent -= 1; }));
  }
}

// Of float16 results it decides whether half of the least one is a tie: random numbers do not come there.
TEST_CASE("a least exponent of float16 results is seen beside half of the least one") {
  const auto sum = [](const Engine& engine, int below) {  // 2^-25 + 2^below
    const std::array<emu::Code, 2> a{emu::encode(emu::float16, 0x1p-12), emu::encode(emu::float16, 0x1p-22)},
        b{emu::encode(emu::float16, 0x1p-13), emu::encode(emu::float16, std::ldexp(1, below + 22))};
    return emu::inner_product(engine, emu::float16, a, emu::float16, b, 0);
  };
  for (const auto& [name, unit] : {std::pair("sm_80", -44), std::pair("sm_100", -46)}) {
    CAPTURE(name);
    const Engine& engine = emu::find_engine(name, half_to_half).model;
    Engine higher = engine, lower = engine;
    ++higher.least_exponent, --lower.least_exponent;

    CHECK(sum(engine, unit) == 1);
    CHECK(sum(engine, unit - 1) == 0);
    CHECK(sum(higher, unit) == 0);
    if (unit > -46) CHECK(sum(lower, unit - 1) == 1);
  }
}

TEST_CASE("a changed step in two halves is found") {
  for (const auto accumulator : {emu::float32, emu::float16}) {
    const emu::EngineRequest request{.a = emu::e4m3, .b = emu::e4m3, .accumulator = accumulator};
    CAPTURE(accumulator.fraction_bits);
    CHECK(is_found("sm_100/mma", request, [](Engine& e) { e.stages[0].run = 1; }));
    CHECK(is_found("sm_100/mma", request, [](Engine& e) { e.stages[0].run = 16; }));
    CHECK(is_found("sm_100/mma", request, [](Engine& e) { e.stages[0].carried = false; }));
    CHECK(is_found("sm_100/mma", request, [](Engine& e) { e.stages[0].rounding = emu::Rounding::downward; }));
    CHECK(is_found("sm_100/mma", request, [](Engine& e) { e.stages[1].rounding = emu::Rounding::toward_zero; }));
  }
}

TEST_CASE("changed block scales are found") {
  CHECK(is_found("sm_100", mxf8, [](Engine& e) { e.scales = emu::EngineScales::none; }));
  CHECK(is_found("sm_100", mxf8, [](Engine& e) { e.scale_products = 16; }));
  CHECK(is_found("sm_100", mxf4, [](Engine& e) { e.scale_products = 16; }));
  CHECK(is_found("sm_100", mxf4, [](Engine& e) { e.stages[0].terms = 32; }));
  CHECK(is_found("sm_100", mxf4, [](Engine& e) { e.stages[1].fraction_bits += 1; }));
  CHECK(is_found("sm_100", mxf4, [](Engine& e) { e.stages[1].fraction_bits -= 1; }));
  CHECK(is_found("sm_100", mxf4, [](Engine& e) { e.least_exponent += 1; }));
  CHECK(is_found("sm_100", mxf4, [](Engine& e) { e.least_exponent -= 1; }));
}

TEST_CASE("a changed matrix core is found") {
  CHECK(is_found("cdna1", half, [](Engine& e) { e.stages[0].rounding = emu::Rounding::toward_zero; }));
  CHECK(is_found("cdna2", half, [](Engine& e) { e.stages[0].summing = emu::Summing::sequential; }));
  CHECK(is_found("cdna2", half, [](Engine& e) { e.subnormal_inputs_are_zero = false; }));
  CHECK(is_found("cdna2", brain, [](Engine& e) { e.subnormal_results_are_zero = false; }));
  CHECK(is_found("cdna3", half, [](Engine& e) { e.stages[1].cut = emu::Cut::toward_zero; }));
  CHECK(is_found("cdna3", half, [](Engine& e) { e.stages[1].fraction_bits = 30; }));
  CHECK(is_found("cdna3", half, [](Engine& e) { e.stages[1].addend_fraction_bits = 25; }));
  CHECK(is_found("cdna3", fnuz, [](Engine& e) { e.stages[0].run = 0; }));
  CHECK(is_found("cdna3", fnuz, [](Engine& e) { e.stages[1].cut = emu::Cut::toward_zero; }));
  CHECK(is_found("cdna3", fnuz, [](Engine& e) { e.stages[2].addend_window = 24; }));
  CHECK(is_found("cdna3", fnuz, [](Engine& e) { e.stages[2].addend_window = 26; }));
  CHECK(is_found("sm_90", half_to_half, [](Engine& e) { e.stages[0].keeps_minus_zero = true; }));
  CHECK(is_found("sm_90", brain, [](Engine& e) { e.stages[0].keeps_minus_zero = true; }));
  CHECK(is_found("cdna3", brain, [](Engine& e) { e.stages[1].keeps_minus_zero = false; }));
  CHECK(is_found("cdna3", brain, [](Engine& e) { e.least_exponent += 1; }));
  CHECK(is_found("cdna3", brain, [](Engine& e) { e.least_exponent -= 1; }));
}

TEST_CASE("a changed unit of a processor is found") {
  CHECK(is_found("avx512_bf16", brain, [](Engine& e) { e.stages[0].descending = false; }));
  CHECK(is_found("avx512_bf16", brain, [](Engine& e) { e.subnormal_inputs_are_zero = false; }));
  CHECK(is_found("avx512_bf16", brain, [](Engine& e) { e.subnormal_results_are_zero = false; }));
  CHECK(is_found("arm_bf16", brain, [](Engine& e) { e.stages[0].rounding = emu::Rounding::toward_zero; }));
  CHECK(is_found("arm_bf16", brain, [](Engine& e) { e.stages[0].rounding = emu::Rounding::nearest_even; }));
  CHECK(is_found("arm_bf16", brain, [](Engine& e) { e.stages[0].summing = emu::Summing::sequential; }));
  CHECK(is_found("arm_bf16", brain, [](Engine& e) { e.products = e.stages[0].terms = 4; }));
  CHECK(is_found("arm_bf16", brain, [](Engine& e) { e.overflow_is_infinity = false; }));
  CHECK(is_found("arm_bf16", brain, [](Engine& e) { e.subnormal_inputs_are_zero = false; }));
  CHECK(is_found("arm_bf16", brain, [](Engine& e) { e.subnormal_results_are_zero = false; }));
  CHECK(is_found("amx_bf16", brain, [](Engine& e) { e.stages[0].run = 0; }));
  CHECK(is_found("amx_bf16", brain, [](Engine& e) { e.stages[1].addend = emu::Addend::first; }));
  CHECK(is_found("amx_bf16", brain, [](Engine& e) { e.subnormal_addend_is_zero = false; }));
  CHECK(is_found("avx512_bf16", brain, [](Engine& e) { e.subnormal_addend_is_zero = false; }));
  CHECK(is_found("arm_bf16", brain, [](Engine& e) { e.subnormal_addend_is_zero = false; }));
}

TEST_CASE("a changed unit that no processor here has is found") {
  constexpr emu::EngineRequest tensor{.a = emu::tf32, .b = emu::tf32};
  constexpr emu::EngineRequest quarter_to_half{.a = emu::e5m2, .b = emu::e4m3, .accumulator = emu::float16};
  CHECK(is_found("amx_fp16", half, [](Engine& e) { e.subnormal_inputs_are_zero = true; }));
  CHECK(is_found("amx_fp16", half, [](Engine& e) { e.subnormal_addend_is_zero = false; }));
  CHECK(is_found("amx_fp16", half, [](Engine& e) { e.stages[0].run = 0; }));
  CHECK(is_found("amx_tf32", tensor, [](Engine& e) { e.subnormal_inputs_are_zero = true; }));
  CHECK(is_found("amx_tf32", tensor, [](Engine& e) { e.subnormal_addend_is_zero = true; }));
  CHECK(is_found("amx_tf32", tensor, [](Engine& e) { e.subnormal_results_are_zero = false; }));
  CHECK(is_found("amx_tf32", tensor, [](Engine& e) { e.products = e.stages[0].terms = 32; }));
  CHECK(is_found("amx_tf32", tensor, [](Engine& e) { e.stages[0].summing = emu::Summing::exact; }));
  CHECK(is_found("amx_fp8", quarter, [](Engine& e) { e.products = e.stages[0].terms = 32; }));
  CHECK(is_found("amx_fp8", quarter, [](Engine& e) { e.subnormal_addend_is_zero = false; }));
  CHECK(is_found("arm_ebf16", brain, [](Engine& e) { e.stages[0].rounding = emu::Rounding::to_odd; }));
  CHECK(is_found("arm_ebf16", brain, [](Engine& e) { e.stages[0].keeps_minus_zero = false; }));
  CHECK(is_found("arm_ebf16", brain, [](Engine& e) { e.subnormal_results_are_zero = true; }));
  CHECK(is_found("arm_fmopa", half, [](Engine& e) { e.products = e.stages[0].terms = 4; }));
  CHECK(is_found("arm_fmopa", half, [](Engine& e) { e.stages[0].summing = emu::Summing::sequential; }));
  CHECK(is_found("arm_fp8", quarter, [](Engine& e) { e.stages[0].keeps_minus_zero = false; }));
  for (const auto* name : {"arm_fp8", "arm_fp8/fmlal", "arm_fp8/fmmla"}) {
    for (const auto& request : {quarter, quarter_to_half}) {
      CAPTURE(name, request.accumulator.fraction_bits);
      CHECK(is_found(name, request, [](Engine& e) { e.stages[0].rounding = emu::Rounding::toward_zero; }));
      CHECK(is_found(name, request, [](Engine& e) { e.stages[0].addend = emu::Addend::last; }) ==
            (std::string_view(name) == "arm_fp8/fmlal"));  // of exact sums c is a term wherever it stands
    }
  }
  for (const auto* name : {"arm_fp8", "arm_fp8/fmmla"})
    CHECK(is_found(name, quarter, [](Engine& e) { e.products = e.stages[0].terms = e.products * 2; }));
  CHECK(is_found("cdna2/bf16", brain, [](Engine& e) { e.products = e.stages[0].terms = 4; }));
  CHECK(is_found("arm_fmmla", half, [](Engine& e) { e.products = e.stages[0].terms = 2; }));
  CHECK(is_found("arm_fmmla", half, [](Engine& e) { e.stages[0].summing = emu::Summing::sequential; }));
  CHECK(is_found("arm_fmmla", half, [](Engine& e) { e.stages[0].summing = emu::Summing::exact; }));
  constexpr emu::EngineRequest single{.a = emu::float32, .b = emu::float32};
  CHECK(is_found("arm_fmmla", single, [](Engine& e) { e.products = e.stages[0].terms = 4; }));
  CHECK(is_found("arm_fmmla", single, [](Engine& e) { e.stages[0].summing = emu::Summing::sequential; }));
}

TEST_CASE("an lscale that is off by one, or is not there, is found") {
  for (const auto accumulator : {emu::float32, emu::float16}) {
    for (const char* const name : {"arm_fp8", "arm_fp8/fmlal", "arm_fp8/fmmla"}) {
      for (const int lscale : {0, 1, 5, 15}) {
        const emu::EngineRequest request{.a = emu::e5m2, .b = emu::e4m3, .accumulator = accumulator};
        emu::EngineMode mode = emu::find_engine(name, request);
        mode.model.product_exponent = -lscale;
        for (const int other : {lscale - 1, lscale + 1, 0}) {
          if (other == lscale) continue;
          Engine mutant = mode.model;
          mutant.product_exponent = -other;
          CAPTURE(name, accumulator.fraction_bits, lscale, other);
          CHECK(test::first_mismatch(mode, mutant, {request.a, request.b}, inner_products / 10, 0) != std::nullopt);
        }
      }
    }
  }
}

}  // namespace

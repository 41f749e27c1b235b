// SPDX-License-Identifier: Apache-2.0
// Engines from words and back.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <set>
#include <string>
#include <vector>

#include "emu/encode.hpp"
#include "emu/engine_step.hpp"
#include "emu/engines.hpp"
#include "emu/error.hpp"

namespace {
using namespace ulpscope::emu;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

constexpr EngineRequest halves{float16, float16};
}  // namespace

TEST_CASE("an engine of one's own is what its words say") {
  const Engine engine = parse_engine("block:n=16,f=25,out=rz,least=-133", halves);

  CHECK(engine == find_engine("sm_90", halves).model);
  CHECK(block_words(engine) == "block:n=16,f=25,out=toward_zero,least=-133");
}

TEST_CASE("every key counts") {
  std::set<std::string> seen;
  for (const char* const words :
       {"n=8,f=20,out=rn", "n=4,f=20,out=rn", "n=8,f=21,out=rn", "n=8,f=exact,out=rn", "n=8,f=20,out=rp",
        "n=8,f=20,out=rn,bits=13", "n=8,f=20,out=rn,least=-20", "n=8,f=20,out=rn,cut=rm"}) {
    CAPTURE(words);
    const Engine engine = parse_engine(std::string("block:") + words, halves);

    CHECK(seen.insert(block_words(engine).value()).second);
    CHECK(parse_engine(*block_words(engine), halves) == engine);
  }
}

TEST_CASE("what only sums that are cut have is refused of exact ones") {
  for (const std::string key : {"bits=5", "least=-20", "cut=rz", "cut=rm"}) {
    CAPTURE(key);
    const std::string name = key.substr(0, key.find('='));
    CHECK_THROWS_MATCHES(parse_engine("block:n=4,f=exact," + key, halves), ulpscope::Error,
                         MessageMatches(ContainsSubstring("leave " + name + " away")));
    CHECK_THROWS_AS(parse_engine("block:n=4," + key + ",f=exact", halves), ulpscope::Error);
    CHECK_NOTHROW(parse_engine("block:n=4,f=60," + key, halves));
  }
}

TEST_CASE("engines that words cannot say have none, and the others come back from theirs") {
  for (const EngineMode& mode : engine_modes()) {
    CAPTURE(mode.engine, mode.instruction);
    const auto words = block_words(mode.model);
    const bool single = mode.model.stage_count == 1 && mode.model.products > 0 && mode.model.scales == EngineScales::none &&
                        (mode.model.stages[0].summing == Summing::aligned || mode.model.stages[0].summing == Summing::exact) &&
                        !mode.model.stages[0].keeps_minus_zero;

    CHECK(words.has_value() == single);
    if (words) CHECK(parse_engine(*words, {float16, float16, mode.model.accumulator}) == mode.model);
  }
}

TEST_CASE("lscale scales products down, as far as the bits of FPMR go") {
  const EngineRequest wide{float8_e5m2, float8_e4m3fn}, narrow{float8_e5m2, float8_e4m3fn, float16};
  for (const char* const name : {"arm_fp8", "arm_fp8/fmlal", "arm_fp8/fmmla"}) {
    for (const int greatest : {127, 15}) {
      const EngineRequest& request = greatest == 127 ? wide : narrow;
      CAPTURE(name, greatest);
      CHECK(greatest_lscale(find_engine(name, request)) == greatest);
      const auto with = [&](int lscale) {
        return parse_engine(std::string(name) + ":lscale=" + std::to_string(lscale), request);
      };
      CHECK(with(0) == find_engine(name, request).model);
      CHECK(with(greatest).product_exponent == -greatest);
      CHECK_THROWS_MATCHES(with(greatest + 1), ulpscope::Error,
                           MessageMatches(ContainsSubstring("give an integer from 0 to " + std::to_string(greatest))));
      CHECK_THROWS_MATCHES(with(-1), ulpscope::Error, MessageMatches(ContainsSubstring("lscale=-1: give an integer")));
    }
  }
  for (const EngineMode& mode : engine_modes())
    CHECK(greatest_lscale(mode).has_value() == std::string(mode.engine).starts_with("arm_fp8"));
  CHECK(engine_name("arm_fp8/fmmla:lscale=4") == "arm_fp8/fmmla");
  CHECK(engine_name("sm_90") == "sm_90");
}

TEST_CASE("tensor cores take fewer products where an instruction has fewer") {
  const EngineRequest quarter{float8_e4m3fn, float8_e5m2};
  CHECK(parse_engine("sm_90:n=8", halves) == parse_engine("block:n=8,f=25,out=rz,least=-133", halves));
  CHECK(parse_engine("sm_90:n=16", halves) == find_engine("sm_90", halves).model);
  CHECK(parse_engine("sm_90/mma:n=32", quarter) == find_engine("sm_90/mma", quarter).model);
  const Engine shorter = parse_engine("sm_90/mma:n=16", quarter);
  CHECK(shorter.products == 16);
  CHECK(shorter.stages[0].terms == 8);
  CHECK(evidence_of(find_engine("sm_90", halves), "sm_90:n=8") == Evidence::device);
  CHECK(evidence_of(find_engine("sm_90", halves), "sm_90:n=3") == Evidence::published);
  CHECK(evidence_of(find_engine("sm_90", {float8_e5m2, float8_e5m2}), "sm_90:n=16") == Evidence::published);
  CHECK(evidence_of(find_engine("sm_90/mma", quarter), "sm_90/mma:n=16") == Evidence::device);
  CHECK(evidence_of(find_engine("sm_100", halves), "sm_100:n=8") == Evidence::published);
  CHECK(evidence_of(find_engine("sm_80", halves), "sm_80") == Evidence::recordings);
  for (const EngineMode& mode : engine_modes()) {
    CAPTURE(mode.engine, mode.instruction);
    const bool tensor_core =
        mode.engine.starts_with("sm_") && mode.model.scales == EngineScales::none && mode.model.accumulator != float64;
    CHECK(has_shorter_steps(mode.model) == tensor_core);
  }
}

TEST_CASE("a sum of a tensor core that is rounded to zero is +0") {
  const auto product = [](const char* engine, Format format, Format accumulator, double a, double b, Code c) {
    const EngineRequest request{format, format, accumulator};
    const std::array<Code, 1> left{encode(format, a)}, right{encode(format, b)};
    return inner_product(find_engine(engine, request).model, format, left, format, right, c);
  };
  for (const char* const name : {"sm_70", "sm_80", "sm_90", "sm_100"}) {
    CAPTURE(name);
    CHECK(product(name, float16, float16, -0x1p-14, 0x1p-14, 0) == 0);
    CHECK(product(name, float16, float16, -0x1p-14, 0x1p-14, 0x8000) == 0);
  }
  CHECK(product("sm_90", bfloat16, float32, -0x1p-100, 0x1p-60, 0x80000000) == 0);
  CHECK(product("sm_90", tf32, float32, -0x1p-100, 0x1p-60, 0) == 0);
  CHECK(product("sm_90/mma", float8_e5m2, float16, -0x1p-14, 0x1p-14, 0x8000) == 0);
  CHECK(product("cdna3", bfloat16, float32, -0x1p-100, 0x1p-60, 0) == 0x80000000);  // as MMA-Sim has it
}

// What an H200 answered to mma.sync.m16n8k16.f32.e4m3.e5m2: products of 2^-9, which e4m3 has as a subnormal number.
TEST_CASE("fp8 operands of mma.sync are float16 numbers when their products are aligned") {
  const EngineRequest request{float8_e4m3fn, float8_e5m2};
  const Engine engine = parse_engine("sm_90/mma:n=16", request);
  const std::array<Code, 16> a{0x19, 0x8a, 0xd0, 0x81, 0x01, 0x81, 0x58, 0x81, 0x87, 0x1a, 0x81, 0xe7, 0xf8, 0x85, 0x81, 0xde},
      b{0x4e, 0xb0, 0xbc, 0x80, 0x80, 0x00, 0x87, 0x7b, 0x9c, 0x01, 0x80, 0x0e, 0x06, 0x83, 0x00, 0x96};
  CHECK(inner_product(engine, request.a, a, request.b, b, 0xb0800002) == 0xc2cca1d9);
  Engine native = engine;
  native.operands_become_float16 = false;
  CHECK(inner_product(native, request.a, a, request.b, b, 0xb0800002) == 0xc2cca1da);
}

// What an H200 answered to mma.sync.m8n8k4.f64.
TEST_CASE("NaNs of float64 on NVIDIA's GPUs: those of B, of the sum so far, of A") {
  const EngineRequest request{float64, float64, float64};
  const Engine& engine = find_engine("sm_90", request).model;
  constexpr Code a_nan = 0x7ff52f98cec3efcb, b_nan = 0xfffa05f911a58cd6, one = 0x3ff0000000000000;
  const auto product = [&](std::array<Code, 2> a, std::array<Code, 2> b, Code c) {
    return inner_product(engine, float64, a, float64, b, c);
  };
  CHECK(product({a_nan, one}, {one, b_nan}, 0) == b_nan);
  CHECK(product({one, a_nan}, {b_nan, one}, 0) == b_nan);
  CHECK(product({a_nan, one}, {one, one}, b_nan) == b_nan);
  CHECK(product({a_nan, one}, {b_nan, one}, one) == b_nan);
  CHECK(product({a_nan, one}, {one, one}, 0) == 0x7ffd2f98cec3efcb);
  CHECK(product({0x7ff0000000000000, one}, {0, one}, 0) == 0xfff8000000000000);
}

TEST_CASE("a unit without a model is named as one") {
  for (const UnknownEngine& unit : unknown_engines()) {
    CAPTURE(unit.engine);
    CHECK_THROWS_MATCHES(find_engine(unit.engine, halves), ulpscope::Error,
                         MessageMatches(ContainsSubstring("nothing is published that says its bits; 'ulpscope probe")));
    CHECK(find_unknown(unit.engine) == &unit);
    for (const std::string& name : engine_names()) CHECK(name != unit.engine);
  }
  CHECK(find_unknown("sm_90") == nullptr);
}

TEST_CASE("NaNs of processors are theirs") {
  const auto product = [](const char* name, EngineRequest request, Code a) {
    const std::array<Code, 1> left{a}, one{encode(request.b, 1.0)};
    return inner_product(find_engine(name, request).model, request.a, left, request.b, one, 0);
  };
  const EngineRequest quarter{float8_e5m2, float8_e4m3fn}, to_half{float8_e5m2, float8_e4m3fn, float16};
  for (const char* const name : {"arm_fp8", "arm_fp8/fmlal", "arm_fp8/fmmla"}) {
    CHECK(product(name, quarter, 0xfd) == 0x7fc00000);
    CHECK(product(name, to_half, 0xfd) == 0x7e00);
  }
  CHECK(product("amx_fp8", quarter, 0x7d) == 0xffc00000);
  CHECK(product("arm_ebf16", {bfloat16, bfloat16}, 0xff81) == 0x7fc00000);
  CHECK(product("arm_fmopa", halves, 0xfc01) == 0x7fc00000);
  CHECK(product("amx_fp16", halves, 0xfc01) == 0xffc02000);  // the operand's, quieted
}

TEST_CASE("sums of nothing but -0 are -0 on Arm, and +0 in a tile of AMX") {
  const auto zeros = [](const char* name, EngineRequest request, std::size_t count, Code c) {
    const std::vector<Code> minus(count, request.a.sign_mask()), one(count, encode(request.b, 1.0));
    return inner_product(find_engine(name, request).model, request.a, minus, request.b, one, c);
  };
  constexpr Code minus_zero = 0x80000000;
  const EngineRequest quarter{float8_e5m2, float8_e4m3fn};
  CHECK(zeros("arm_fp8", quarter, 4, minus_zero) == minus_zero);
  CHECK(zeros("arm_fp8", quarter, 4, 0) == 0);
  CHECK(zeros("arm_fp8", quarter, 3, minus_zero) == 0);  // the fourth is +0
  CHECK(zeros("arm_fp8/fmmla", quarter, 8, minus_zero) == minus_zero);
  CHECK(zeros("amx_fp8", quarter, 64, minus_zero) == 0);
}

TEST_CASE("a word that is not known is answered with what is") {
  const auto answer = [](const char* words, EngineRequest request, const char* part) {
    CAPTURE(words);
    CHECK_THROWS_MATCHES(parse_engine(words, request), ulpscope::Error, MessageMatches(ContainsSubstring(part)));
  };
  answer("sm_91", halves, "nearest: sm_90");
  answer("sm_90", {float64, float16}, "it has float16|bfloat16 into float32");
  answer("sm_90", {float8_e4m3fnuz, float8_e4m3fnuz}, "does not multiply float8_e4m3fnuz");
  answer("sm_90:lscale=1", halves, "engine sm_90: 'lscale=1' is not n=N, as in sm_90:n=8");
  answer("sm_90:n=17", halves, "engine sm_90: n=17: give an integer from 1 to 16");
  answer("sm_90:n=0", halves, "n=0: give an integer from 1 to 16");
  answer("sm_90/mma:n=18", {float8_e5m2, float8_e5m2}, "n=18: give a multiple of 4");
  answer("fma:n=1", halves, "engine fma: takes no 'n=1'; arm_fp8 takes lscale, and tensor cores n");
  answer("sm_91:lscale=1", halves, "nearest: sm_90");
  for (const char* const words : {"arm_fp8:", "arm_fp8:lscale", "arm_fp8:scale=1", "arm_fp8:lscales=1"})
    answer(words, {float8_e5m2, float8_e5m2}, "is not lscale=N, as in arm_fp8:lscale=4");
  for (const char* const words : {"arm_fp8:lscale=", "arm_fp8:lscale=1x", "arm_fp8:lscale=1,n=2", "arm_fp8:lscale=99999999999"})
    answer(words, {float8_e5m2, float8_e5m2}, "give an integer from 0 to 127");
  answer("block:n=16", halves, "n and f must be given");
  answer("block:n=16,f=25,n=8", halves, "engine block: n is given twice");
  answer("block:n=16,f=25,to=rz", halves, "unknown key 'to'");
  answer("block:n=16,f", halves, "'f' is not key=value");
  answer("block:n=0,f=25", halves, "give an integer from 1");
  answer("block:n=16,f=2x", halves, "give an integer from 0");
  answer("block:n=16,f=25,out=rs", halves, "out=rs: give one of nearest_even, nearest_away, toward_zero, upward,");
  answer("block:n=16,f=25,out=odd", halves, "downward, to_odd, rn");
  answer("block:n=16,f=25,cut=rn", halves, "cut=rn: give one of toward_zero, downward, rz, rm");
}

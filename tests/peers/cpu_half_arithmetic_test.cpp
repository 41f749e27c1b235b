// SPDX-License-Identifier: Apache-2.0
// emu's float16 arithmetic against AVX512-FP16: codes and flags, in the four directions of MXCSR.
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cpu_check.hpp"
#include "cpu_x86.hpp"
#include "emu/catalogue.hpp"

using namespace peers;

namespace {

using Ours = X86<emu::fp16>;
const ResultKind half = number(emu::fp16);

const std::vector<Law> binary = {{"vaddsh", CpuHalf::add, Ours::add, half},
                                 {"vsubsh", CpuHalf::sub, Ours::sub, half},
                                 {"vmulsh", CpuHalf::mul, Ours::mul, half},
                                 {"vdivsh", CpuHalf::div, Ours::div, half}};
const std::vector<Law> fused = {{"vfmadd213sh", CpuHalf::fma, Ours::fma, half},
                                {"vfmsub213sh", CpuHalf::fma_less, Ours::fma_less, half},
                                {"vfnmadd213sh", CpuHalf::negated_fma, Ours::negated_fma, half},
                                {"vfnmsub213sh", CpuHalf::negated_fma_less, Ours::negated_fma_less, half}};
const std::vector<Law> unary = {{"vsqrtsh", CpuHalf::sqrt, Ours::sqrt, half},
                                {"vrndscalesh", CpuHalf::whole_exact, Ours::whole_exact, half},
                                {"vrndscalesh without inexact", CpuHalf::whole, Ours::whole, half},
                                {"vcvtsh2ss", CpuHalf::to_float, Ours::convert<emu::fp32>, number(emu::fp32)},
                                {"vcvtsh2sd", CpuHalf::to_double, Ours::convert<emu::fp64>, number(emu::fp64)}};
const std::vector<Law> comparisons = {{"vucomish", CpuHalf::compare_quiet, Ours::compare_quiet, eflags},
                                      {"vcomish", CpuHalf::compare_signaling, Ours::compare_signaling, eflags}};
const std::vector<Law> to_integers = {
    {"vcvtph2w", CpuHalf::to_int16, Ours::to_integer<std::int16_t>, integer(16)},
    {"vcvtph2uw", CpuHalf::to_uint16, Ours::to_integer<std::uint16_t>, integer(16)},
    {"vcvtsh2si r32", CpuHalf::to_int32, Ours::to_integer<std::int32_t>, integer(32)},
    {"vcvtsh2si r64", CpuHalf::to_int64, Ours::to_integer<std::int64_t>, integer(64)},
    {"vcvtsh2usi r32", CpuHalf::to_uint32, Ours::to_integer<std::uint32_t>, integer(32)},
    {"vcvtsh2usi r64", CpuHalf::to_uint64, Ours::to_integer<std::uint64_t>, integer(64)},
    {"vcvttsh2si r32", CpuHalf::truncate_to_int32, Ours::truncate_to<std::int32_t>, integer(32)},
    {"vcvttsh2si r64", CpuHalf::truncate_to_int64, Ours::truncate_to<std::int64_t>, integer(64)},
    {"vcvttsh2usi r32", CpuHalf::truncate_to_uint32, Ours::truncate_to<std::uint32_t>, integer(32)},
    {"vcvttsh2usi r64", CpuHalf::truncate_to_uint64, Ours::truncate_to<std::uint64_t>, integer(64)}};

std::vector<Operands> every_half() {
  std::vector<Operands> all;
  for (std::uint64_t code = 0; code < 0x10000; ++code) all.push_back({.a = code});
  return all;
}

template <int... predicates>
std::vector<Law> every_predicate(std::integer_sequence<int, predicates...>) {
  return {{"vcmpsh " + std::to_string(predicates), CpuHalf::is<predicates>, Ours::is<predicates>, integer(1)}...};
}

}  // namespace

#define NEEDS_AVX512FP16 \
  if (!cpu_has_avx512fp16()) SKIP("this CPU has no AVX512-FP16")

TEST_CASE("AVX512-FP16 adds, subtracts, multiplies and divides as fp16 does, with the same flags", "[peers][arithmetic]") {
  NEEDS_AVX512FP16;
  check(binary, directions(), pairs_of_interesting(half_layout));
  check(binary, directions(), random_pairs(half_layout, effort(1'000'000)));
}

TEST_CASE("AVX512-FP16 rounds a b + c once as fp16 does, with the same flags but for 0 inf + NaN", "[peers][arithmetic]") {
  NEEDS_AVX512FP16;
  const auto triples = special_and_random_triples(half_layout, CpuHalf::mul, effort(1'000'000));
  check({fused.front()}, directions(), triples);
  check({fused.begin() + 1, fused.end()}, {nearest}, triples);
}

TEST_CASE("AVX512-FP16 takes 0 inf + a quiet NaN for valid, which emu and Berkeley SoftFloat call invalid",
          "[peers][arithmetic]") {
  NEEDS_AVX512FP16;
  const Operands x{.a = 0, .b = emu::fp16.infinity_code(), .c = emu::fp16.nan_code()};

  const Executed executed = CpuHalf::fma(x, nearest.control);

  CHECK(emu::fp16.is_nan(executed.bits & 0xffff));
  CHECK(flags_of(executed.mxcsr) == emu::no_flags);
  CHECK(emu::fma(emu::fp16, x.a, x.b, x.c) == emu::Result{emu::fp16.nan_code(), emu::invalid});
}

TEST_CASE("AVX512-FP16 takes square roots and whole parts of every half and widens it as fp16 does, with the same flags",
          "[peers][arithmetic]") {
  NEEDS_AVX512FP16;
  check(unary, directions(), every_half());
}

TEST_CASE("VGETEXPSH is log_b of every half, but signals nothing for zero", "[peers][arithmetic]") {
  NEEDS_AVX512FP16;
  check({{"vgetexpsh", CpuHalf::exponent, Ours::exponent, half}}, directions(), every_half());
}

TEST_CASE("VSCALEFSH by a finite number is scale_b by its floor, with the same flags", "[peers][arithmetic]") {
  NEEDS_AVX512FP16;
  check({{"vscalefsh", CpuHalf::scale, Ours::scale, half}}, directions(), scalings(half_layout, effort(500'000)));
}

TEST_CASE("AVX512-FP16 compares as fp16 does, quietly and signaling, in all predicates", "[peers][arithmetic]") {
  NEEDS_AVX512FP16;
  const auto predicates = every_predicate(std::make_integer_sequence<int, 32>{});
  check(comparisons, {nearest}, pairs_of_interesting(half_layout));
  check(comparisons, {nearest}, random_pairs(half_layout, effort(1'000'000)));
  check(predicates, {nearest}, pairs_of_interesting(half_layout));
  check(predicates, {nearest}, random_pairs(half_layout, effort(100'000)));
}

TEST_CASE("VMINSH and VMAXSH are selections by a signaling comparison, not IEEE 754's minimum and maximum",
          "[peers][arithmetic]") {
  NEEDS_AVX512FP16;
  check({{"vminsh", CpuHalf::least, Ours::least, half}, {"vmaxsh", CpuHalf::greatest, Ours::greatest, half}}, {nearest},
        pairs_of_interesting(half_layout));
}

TEST_CASE("AVX512-FP16 makes integers of every half as fp16 does, but indefinite ones of what is none", "[peers][arithmetic]") {
  NEEDS_AVX512FP16;
  check(to_integers, directions(), every_half());
}

TEST_CASE("AVX512-FP16 rounds integers to half once as fp16 does, with the same flags", "[peers][arithmetic]") {
  NEEDS_AVX512FP16;
  const int random = effort(100'000);
  check({{"vcvtw2ph", CpuHalf::from_int16, Ours::from_integer<std::int16_t>, half},
         {"vcvtuw2ph", CpuHalf::from_uint16, Ours::from_integer<std::uint16_t>, half}},
        directions(), every_half());
  check({{"vcvtsi2shl", CpuHalf::from_int32, Ours::from_integer<std::int32_t>, half},
         {"vcvtusi2shl", CpuHalf::from_uint32, Ours::from_integer<std::uint32_t>, half}},
        directions(), single(integers(32, random)));
  check({{"vcvtsi2shq", CpuHalf::from_int64, Ours::from_integer<std::int64_t>, half},
         {"vcvtusi2shq", CpuHalf::from_uint64, Ours::from_integer<std::uint64_t>, half}},
        directions(), single(integers(64, random)));
}

TEST_CASE("AVX512-FP16 rounds float and double to half with the flags of convert", "[peers][arithmetic]") {
  NEEDS_AVX512FP16;
  check({{"vcvtss2sh", CpuHalf::from_float, X86<emu::fp32>::convert<emu::fp16>, half}}, directions(), one_in<float>(7));
  check({{"vcvtsd2sh", CpuHalf::from_double, X86<emu::fp64>::convert<emu::fp16>, half}}, directions(), one_in<double>(7));
}

TEST_CASE("AVX512-FP16 obeys DAZ for floats and doubles, but gives subnormal halves under FTZ", "[peers][arithmetic]") {
  NEEDS_AVX512FP16;
  auto environments = flushing_directions();
  for (Environment& e : environments) e.options.flush_subnormals = false;
  check({{"vcvtss2sh", CpuHalf::from_float, X86<emu::fp32>::convert<emu::fp16>, half}}, environments, one_in<float>(101));
  check({{"vcvtsd2sh", CpuHalf::from_double, X86<emu::fp64>::convert<emu::fp16>, half}}, environments, one_in<double>(101));
}

TEST_CASE("AVX512-FP16 keeps subnormal halves whatever DAZ and FTZ say", "[peers][arithmetic]") {
  NEEDS_AVX512FP16;
  auto environments = flushing_directions();
  for (Environment& e : environments) e.options.flush_subnormals = e.options.subnormals_are_zero = false;
  check(binary, environments, random_pairs(half_layout, effort(50'000)));
  check(fused, environments, special_and_random_triples(half_layout, CpuHalf::mul, effort(50'000)));
  check(unary, {environments.back()}, every_half());
  check(to_integers, {environments.back()}, every_half());
  check(comparisons, {environments.back()}, pairs_of_interesting(half_layout));
}

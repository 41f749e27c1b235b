// SPDX-License-Identifier: Apache-2.0
// emu's float32 and float64 arithmetic against the CPU's: codes and flags, in the four directions of MXCSR and with its two
// switches for subnormal numbers.
#include <catch2/catch_template_test_macros.hpp>
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

/// The instructions, emu's side, and the operands of one type.
struct Float {
  using Cpu = CpuFloat;
  using Ours = X86<emu::fp32>;
  static constexpr emu::Format format = emu::fp32;
  static constexpr Layout layout = float_layout;
};
struct Double {
  using Cpu = CpuDouble;
  using Ours = X86<emu::fp64>;
  static constexpr emu::Format format = emu::fp64;
  static constexpr Layout layout = double_layout;
};

template <class T>
std::vector<Law> binary() {
  using Cpu = typename T::Cpu;
  using Ours = typename T::Ours;
  const ResultKind kind = number(T::format);
  return {{"vadd", Cpu::add, Ours::add, kind},
          {"vsub", Cpu::sub, Ours::sub, kind},
          {"vmul", Cpu::mul, Ours::mul, kind},
          {"vdiv", Cpu::div, Ours::div, kind}};
}
template <class T>
std::vector<Law> fused() {
  using Cpu = typename T::Cpu;
  using Ours = typename T::Ours;
  const ResultKind kind = number(T::format);
  return {{"vfmadd", Cpu::fma, Ours::fma, kind},
          {"vfmsub", Cpu::fma_less, Ours::fma_less, kind},
          {"vfnmadd", Cpu::negated_fma, Ours::negated_fma, kind},
          {"vfnmsub", Cpu::negated_fma_less, Ours::negated_fma_less, kind}};
}
template <class T>
std::vector<Law> unary() {
  using Cpu = typename T::Cpu;
  using Ours = typename T::Ours;
  const ResultKind kind = number(T::format);
  return {{"vsqrt", Cpu::sqrt, Ours::sqrt, kind},
          {"vround", Cpu::whole_exact, Ours::whole_exact, kind},
          {"vround without inexact", Cpu::whole, Ours::whole, kind},
          {"vcvt2si r32", Cpu::to_int32, Ours::template to_integer<std::int32_t>, integer(32)},
          {"vcvt2si r64", Cpu::to_int64, Ours::template to_integer<std::int64_t>, integer(64)},
          {"vcvtt2si r32", Cpu::truncate_to_int32, Ours::template truncate_to<std::int32_t>, integer(32)},
          {"vcvtt2si r64", Cpu::truncate_to_int64, Ours::template truncate_to<std::int64_t>, integer(64)}};
}
template <class T>
std::vector<Law> comparisons() {
  using Cpu = typename T::Cpu;
  using Ours = typename T::Ours;
  const ResultKind kind = number(T::format);
  return {{"vucomi", Cpu::compare_quiet, Ours::compare_quiet, eflags},
          {"vcomi", Cpu::compare_signaling, Ours::compare_signaling, eflags},
          {"vmin", Cpu::least, Ours::least, kind},
          {"vmax", Cpu::greatest, Ours::greatest, kind}};
}
template <class T, int... predicates>
std::vector<Law> every_predicate(std::integer_sequence<int, predicates...>) {
  return {
      {"vcmp " + std::to_string(predicates), T::Cpu::template is<predicates>, T::Ours::template is<predicates>, integer(1)}...};
}

/// Interesting numbers, random ones, and random ones whose whole part is an integer of any length.
template <class T>
std::vector<Operands> numbers(int random) {
  auto all = single(T::layout.interesting());
  Draws draws(6);
  for (int i = 0; i < random; ++i) {
    const std::int64_t whole = T::layout.bias() - 3 + static_cast<std::int64_t>(draws.below(70));
    all.push_back({.a = draws.word() & T::layout.mask()});
    const std::uint64_t fraction = draws.coin() ? draws.word() : T::layout.short_fraction(draws, 0);
    all.push_back({.a = T::layout.word(draws.coin(), whole, fraction)});
  }
  return all;
}

}  // namespace

#define NEEDS_FMA \
  if (!cpu_has_fma()) SKIP("this CPU has no AVX and FMA")
#define NEEDS_AVX512F \
  if (!cpu_has_avx512f()) SKIP("this CPU has no AVX-512F")

TEMPLATE_TEST_CASE("the CPU adds, subtracts, multiplies and divides as emu does, with the same flags", "[peers][arithmetic]",
                   Float, Double) {
  NEEDS_FMA;
  check(binary<TestType>(), directions(), pairs_of_interesting(TestType::layout));
  check(binary<TestType>(), directions(), random_pairs(TestType::layout, effort(1'000'000)));
}

TEMPLATE_TEST_CASE("the CPU rounds a b + c once as emu does, with the same flags but for 0 inf + NaN", "[peers][arithmetic]",
                   Float, Double) {
  NEEDS_FMA;
  const auto triples = special_and_random_triples(TestType::layout, TestType::Cpu::mul, effort(1'000'000));
  const auto laws = fused<TestType>();
  check({laws.front()}, directions(), triples);
  check({laws.begin() + 1, laws.end()}, {nearest}, triples);
}

TEMPLATE_TEST_CASE("the CPU takes 0 inf + a quiet NaN for valid, which emu and Berkeley SoftFloat call invalid",
                   "[peers][arithmetic]", Float, Double) {
  NEEDS_FMA;
  constexpr emu::Format f = TestType::format;
  const Operands x{.a = 0, .b = f.infinity_code(), .c = f.nan_code()};

  const Executed executed = TestType::Cpu::fma(x, nearest.control);

  CHECK(f.is_nan(executed.bits & f.code_mask()));
  CHECK(flags_of(executed.mxcsr) == emu::no_flags);
  CHECK(emu::fma(f, x.a, x.b, x.c) == emu::Result{f.nan_code(), emu::invalid});
}

TEMPLATE_TEST_CASE("the CPU takes square roots, whole parts and integers as emu does, but indefinite ones of what is none",
                   "[peers][arithmetic]", Float, Double) {
  NEEDS_FMA;
  check(unary<TestType>(), directions(), numbers<TestType>(effort(100'000)));
}

TEMPLATE_TEST_CASE("the CPU compares as emu does, quietly and signaling, in all predicates; its minimum is a selection",
                   "[peers][arithmetic]", Float, Double) {
  NEEDS_FMA;
  const auto predicates = every_predicate<TestType>(std::make_integer_sequence<int, 32>{});
  const auto interesting = pairs_of_interesting(TestType::layout);
  check(comparisons<TestType>(), {nearest}, interesting);
  check(comparisons<TestType>(), {nearest}, random_pairs(TestType::layout, effort(1'000'000)));
  check(predicates, {nearest}, random_pairs(TestType::layout, effort(100'000)));
  check(predicates, {nearest}, interesting);
}

TEMPLATE_TEST_CASE("the CPU rounds integers once as emu does, with the same flags", "[peers][arithmetic]", Float, Double) {
  NEEDS_FMA;
  using Cpu = typename TestType::Cpu;
  using Ours = typename TestType::Ours;
  const ResultKind kind = number(TestType::format);
  const auto words = single(integers(32, effort(100'000))), long_words = single(integers(64, effort(100'000)));
  check({{"vcvtsi2 32", Cpu::from_int32, Ours::template from_integer<std::int32_t>, kind}}, directions(), words);
  check({{"vcvtsi2 64", Cpu::from_int64, Ours::template from_integer<std::int64_t>, kind}}, directions(), long_words);
}

TEMPLATE_TEST_CASE("AVX-512F's unsigned integers, exponents and scaling are emu's", "[peers][arithmetic]", Float, Double) {
  NEEDS_AVX512F;
  using Cpu = typename TestType::Cpu;
  using Ours = typename TestType::Ours;
  const ResultKind kind = number(TestType::format);
  const auto all = numbers<TestType>(effort(100'000));
  check({{"vgetexp", Cpu::exponent, Ours::exponent, kind},
         {"vcvt2usi r32", Cpu::to_uint32, Ours::template to_integer<std::uint32_t>, integer(32)},
         {"vcvt2usi r64", Cpu::to_uint64, Ours::template to_integer<std::uint64_t>, integer(64)},
         {"vcvtt2usi r32", Cpu::truncate_to_uint32, Ours::template truncate_to<std::uint32_t>, integer(32)},
         {"vcvtt2usi r64", Cpu::truncate_to_uint64, Ours::template truncate_to<std::uint64_t>, integer(64)}},
        directions(), all);
  check({{"vcvtusi2 32", Cpu::from_uint32, Ours::template from_integer<std::uint32_t>, kind}}, directions(),
        single(integers(32, effort(100'000))));
  check({{"vcvtusi2 64", Cpu::from_uint64, Ours::template from_integer<std::uint64_t>, kind}}, directions(),
        single(integers(64, effort(100'000))));
  check({{"vscalef", Cpu::scale, Ours::scale, kind}}, directions(), scalings(TestType::layout, effort(200'000)));
}

TEST_CASE("the CPU converts float to double and back with emu's flags", "[peers][arithmetic]") {
  NEEDS_FMA;
  const std::vector<Law> widen = {{"vcvtss2sd", CpuFloat::to_double, Float::Ours::convert<emu::fp64>, number(emu::fp64)}};
  const std::vector<Law> narrow = {{"vcvtsd2ss", CpuDouble::to_float, Double::Ours::convert<emu::fp32>, number(emu::fp32)}};
  for (const auto& environments : {directions(), flushing_directions()}) {
    check(widen, environments, one_in<float>(19));
    check(narrow, environments, one_in<double>(19));
  }
}

TEMPLATE_TEST_CASE("DAZ is subnormals_are_zero, and FTZ flush_subnormals but for what is tiny and rounds to the least normal",
                   "[peers][arithmetic]", Float, Double) {
  NEEDS_FMA;
  check(binary<TestType>(), flushing_directions(), random_pairs(TestType::layout, effort(50'000)));
  check(fused<TestType>(), flushing_directions(),
        special_and_random_triples(TestType::layout, TestType::Cpu::mul, effort(50'000)));
  check(unary<TestType>(), flushing_directions(), numbers<TestType>(effort(10'000)));
  check(comparisons<TestType>(), {flushing_directions().front()}, pairs_of_interesting(TestType::layout));
}

TEMPLATE_TEST_CASE("FTZ flushes what is tiny and rounds to the least normal number, which emu keeps", "[peers][arithmetic]",
                   Float, Double) {
  NEEDS_FMA;
  constexpr emu::Format f = TestType::format;
  // (1 - 2^-p) times the least normal number: tiny at p digits, and a tie in the coarser grid there
  const Operands x{.a = f.min_normal_code(), .b = emu::encode(f, 1.0) - 1};
  constexpr emu::RoundingOptions flushing{.flush_subnormals = true};

  const Executed executed = TestType::Cpu::mul(x, mxcsr_usual | mxcsr_ftz);

  CHECK((executed.bits & f.code_mask()) == 0);
  CHECK(flags_of(executed.mxcsr) == (emu::underflow | emu::inexact));
  CHECK(emu::mul(f, x.a, x.b, flushing) == emu::Result{f.min_normal_code(), emu::underflow | emu::inexact});
}

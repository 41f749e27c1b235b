// SPDX-License-Identifier: Apache-2.0
// The processor's conversions and arithmetic beside what emu claims of them: the same bits, payloads of NaNs included.
#include "gpu/cpu/cpu_elements.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "emu/error.hpp"
#include "gpu/adversarial.hpp"
#include "gpu/element_model.hpp"
#include "tests/gpu/control_word.hpp"

namespace {

using namespace ulpscope;
using emu::Code;
using gpu::ElementModel;

constexpr std::uint64_t seed = 20240603;

struct Operands {
  std::vector<Code> a, b, c;
};

/// Operands number [begin, begin + count) of the adversary, as many as the operation takes.
Operands adversarial(const ElementModel& model, std::uint64_t begin, std::size_t count) {
  Operands operands;
  for (std::size_t i = 0; i < count; ++i) {
    const auto test = gpu::test_operands(model, seed, begin + i);
    operands.a.push_back(test.a);
    if (gpu::operands_of(model.kind) > 1) operands.b.push_back(test.b);
    if (gpu::operands_of(model.kind) > 2) operands.c.push_back(test.c);
  }
  return operands;
}

/// Zeros, infinities, NaNs of both kinds and signs, a number.
std::vector<Code> specials(emu::Format format) {
  const Code infinity = format.infinity_code(), quiet = infinity | (format.fraction_mask() + 1) >> 1, sign = format.sign_mask();
  return {0, sign, infinity, sign | infinity, quiet | 1, sign | quiet | 2, infinity | 3, sign | infinity | 4, quiet >> 1};
}

/// The same, and every combination of special operands.
Operands adversarial_and_special(const ElementModel& model, std::size_t count) {
  Operands operands = adversarial(model, 0, count);
  const bool has_b = gpu::operands_of(model.kind) > 1, has_c = gpu::operands_of(model.kind) > 2;
  for (const Code a : specials(model.from))
    for (const Code b : has_b ? specials(model.from) : std::vector<Code>(1))
      for (const Code c : has_c ? specials(model.to) : std::vector<Code>(1)) {
        operands.a.push_back(a);
        if (has_b) operands.b.push_back(b);
        if (has_c) operands.c.push_back(c);
      }
  return operands;
}

/// Operands whose bits are those of the numbers [begin, begin + count): a in the lower ones, b above it.
Operands counted(const ElementModel& model, std::uint64_t begin, std::size_t count) {
  Operands operands;
  for (std::uint64_t i = begin; i < begin + count; ++i) {
    operands.a.push_back(i & model.from.code_mask());
    if (gpu::operands_of(model.kind) > 1) operands.b.push_back(i >> model.from.bits());
  }
  return operands;
}

std::vector<Code> run(const gpu::CpuElements& unit, const gpu::ElementOperation& operation, const Operands& operands) {
  std::vector<Code> d(operands.a.size());
  unit.elementwise->apply(operation, {operands.a, operands.b, operands.c}, d);
  return d;
}

std::size_t mismatches(const ElementModel& model, const Operands& operands, const std::vector<Code>& d) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < d.size(); ++i) {
    const Code b = operands.b.empty() ? 0 : operands.b[i], c = operands.c.empty() ? 0 : operands.c[i];
    const Code expected = gpu::element_result(model, operands.a[i], b, c);
    if (expected != d[i] && ++count == 1)
      UNSCOPED_INFO(std::hex << operands.a[i] << ' ' << b << ' ' << c << ": expected " << expected << ", got " << d[i]);
  }
  return count;
}

void for_each_operation(const std::function<void(const gpu::CpuElements&, const gpu::ElementOperation&)>& act) {
  const auto units = gpu::cpu_elements();
  if (units.empty()) SKIP("no element operations here");
  for (const auto& unit : units)
    for (const auto& operation : unit.elementwise->operations()) {
      CAPTURE(unit.device, operation.instruction);
      act(unit, operation);
    }
}

/// How many bits all operands together have.
int input_bits(const ElementModel& model) { return gpu::operands_of(model.kind) * model.from.bits(); }

/// Every input of the operations with so many bits of operands, on all threads.
void check_every_input(int bits, const std::string& device) {
  const auto units = gpu::cpu_elements();
  if (std::none_of(units.begin(), units.end(), [&](const gpu::CpuElements& unit) { return unit.device == device; }))
    SKIP("no " << device << " here");
  constexpr std::size_t portion = 1 << 14;
  for_each_operation([&](const gpu::CpuElements& unit, const gpu::ElementOperation& operation) {
    if (input_bits(operation.model) != bits || unit.device != device) return;
    std::atomic<std::uint64_t> next = 0, wrong = 0;
    const auto work = [&] {
      for (std::uint64_t begin = next += portion; begin <= std::uint64_t{1} << bits; begin = next += portion) {
        const Operands operands = counted(operation.model, begin - portion, portion);
        const auto d = run(unit, operation, operands);
        for (std::size_t i = 0; i < portion; ++i)
          wrong += gpu::element_result(operation.model, operands.a[i], operands.b.empty() ? 0 : operands.b[i], 0) != d[i];
      }
    };
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
    threads.clear();
    CHECK(wrong == 0);
  });
}

}  // namespace

TEST_CASE("element operations of this processor give the bits of their models") {
  for_each_operation([](const gpu::CpuElements& unit, const gpu::ElementOperation& operation) {
    const Operands operands = adversarial_and_special(operation.model, 250000);
    CHECK(mismatches(operation.model, operands, run(unit, operation, operands)) == 0);
  });
}

TEST_CASE("VCVTPH2PS gives the bits of its model for all of 16 bits") { check_every_input(16, "cpu:f16c"); }
TEST_CASE("conversions of AVX512-FP16 give the bits of their models for all of 16 bits") {
  check_every_input(16, "cpu:avx512_fp16");
}
TEST_CASE("FCVTL and FCVT give the bits of their models for all of 16 bits") { check_every_input(16, "cpu:neon"); }

TEST_CASE("conversions of F16C give the bits of their models for all of 32 bits", "[exhaustive]") {
  check_every_input(32, "cpu:f16c");
}
TEST_CASE("VCVTNEPS2BF16 gives the bits of its model for all of 32 bits", "[exhaustive]") {
  check_every_input(32, "cpu:avx512_bf16");
}
TEST_CASE("operations of AVX512-FP16 give the bits of their models for all of 32 bits", "[exhaustive]") {
  check_every_input(32, "cpu:avx512_fp16");
}
TEST_CASE("conversions of AVX512F give the bits of their models for all of 32 bits", "[exhaustive]") {
  check_every_input(32, "cpu:avx512f");
}
TEST_CASE("conversions of SSE2 give the bits of their models for all of 32 bits", "[exhaustive]") {
  check_every_input(32, "cpu:sse2");
}

TEST_CASE("BFCVTN gives the bits of its models for all of 32 bits", "[exhaustive]") { check_every_input(32, "cpu:arm_bf16"); }
TEST_CASE("operations of FEAT_FP16 give the bits of their models for all of 32 bits", "[exhaustive]") {
  check_every_input(32, "cpu:arm_fp16");
}
TEST_CASE("conversions of Advanced SIMD give the bits of their models for all of 32 bits", "[exhaustive]") {
  check_every_input(32, "cpu:neon");
}

TEST_CASE("a wrong model of an element operation of this processor is seen") {
  for_each_operation([](const gpu::CpuElements& unit, const gpu::ElementOperation& operation) {
    const ElementModel& model = operation.model;
    const Operands operands = adversarial_and_special(model, 20000);
    const auto d = run(unit, operation, operands);
    const auto is_seen = [&](const char* what, const std::function<void(ElementModel&)>& mutate) {
      CAPTURE(what);
      ElementModel mutant = model;
      mutate(mutant);
      CHECK(mismatches(mutant, operands, d) > 0);
    };
    is_seen("canonical NaNs", [](ElementModel& m) { m.nan_result = emu::NanResult::canonical; });
    if (model.kind != gpu::ElementKind::convert && model.nan_result == emu::NanResult::signaling_operand)
      is_seen("the first NaN", [](ElementModel& m) { m.nan_result = emu::NanResult::operand; });
    const bool inexact = model.to.fraction_bits < model.from.fraction_bits || model.kind != gpu::ElementKind::convert;
    if (inexact)
      for (const auto rounding : {emu::Rounding::nearest_even, emu::Rounding::nearest_away, emu::Rounding::toward_zero,
                                  emu::Rounding::upward, emu::Rounding::downward})
        if (rounding != model.options.rounding) is_seen("rounding", [&](ElementModel& m) { m.options.rounding = rounding; });
    if (inexact && model.options.rounding == emu::Rounding::nearest_even)
      is_seen("saturation", [](ElementModel& m) { m.options.policy = emu::Policy::saturating; });
    // Into fewer exponents a subnormal number is a zero in any case, unless all are rounded away from it.
    const bool directed = model.options.rounding == emu::Rounding::upward || model.options.rounding == emu::Rounding::downward;
    if (directed || model.to.exponent_bits >= model.from.exponent_bits)
      is_seen("subnormal operands", [](ElementModel& m) { m.options.subnormals_are_zero ^= true; });
    if (model.kind == gpu::ElementKind::add)
      is_seen("subtraction", [](ElementModel& m) { m.kind = gpu::ElementKind::subtract; });
    if (model.kind == gpu::ElementKind::fma) is_seen("no addend", [](ElementModel& m) { m.kind = gpu::ElementKind::multiply; });
  });
}

TEST_CASE("element operations have names that are all different") {
  std::set<std::string> names;
  for_each_operation([&](const gpu::CpuElements& unit, const gpu::ElementOperation& operation) {
    CHECK(names.insert(unit.device + operation.instruction).second);
  });
}

TEST_CASE("an element operation that this processor's unit does not have is refused") {
  for (const auto& unit : gpu::cpu_elements()) {
    std::vector<Code> one(1);
    CHECK_THROWS_AS(unit.elementwise->apply({"CVTTPS2DQ", {}}, {one, one, one}, one), Error);
  }
}

#if defined(__x86_64__) || defined(__aarch64__)

TEST_CASE("the control word neither changes element operations nor is changed by them") {
  for_each_operation([](const gpu::CpuElements& unit, const gpu::ElementOperation& operation) {
    const Operands operands = adversarial(operation.model, 0, 2000);
    const auto usual = run(unit, operation, operands);
    for (const std::uint64_t word : testing::control_words()) {
      CAPTURE(word);
      std::vector<Code> d(operands.a.size());
      const std::uint64_t before = testing::control_word();
      testing::set_control_word(word);
      unit.elementwise->apply(operation, {operands.a, operands.b, operands.c}, d);
      const std::uint64_t after = testing::control_word();
      testing::set_control_word(before);
      CHECK(d == usual);
      CHECK(after == word);
    }
  });
}

#endif

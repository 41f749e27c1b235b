// SPDX-License-Identifier: Apache-2.0
// Instructions beside their engines and models by the device code, run on the CPU with made-up instructions, right and wrong.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <vector>

#include "emu/engine_step.hpp"
#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "gpu/adversarial.hpp"
#include "gpu/cuda/emulator.hpp"
#include "tests/gpu/cuda_made_up_instructions.hpp"
#include "tests/gpu/fake_cuda/control.hpp"

namespace {

using namespace ulpscope;
using emu::Code;
using testing::Fault, testing::made_up_operation, testing::made_up_element_operation, testing::made_up_engine;

const auto emulator = gpu::cuda::make_device_emulator(0, 90);

/// What a check must find, worked out on the host: wrong(problem) and right(problem) give a result each.
template <class Right, class Wrong>
gpu::Tally expected(const gpu::Operation& operation, const gpu::TestRange& tests, Right right, Wrong wrong) {
  gpu::Tally tally;
  tally.tests = tests.count;
  for (std::uint64_t i = tests.begin; i < tests.begin + tests.count; ++i) {
    gpu::TestProblems made = gpu::test_problems(gpu::TestShape(operation), tests.seed, i, 1);
    if (right(made) == wrong(made)) continue;
    ++tally.mismatches;
    if (tally.first.size() < gpu::Tally::most_kept) tally.first.push_back(i);
  }
  return tally;
}

/// What an engine makes of one inner product.
auto by(const gpu::Operation& operation, const emu::Engine& engine) {
  return [=](const gpu::TestProblems& one) {
    return emu::inner_product(engine, operation.a, one.a, operation.b, one.b, one.c[0],
                              {operation.scale_format, one.a_scales, one.b_scales});
  };
}

}  // namespace

TEST_CASE("an instruction that is its engine has no mismatch") {
  const gpu::Tally tally = emulator->check(made_up_operation(Fault::none), made_up_engine(Fault::none), {1, 0, 3000});

  CHECK(tally.tests == 3000);
  CHECK(tally.mismatches == 0);
  CHECK(tally.first.empty());
  CHECK(fake_cuda::live_objects() == 0);
}

TEST_CASE("mismatches of a wrong instruction are counted and the first ones named") {
  for (const Fault fault : {Fault::one_bit_less, Fault::nearest, Fault::no_least_exponent}) {
    CAPTURE(static_cast<int>(fault));
    const gpu::Operation operation = made_up_operation(fault);
    for (const gpu::TestRange& tests : {gpu::TestRange{3, 0, 40000}, gpu::TestRange{3, 1000, 40000}}) {
      const gpu::Tally wanted =
          expected(operation, tests, by(operation, made_up_engine(Fault::none)), by(operation, made_up_engine(fault)));
      const gpu::Tally got = emulator->check(operation, made_up_engine(Fault::none), tests);

      CHECK(wanted.mismatches > 0);
      CHECK(got.mismatches == wanted.mismatches);
      CHECK(got.first == wanted.first);
    }
  }
}

TEST_CASE("scales are made on the device, given to the instruction and to its engine") {
  const emu::Engine engine = testing::made_up_scaled_engine(Fault::none);
  const gpu::TestRange tests{5, 100, 3000};
  const gpu::Operation operation = testing::made_up_scaled_operation(Fault::first_scale);
  const auto with_first_scale = [&](gpu::TestProblems one) {
    one.a_scales[1] = one.a_scales[0];
    return by(operation, engine)(one);
  };

  const gpu::Tally right = emulator->check(testing::made_up_scaled_operation(Fault::none), engine, tests);
  const gpu::Tally wrong = emulator->check(operation, engine, tests);

  CHECK(right.tests == tests.count);
  CHECK(right.mismatches == 0);
  const gpu::Tally wanted = expected(operation, tests, by(operation, engine), with_first_scale);
  CHECK(wanted.mismatches > tests.count / 4);
  CHECK(wrong.mismatches == wanted.mismatches);
  CHECK(wrong.first == wanted.first);
  CHECK(fake_cuda::live_objects() == 0);
}

TEST_CASE("a sweep visits every operand of a conversion") {
  const auto operation = made_up_element_operation(gpu::ElementKind::convert, Fault::none);
  const gpu::Tally right = emulator->sweep(operation, {0, 0, 65536});
  CHECK(right.tests == 65536);
  CHECK(right.mismatches == 0);

  const gpu::Tally wrong =
      emulator->sweep(made_up_element_operation(gpu::ElementKind::convert, Fault::one_operand), {0, 0, 65536});
  CHECK(wrong.mismatches == 1);
  CHECK(wrong.first == std::vector<std::uint64_t>{testing::wrong_operand});
}

TEST_CASE("a sweep of two and three operands takes the numbered ones") {
  for (const gpu::ElementKind kind : {gpu::ElementKind::add, gpu::ElementKind::fma}) {
    const gpu::Tally right = emulator->sweep(made_up_element_operation(kind, Fault::none), {9, 0, 20000});
    CHECK(right.tests == 20000);
    CHECK(right.mismatches == 0);
    CHECK(emulator->sweep(made_up_element_operation(kind, Fault::nearest), {9, 0, 20000}).mismatches > 0);
  }
}

TEST_CASE("inner products of every engine of a GPU are the CPU's, with scales too") {
  for (const emu::EngineMode& mode : emu::engine_modes()) {
    if (!mode.engine.starts_with("sm_") && mode.engine != "amx_bf16") continue;
    CAPTURE(mode.engine, mode.instruction);
    gpu::Operation operation{.instruction = "",
                             .a = mode.inputs[0],
                             .b = mode.inputs.back(),
                             .accumulator = mode.model.accumulator,
                             .products = static_cast<std::size_t>(mode.model.products)};
    if (!mode.mixed) operation.b = operation.a;
    operation.scales = mode.model.scales;
    operation.scale_format = mode.scale_format;
    operation.scale_products = static_cast<std::size_t>(mode.model.scale_products);
    const gpu::TestProblems made = gpu::test_problems(gpu::TestShape(operation, 3 * operation.products), 5, 0, 150);
    std::vector<Code> d(made.c.size());
    emulator->inner_products(mode.model, operation, made.view(), d);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < d.size(); ++i) {
      const auto part = [&](const std::vector<Code>& all) {
        return std::span(all).subspan(i * (all.size() / d.size()), all.size() / d.size());
      };
      const Code wanted = emu::inner_product(mode.model, operation.a, part(made.a), operation.b, part(made.b), made.c[i],
                                             {operation.scale_format, part(made.a_scales), part(made.b_scales)});
      wrong += d[i] != wanted ? 1 : 0;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("what a device has not is said") {
  gpu::Operation operation = made_up_operation(Fault::none);
  operation.instruction = "mma.unknown";
  CHECK_THROWS_AS(emulator->check(operation, made_up_engine(Fault::none), {1, 0, 10}), gpu::NoDevice);
  auto element = made_up_element_operation(gpu::ElementKind::add, Fault::none);
  element.instruction = "add.unknown";
  CHECK_THROWS_AS(emulator->sweep(element, {1, 0, 10}), gpu::NoDevice);
}

TEST_CASE("threads of the interpreter are given the stack that it declares") {
  const fake_cuda::Machine before = fake_cuda::machine();
  constexpr std::size_t declared = 16352;
  fake_cuda::machine().kernel_stack = declared;

  emulator->check(made_up_operation(Fault::none), made_up_engine(Fault::none), {1, 0, 10});
  const std::size_t raised = fake_cuda::machine().stack_limit;
  fake_cuda::machine().kernel_stack = 100;
  emulator->check(made_up_operation(Fault::none), made_up_engine(Fault::none), {1, 0, 10});
  const std::size_t kept = fake_cuda::machine().stack_limit;
  fake_cuda::machine() = before;

  CHECK(raised > declared);
  CHECK(kept == raised);
}

TEST_CASE("a check whose n-th runtime call fails throws, and holds nothing") {
  std::size_t failures = 0;
  for (std::size_t n = 1;; ++n) {
    fake_cuda::fail_call(n, cudaErrorMemoryAllocation);
    try {
      emulator->check(made_up_operation(Fault::none), made_up_engine(Fault::none), {1, 0, 10});
      break;
    } catch (const Error& error) {
      ++failures;
      CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("cudaErrorMemoryAllocation"));
      CHECK(fake_cuda::live_objects() == 0);
    }
  }
  fake_cuda::fail_call(0);

  CHECK(failures > 10);
}

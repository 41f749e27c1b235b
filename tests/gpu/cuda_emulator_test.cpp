// SPDX-License-Identifier: Apache-2.0
// Emulated products by the device code, run on the CPU: the bits of emu::engine_matmul, for every engine that a GPU has.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "emu/error.hpp"
#include "gpu/cuda/aligned_rule.hpp"
#include "gpu/cuda/emulator.hpp"
#include "tests/gpu/cuda_emulator_products.hpp"
#include "tests/gpu/fake_cuda/control.hpp"

namespace {

using namespace ulpscope;
using testing::Code, testing::cpu_results, testing::Numbers, testing::product_problem, testing::ProductProblem,
    testing::ProductShape;

std::vector<Code> device_results(const ProductProblem& problem, int capability = 90) {
  const emu::Format format = gpu::result_format(problem.product);
  const std::size_t count = problem.product.product.m() * problem.product.product.n();
  std::vector<std::byte> d(count * gpu::bytes_per_code(format));
  gpu::cuda::make_device_emulator(0, capability)->multiply(problem.product, d);
  std::vector<Code> codes;
  for (std::size_t i = 0; i < count; ++i) codes.push_back(gpu::load_code(format, d.data(), i));
  return codes;
}

void check_same_bits(const emu::Engine& engine, emu::Format a, emu::Format b, const ProductShape& shape, Numbers numbers) {
  const ProductProblem problem = product_problem(engine, a, b, shape, numbers, shape.m + shape.k);
  const std::vector<Code> wanted = cpu_results(problem), got = device_results(problem);
  const emu::Format format = gpu::result_format(problem.product);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    // Products on the CPU are values: of a NaN that an operand was they keep no payload.
    const bool payload = engine.nan_result != emu::NanResult::canonical && format.is_nan(wanted[i]) && format.is_nan(got[i]);
    if (wanted[i] == got[i] || payload || ++wrong > 1) continue;
    std::ostringstream words;
    words << "element " << i / shape.n << ',' << i % shape.n << ": " << std::hex << got[i] << " instead of " << wanted[i];
    UNSCOPED_INFO(words.str());
  }

  CAPTURE(shape.m, shape.n, shape.k, shape.with_c, shape.promote, shape.split_k, static_cast<int>(numbers));
  CHECK(wrong == 0);
  CHECK(fake_cuda::report().empty());
  CHECK(fake_cuda::live_objects() == 0);
}

const emu::EngineMode& mode_of(std::string_view engine, emu::Format a, emu::Format accumulator = emu::float32) {
  return emu::find_engine(engine, {.a = a, .b = a, .accumulator = accumulator});
}

}  // namespace

TEST_CASE("every engine of a GPU multiplies as on the CPU, with every pair of its formats") {
  for (const emu::EngineMode& mode : emu::engine_modes()) {
    if (!mode.engine.starts_with("sm_")) continue;
    CAPTURE(mode.engine, mode.instruction, mode.model.accumulator.exponent_bits);
    for (const emu::Format a : mode.inputs)
      for (const emu::Format b : mode.inputs) {
        if (!mode.mixed && a != b) continue;
        CAPTURE(a.exponent_bits, a.fraction_bits, b.exponent_bits, b.fraction_bits);
        check_same_bits(mode.model, a, b, {5, 9, 75}, Numbers::special);
        check_same_bits(mode.model, a, b, {3, 66, 64, false}, Numbers::wide);
      }
  }
}

TEST_CASE("ragged shapes multiply as on the CPU") {
  for (const std::string_view engine : {"sm_70", "sm_80", "sm_90", "sm_90/mma"}) {
    CAPTURE(engine);
    const emu::Format format = engine == "sm_90/mma" ? emu::e4m3 : emu::float16;
    const emu::Engine model = mode_of(engine, format, emu::float16).model;
    for (const ProductShape& shape : {ProductShape{1, 1, 1}, ProductShape{64, 64, 32}, ProductShape{65, 63, 33},
                                      ProductShape{63, 130, 31, false}, ProductShape{2, 65, 130}})
      check_same_bits(model, format, format, shape, Numbers::normal);
  }
}

TEST_CASE("tiny numbers multiply as on the CPU, where least exponents cut them") {
  for (const std::string_view engine : {"sm_70", "sm_80", "sm_90"})
    for (const bool with_c : {true, false}) {
      CAPTURE(engine);
      check_same_bits(mode_of(engine, emu::float16, emu::float16).model, emu::float16, emu::float16, {20, 20, 64, with_c},
                      Numbers::tiny);
    }
}

TEST_CASE("engines that keep fewer bits than their result multiply as on the CPU: no step beyond K cuts again") {
  for (const int products : {4, 8, 16, 32}) {
    CAPTURE(products);
    check_same_bits(emu::block_fma(products, 9), emu::float16, emu::bfloat16, {9, 9, 40}, Numbers::normal);
    check_same_bits(emu::block_fma(products, 9), emu::e4m3, emu::e4m3, {9, 9, 100, true, 64}, Numbers::normal);
  }
}

TEST_CASE("a GPU whose tensor cores do not have bfloat16 multiplies fp8 as on the CPU") {
  for (const std::string_view engine : {"sm_90", "sm_100"}) {
    CAPTURE(engine);
    const ProductProblem problem =
        product_problem(mode_of(engine, emu::e4m3).model, emu::e4m3, emu::e5m2, {5, 9, 75}, Numbers::special, 3);

    CHECK(device_results(problem, 75) == cpu_results(problem));
  }
}

TEST_CASE("a product without products is C") {
  const ProductProblem problem =
      product_problem(mode_of("sm_90", emu::float16).model, emu::float16, emu::float16, {7, 5, 0}, Numbers::normal, 3);

  CHECK(device_results(problem) == problem.c_codes);
}

TEST_CASE("promoted and split products multiply as on the CPU") {
  for (const ProductShape& shape :
       {ProductShape{5, 66, 200, true, 32, 1}, ProductShape{5, 9, 200, true, 0, 3}, ProductShape{5, 9, 333, false, 64, 2},
        ProductShape{66, 3, 96, true, 96, 1}, ProductShape{4, 4, 70, true, 32, 7}})
    for (const Numbers numbers : {Numbers::normal, Numbers::special}) {
      check_same_bits(mode_of("sm_90", emu::e4m3).model, emu::e4m3, emu::e5m2, shape, numbers);
      check_same_bits(mode_of("sm_90", emu::bfloat16).model, emu::bfloat16, emu::bfloat16, shape, numbers);
      check_same_bits(mode_of("sm_80", emu::float16, emu::float16).model, emu::float16, emu::float16, shape, numbers);
      check_same_bits(mode_of("sm_90/mma", emu::e4m3, emu::float16).model, emu::e4m3, emu::e4m3, shape, numbers);
      check_same_bits(mode_of("sm_80", emu::float64, emu::float64).model, emu::float64, emu::float64, shape, numbers);
    }
}

TEST_CASE("other engines multiply as on the CPU, by the interpreter") {
  for (const auto& [engine, format, accumulator] :
       {std::tuple("fma", emu::float16, emu::float16), std::tuple("fma", emu::bfloat16, emu::float32),
        std::tuple("amx_bf16", emu::bfloat16, emu::float32), std::tuple("cdna3", emu::float16, emu::float32),
        std::tuple("cdna1", emu::float16, emu::float32)}) {
    CAPTURE(engine);
    const emu::Engine model = mode_of(engine, format, accumulator).model;
    check_same_bits(model, format, format, {5, 7, 65}, Numbers::wide);
  }
}

TEST_CASE("subnormals, sums that hardly overflow and least exponents multiply as on the CPU") {
  for (const emu::Format accumulator : {emu::float32, emu::float16}) {
    const emu::Engine engine = mode_of("sm_90", emu::float16, accumulator).model;
    gpu::TestShape shape;
    shape.a = shape.b = emu::float16;
    shape.c = accumulator;
    shape.products = 16;
    // The rows and columns of adversarial inner products, all with all: chains of one step.
    constexpr std::size_t count = 200;
    const gpu::TestProblems made = gpu::test_problems(shape, 11, 0, count);
    ProductProblem problem = product_problem(engine, emu::float16, emu::float16, {count, count, 16}, Numbers::normal, 5);
    problem.a_codes = made.a;
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t k = 0; k < 16; ++k) problem.b_codes[k * count + i] = made.b[i * 16 + k];
    for (std::size_t i = 0; i < count * count; ++i) problem.c_codes[i] = made.c[(i * 7 + i / count) % count];
    const auto put = [](std::vector<std::byte>& to, emu::Format format, const std::vector<Code>& codes) {
      for (std::size_t i = 0; i < codes.size(); ++i) gpu::store_code(format, to.data(), i, codes[i]);
    };
    put(problem.a, emu::float16, problem.a_codes);
    put(problem.b, emu::float16, problem.b_codes);
    put(problem.c, accumulator, problem.c_codes);

    CHECK(device_results(problem) == cpu_results(problem));
  }
}

TEST_CASE("a product whose n-th runtime call fails throws, and holds nothing") {
  const ProductProblem problem =
      product_problem(mode_of("sm_90", emu::float16).model, emu::float16, emu::float16, {3, 3, 20}, Numbers::normal, 1);
  std::size_t failures = 0;
  for (std::size_t n = 1;; ++n) {
    fake_cuda::fail_call(n, cudaErrorLaunchFailure);
    try {
      device_results(problem);
      break;
    } catch (const Error& error) {
      ++failures;
      CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("cudaErrorLaunchFailure"));
      CHECK(fake_cuda::live_objects() == 0);
    }
  }
  fake_cuda::fail_call(0);

  CHECK(failures > 20);
}

TEST_CASE("products that do not fit are refused") {
  ProductProblem problem =
      product_problem(mode_of("sm_90", emu::float16).model, emu::float16, emu::float16, {3, 4, 20}, Numbers::normal, 1);
  const auto emulator = gpu::cuda::make_device_emulator(0, 90);
  std::vector<std::byte> d(std::size_t{3} * 4 * 4);

  CHECK_THROWS_AS(emulator->multiply(problem.product, std::span(d).first(40)), Error);
  problem.product.promote = 24;
  CHECK_THROWS_AS(emulator->multiply(problem.product, d), Error);
  problem.product.promote = 0;
  problem.product.split_k = 0;
  CHECK_THROWS_AS(emulator->multiply(problem.product, d), Error);
  problem.product.split_k = 1;
  problem.product.product.b.rows = 19;
  CHECK_THROWS_AS(emulator->multiply(problem.product, d), Error);
}

// SPDX-License-Identifier: Apache-2.0
// Scaling modes on the stand-in for cuBLASLt, which has its own idea of where each scale lies.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>
#include <utility>
#include <vector>

#include "gpu/cublas/matmul_problem.hpp"
#include "gpu/cublas/scale_layout.hpp"
#include "tests/gpu/cublas_problem.hpp"

using namespace ulpscope;
using namespace ulpscope::testing;
using Catch::Matchers::ContainsSubstring;
using gpu::ScaleMode;

namespace {

constexpr emu::Format e4m3 = emu::float8_e4m3fn, bf16 = emu::bfloat16;

gpu::LibraryCall find_scaled(const gpu::Library& library, ScaleMode a, ScaleMode b, emu::Format operands = e4m3,
                             emu::Format d = bf16) {
  for (const gpu::LibraryCall& call : library.calls())
    if (call.scale_mode_a == a && call.scale_mode_b == b && call.a == operands && call.b == operands && call.d == d)
      return call;
  FAIL("no such call");
  return {};
}

struct Modes {
  int capability;
  ScaleMode a, b;
  emu::Format operands = e4m3;
};
constexpr std::array<Modes, 7> all_modes{{{90, ScaleMode::scalar_32f, ScaleMode::scalar_32f},
                                          {90, ScaleMode::outer_vec_32f, ScaleMode::outer_vec_32f},
                                          {90, ScaleMode::vec128_32f, ScaleMode::vec128_32f},
                                          {90, ScaleMode::vec128_32f, ScaleMode::blk128x128_32f},
                                          {90, ScaleMode::blk128x128_32f, ScaleMode::vec128_32f},
                                          {100, ScaleMode::vec32_ue8m0, ScaleMode::vec32_ue8m0},
                                          {100, ScaleMode::vec16_ue4m3, ScaleMode::vec16_ue4m3, emu::float4_e2m1fn}}};

}  // namespace

TEST_CASE("every scaling mode multiplies the products that its scales belong to", "[gpu]") {
  const Machine machine;
  const Modes modes = GENERATE(from_range(all_modes));
  fake_cuda::machine().capability = modes.capability;
  const auto library = open(true);
  const gpu::LibraryCall call = find_scaled(*library, modes.a, modes.b, modes.operands);
  Problem problem(call, asymmetric(call));
  CAPTURE(facts_of(modes.a).name, facts_of(modes.b).name);
  std::vector<std::byte> d = problem.blank();

  library->multiply(call, {}, problem.product(), d);
  CHECK(d == problem.expected(1, 0));

  // Without scales where there is one for each operand.
  gpu::LibraryProduct product = problem.product();
  product.scale_a = product.scale_b = {};
  if (modes.a == ScaleMode::scalar_32f) {
    library->multiply(call, {}, product, d);
    CHECK(d == problem.expected(1 / (problem.scale_a.at(0, 0) * problem.scale_b.at(0, 0)), 0));
  } else {
    CHECK_THROWS_WITH(library->multiply(call, {}, product, d), ContainsSubstring("the scales of A must be"));
  }
  CHECK(fake_cuda::report().empty());
}

TEST_CASE("fp8 results have a scale and tell their greatest magnitude", "[gpu]") {
  const auto library = open(true);
  std::size_t calls = 0;

  for (const gpu::LibraryCall& call : library->calls()) {
    if (call.d.bits() > 8) continue;
    ++calls;
    CAPTURE(call.a, call.b, call.d, call.c_format());
    Problem problem(call, {5, 32, 48});
    std::vector<std::byte> d = problem.blank();
    float amax = -1;
    gpu::LibraryProduct product = problem.product();
    product.product.c = problem.c.view();
    product.alpha = 0.5;
    product.beta = 3;
    product.scale_d = 0.25F;
    problem.scale_d = 0.25;
    product.amax_d = std::span(&amax, 1);

    library->multiply(call, {}, product, d);

    CHECK(d == problem.expected(0.5, 3));
    CHECK(amax == problem.amax(0.5, 3));
    product.scale_d.reset();
    problem.scale_d = 1;
    product.amax_d = {};
    library->multiply(call, {}, product, d);
    CHECK(d == problem.expected(0.5, 3));
  }
  CHECK(calls == 20);
}

TEST_CASE("what scales cannot be is one line", "[gpu]") {
  const auto library = open(true);
  const auto refused = [&](const gpu::LibraryCall& call, Shape shape, const auto& change) {
    const Problem problem(call, shape);
    std::vector<std::byte> d = problem.blank();
    gpu::LibraryProduct product = problem.product();
    change(product);
    try {
      library->multiply(call, {}, product, d);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const gpu::LibraryCall lines = find_scaled(*library, ScaleMode::vec128_32f, ScaleMode::vec128_32f);
  const gpu::LibraryCall blocks = find_scaled(*library, ScaleMode::vec128_32f, ScaleMode::blk128x128_32f);
  float amax = 0;

  CHECK(refused(lines, {4, 16, 256}, [](gpu::LibraryProduct&) {}).empty());
  CHECK_THAT(refused(lines, {6, 16, 256}, [](gpu::LibraryProduct&) {}),
             ContainsSubstring("VEC128_32F need an m that is a multiple of 4, not m = 6"));
  CHECK_THAT(refused(lines, {4, 16, 256}, [](gpu::LibraryProduct& p) { std::swap(p.scale_a, p.scale_b); }),
             ContainsSubstring("the scales of A must be 4 by 2 numbers of float32 for VEC128_32F"));
  CHECK_THAT(refused(blocks, {4, 144, 256}, [](gpu::LibraryProduct& p) { p.scale_b = p.scale_a; }),
             ContainsSubstring("the scales of B must be 2 by 2 numbers of float32 for BLK128x128_32F"));
  CHECK_THAT(refused(lines, {4, 16, 256}, [](gpu::LibraryProduct& p) { p.scale_d = 2.0F; }),
             ContainsSubstring("a scale and one greatest magnitude are for fp8 results"));
  CHECK_THAT(refused(lines, {4, 16, 256}, [&](gpu::LibraryProduct& p) { p.amax_d = std::span(&amax, 1); }),
             ContainsSubstring("a scale and one greatest magnitude are for fp8 results"));

  gpu::LibraryCall both = lines;
  both.scale_mode_a = both.scale_mode_b = ScaleMode::blk128x128_32f;
  CHECK_THAT(refused(both, {4, 16, 256}, [](gpu::LibraryProduct&) {}), ContainsSubstring("no such call on this device"));
}

TEST_CASE("the stand-in refuses scales that the library refuses", "[gpu]") {
  const Machine machine;
  const Modes modes = GENERATE(from_range(all_modes));
  const gpu::cublas::Shape shape{16, 32, 256};
  CAPTURE(facts_of(modes.a).name, facts_of(modes.b).name);
  alignas(16) static std::byte memory[1 << 16];
  fake_cuda::machine().capability = modes.capability;
  const gpu::LibraryCall call = find_scaled(*open(true), modes.a, modes.b, modes.operands);
  cublasLtHandle_t handle = nullptr;
  REQUIRE(cublasLtCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  const auto asked = [&](const gpu::LibraryCall& of, const gpu::cublas::ScalePointers& pointers) {
    gpu::cublas::MatmulProblem problem(of, shape);
    problem.set_scales(pointers);
    cublasLtMatmulPreference_t preference = nullptr;
    cublasLtMatmulHeuristicResult_t result;
    int found = 0;
    REQUIRE(cublasLtMatmulPreferenceCreate(&preference) == CUBLAS_STATUS_SUCCESS);
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(handle, problem.operation(), problem.first(), problem.second(), problem.addend(),
                                       problem.result(), preference, 1, &result, &found);
    static_cast<void>(cublasLtMatmulPreferenceDestroy(preference));
    return status;
  };
  fake_cublas::last().computes = true;

  CHECK(asked(call, {memory, memory, nullptr, nullptr}) == CUBLAS_STATUS_SUCCESS);
  CHECK(asked(call, {memory + 8, memory, nullptr, nullptr}) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(asked(call, {memory, memory + 8, nullptr, nullptr}) == CUBLAS_STATUS_INVALID_VALUE);
  const auto* const scale = reinterpret_cast<const float*>(memory);
  CHECK(asked(call, {memory, memory, scale, nullptr}) == CUBLAS_STATUS_INVALID_VALUE);
  gpu::LibraryCall mixed = call;
  mixed.scale_mode_b = modes.b == ScaleMode::outer_vec_32f ? ScaleMode::vec128_32f : ScaleMode::outer_vec_32f;
  CHECK(asked(mixed, {memory, memory, nullptr, nullptr}) == CUBLAS_STATUS_NOT_SUPPORTED);
  mixed.scale_mode_a = mixed.scale_mode_b = ScaleMode::blk128x128_32f;
  CHECK(asked(mixed, {memory, memory, nullptr, nullptr}) == CUBLAS_STATUS_NOT_SUPPORTED);
  fake_cuda::machine().capability = modes.capability == 90 ? 100 : 90;
  CHECK((asked(call, {memory, memory, nullptr, nullptr}) == CUBLAS_STATUS_SUCCESS) == (modes.a == ScaleMode::scalar_32f));
  static_cast<void>(cublasLtDestroy(handle));
}

TEST_CASE("scales of 1 are as many as the layout has places", "[gpu]") {
  const auto size = [](ScaleMode mode) { return gpu::cublas::unit_scales(mode, 132, 544).size(); };

  CHECK(size(ScaleMode::scalar_32f) == 4);
  CHECK(size(ScaleMode::outer_vec_32f) == std::size_t{4} * 132);
  CHECK(size(ScaleMode::vec128_32f) == std::size_t{4} * 132 * 5);
  CHECK(size(ScaleMode::blk128x128_32f) == std::size_t{4} * 2 * 8);
  CHECK(size(ScaleMode::vec32_ue8m0) == std::size_t{256} * 20);
  CHECK(size(ScaleMode::vec16_ue4m3) == std::size_t{256} * 36);
}

TEST_CASE("the first of two float4 codes is the low half of a byte", "[gpu]") {
  // What both operands have in common does not show in a product.
  constexpr std::byte codes[] = {std::byte{0x1}, std::byte{0x2}, std::byte{0xf}, std::byte{0x0}};

  CHECK(gpu::cublas::packed_halves(codes) == std::vector{std::byte{0x21}, std::byte{0x0f}});
}

TEST_CASE("every scaled call is timed with scales of 1", "[gpu][long]") {
  const Machine machine;
  fake_cuda::machine().capability = GENERATE(90, 100);
  const auto library = open(true);
  const auto objects = fake_cuda::live_objects();
  fake_cublas::last().computes = false;

  for (const gpu::LibraryCall& call : library->calls())
    if (call.scale_mode_a != ScaleMode::scalar_32f || call.c) CHECK(library->time(call, {}, 16, 32, 256).runs >= 3);

  fake_cublas::last().computes = true;
  CHECK(fake_cuda::live_objects() == objects);
}

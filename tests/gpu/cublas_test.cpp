// SPDX-License-Identifier: Apache-2.0
// The plugin's code on stand-ins for the CUDA runtime, cuBLAS and cuBLASLt: layouts, types, attributes. What the real libraries
// compute is not seen here.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <set>
#include <string>
#include <vector>

#include "emu/encode.hpp"
#include "gpu/normal_like.hpp"
#include "gpu/unit.hpp"
#include "tests/gpu/cublas_problem.hpp"

using namespace ulpscope;
using namespace ulpscope::testing;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("every call multiplies row-major matrices of three different extents", "[gpu][long]") {
  const auto library = open(GENERATE(false, true));

  for (const gpu::LibraryCall& call : library->calls()) {
    const Shape shape = asymmetric(call);
    const Problem problem(call, shape);
    CAPTURE(library->name(), call.compute, call.a, call.b, call.d);
    const auto algorithm = library->algorithms(call, shape.m, shape.n, shape.k, 1).at(0);
    std::vector<std::byte> d = problem.blank();

    library->multiply(call, algorithm, problem.product(), d);
    CHECK(d == problem.expected(1, 0));

    gpu::LibraryProduct whole = problem.product();
    whole.product.c = problem.c.view();
    whole.alpha = 0.5;
    whole.beta = 3;
    library->multiply(call, algorithm, whole, d);
    CHECK(d == problem.expected(0.5, 3));
  }
  CHECK(fake_cuda::report().empty());
}

TEST_CASE("calls are those that the device has", "[gpu]") {
  const Machine machine;
  const auto calls_on = [](int capability, bool lt) {
    fake_cuda::machine().capability = capability;
    return open(lt)->calls();
  };

  // 16F and 64F in two kinds each, three fast ones, and 32F in two kinds of f16-f16, f16-f32, bf16-bf16, bf16-f32, f32-f32, of
  // which f16-f16 and bf16-bf16 come with and without reduced-precision reduction.
  constexpr std::size_t common = 2 + 2 + 3 + 2 * (5 + 2);
  // Three pairs of formats with and without fast accumulation: to bf16 and f16 with and without reduced-precision reduction,
  // and f32; to fp8 with two formats of C, e4m3 of all and e5m2 of two pairs.
  constexpr std::size_t tensorwide = 3 * 2 * (3 + 2) + 2 * 2 * (3 + 2);
  // To three formats: by lines with and without fast accumulation, by 128 products in three ways; e4m3 and e5m2 by 32, e2m1
  // by 16.
  constexpr std::size_t of_hopper = std::size_t{3} * 3 * (2 + 3), of_blackwell = 3 * 3 + 3;
  CHECK(calls_on(90, false).size() == common);
  CHECK(count_narrow(calls_on(90, false)) == 0);
  CHECK(count_narrow(calls_on(90, true)) == tensorwide + of_hopper);
  CHECK(calls_on(90, true).size() == common + tensorwide + of_hopper);
  CHECK(count_narrow(calls_on(89, true)) == tensorwide);
  CHECK(count_narrow(calls_on(100, true)) == tensorwide + of_blackwell);
  CHECK(count_narrow(calls_on(120, true)) == tensorwide + of_blackwell);
  CHECK(calls_on(86, true).size() == common);
  CHECK(calls_on(75, true).size() == common - std::size_t{2} * 3);  // no bfloat16
}

TEST_CASE("reductions in the output's precision are forbidden where the call says so", "[gpu]") {
  const auto cublas = open(false), lt = open(true);
  for (const bool reduced : {true, false}) {
    const gpu::LibraryCall call = find(*cublas, single, emu::float16, emu::float16, reduced);
    const Problem problem(call, {3, 5, 7});
    std::vector<std::byte> d = problem.blank();
    cublas->multiply(call, {}, problem.product(), d);
    CHECK((fake_cublas::last().math_mode == CUBLAS_DEFAULT_MATH) == reduced);

    const auto algorithms = lt->algorithms(find(*lt, single, emu::float16, emu::float16, reduced), 16, 16, 128, 32);
    CHECK(fake_cublas::last().reductions == (reduced ? 7U : 2U));
    const auto by_output =
        std::count_if(algorithms.begin(), algorithms.end(), [](const auto& algorithm) { return algorithm.reduction == "4"; });
    CHECK((by_output > 0) == reduced);
  }
}

TEST_CASE("algorithms are described by all that the library says of them", "[gpu]") {
  const auto library = open(true);
  const gpu::LibraryCall call = find(*library, single, emu::float16, emu::float16);

  const auto algorithms = library->algorithms(call, 16, 32, 128, 32);

  // Four of the heuristic's six (one is there twice, one failed), and the first one split in 2, 3, 4, 8 in two ways.
  REQUIRE(algorithms.size() == 4 + 8);
  const std::string arithmetic = " math=hmma accumulator=32f input=16f workspace=";
  CHECK(algorithms[0].words ==
        "id=66 tile=20 stages=15 split_k=1 reduction=0 swizzle=0 custom=0 inner=0 cluster=2" + arithmetic + "0");
  CHECK(algorithms[0].reduction.empty());
  CHECK(algorithms[1].words ==
        "id=67 tile=24 stages=35 split_k=1 reduction=0 swizzle=1 custom=3 inner=4 cluster=3" + arithmetic + "0");
  CHECK(algorithms[2].split_k == 2);
  CHECK(algorithms[2].reduction == "4");
  CHECK(algorithms[11].words ==
        "id=66 tile=20 stages=15 split_k=8 reduction=4 swizzle=0 custom=0 inner=0 cluster=2" + arithmetic + "16384");
  std::set<std::string> words;
  for (const auto& algorithm : algorithms) words.insert(algorithm.words);
  CHECK(words.size() == algorithms.size());
}

TEST_CASE("K is split where the library agrees, within the number asked for", "[gpu]") {
  const auto library = open(true);
  const gpu::LibraryCall call = find(*library, single, emu::float16, emu::float16);

  CHECK(library->algorithms(call, 16, 32, 48, 32).size() == 4 + 4);  // 48 products: by 2 and 3
  const auto eight = library->algorithms(call, 16, 32, 128, 8);
  CHECK(eight.size() == 4 + 2);
  CHECK(library->algorithms(call, 16, 32, 128, 4).size() == 4);
  CHECK(library->algorithms(call, 16, 32, 128, 2).size() == 2);
  CHECK(library->algorithms(call, 16, 32, 128, 0).empty());
  CHECK(library->algorithms(call, 128, 64, 128, 32).size() == 4 + 2);  // more than two parts do not fit the workspace
}

TEST_CASE("the algorithm that was chosen is the one that runs", "[gpu]") {
  const auto library = open(true);
  const gpu::LibraryCall call = find(*library, single, emu::bfloat16, emu::bfloat16);
  const Problem problem(call, {16, 8, 2048});
  std::vector<std::byte> d = problem.blank();

  for (const gpu::LibraryAlgorithm& algorithm : library->algorithms(call, 16, 8, 2048, 32)) {
    CAPTURE(algorithm.words);
    const auto parts = algorithm.reduction == "4" ? static_cast<std::size_t>(algorithm.split_k) : 1;
    library->multiply(call, algorithm, problem.product(), d);
    CHECK(d == problem.expected(1, 0, parts));
  }
  const bool shows = problem.expected(1, 0, 8) != problem.expected(1, 0);
  CHECK(shows);
  CHECK_THROWS_WITH(library->multiply(call, {"other", 1, "", std::vector<std::byte>(3)}, problem.product(), d),
                    ContainsSubstring("not an algorithm of this library: other"));
}

TEST_CASE("the device draws the numbers that the host draws", "[gpu]") {
  const auto library = open(GENERATE(false, true));

  for (const emu::Format format : {emu::float64, emu::float32, emu::float16, emu::bfloat16, emu::float8_e4m3fn}) {
    CAPTURE(format.exponent_bits, format.fraction_bits);
    constexpr std::size_t count = 1000;
    std::vector<std::byte> drawn(count * gpu::bytes_per_code(format)), wanted = drawn;
    for (std::size_t i = 0; i < count; ++i)
      gpu::store_code(format, wanted.data(), i, emu::encode(format, gpu::normal_like(7, 1, i)));

    const std::size_t before = fake_cuda::launches();
    library->draw_normal(format, 7, 1, drawn);

    CHECK(fake_cuda::launches() == before + 1);
    CHECK(drawn == wanted);
  }
  CHECK(fake_cuda::live_objects() == 0);
}

TEST_CASE("times are taken over more memory than the cache holds", "[gpu]") {
  const auto library = open(GENERATE(false, true));
  const gpu::LibraryCall call = find(*library, "CUBLAS_COMPUTE_64F", emu::float64, emu::float64);
  const auto objects = fake_cuda::live_objects();
  fake_cublas::last().operands.clear();
  fake_cublas::last().computes = false;

  const gpu::LibraryTime time = library->time(call, {}, 8, 8, 512);
  fake_cublas::last().computes = true;

  const std::set<const void*> addresses(fake_cublas::last().operands.begin(), fake_cublas::last().operands.end());
  const std::size_t each = std::size_t{8} * (8 * 512 + 512 * 8 + 8 * 8);
  CHECK(addresses.size() * each >= 4 * (std::size_t{1} << 20));  // the stand-in's cache is 1 MiB
  CHECK(addresses.size() * each < 5 * (std::size_t{1} << 20));
  CHECK(time.runs >= 3);
  CHECK(time.runs % 2 == 1);
  CHECK(time.median_seconds >= time.least_seconds);
  CHECK(fake_cuda::live_objects() == objects);
}

// SPDX-License-Identifier: Apache-2.0
// What the plugin's code says of products that cannot be, and of calls that fail.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <set>
#include <string>
#include <vector>

#include "gpu/unit.hpp"
#include "tests/gpu/cublas_problem.hpp"

using namespace ulpscope;
using namespace ulpscope::testing;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("what cannot be done is one line", "[gpu]") {
  const auto library = open(true);
  const gpu::LibraryCall half = find(*library, single, emu::float16, emu::float16);
  const gpu::LibraryCall fp8 = find(*library, single, emu::float8_e4m3fn, emu::float32);
  const Problem problem(half, {3, 5, 7});
  std::vector<std::byte> d = problem.blank();
  gpu::LibraryProduct product = problem.product();

  CHECK_THROWS_WITH(library->algorithms(fp8, 16, 16, 24, 1),
                    ContainsSubstring("fp8 operands need n and k that are multiples of 16, not n = 16, k = 24"));
  CHECK_THROWS_WITH(library->algorithms(fp8, 16, 8, 16, 1), ContainsSubstring("n = 8"));
  CHECK_THROWS_WITH(library->algorithms(half, 0, 16, 16, 1), ContainsSubstring("a dimension of 0"));
  CHECK_THROWS_WITH(library->algorithms(half, std::size_t{1} << 31, 1, 1, 1), ContainsSubstring("2147483648"));
  gpu::LibraryCall unknown = half;
  unknown.compute = "CUBLAS_COMPUTE_32I";
  CHECK_THROWS_WITH(library->algorithms(unknown, 1, 1, 1, 1), ContainsSubstring("no such call on this device"));
  CHECK_THROWS_WITH(library->multiply(half, {}, product, std::span(d).first(d.size() - 2)), ContainsSubstring("do not fit"));
  product.beta = 1;
  CHECK_THROWS_WITH(library->multiply(half, {}, product, d), ContainsSubstring("beta without a matrix C"));
  product.beta = 0;
  product.scale_a = problem.scale_a.grid.view();
  CHECK_THROWS_WITH(library->multiply(half, {}, product, d), ContainsSubstring("only narrow operands take scales"));
}

TEST_CASE("any failing call is an error that names it, leaves nothing behind and nothing in d", "[gpu]") {
  const bool lt = GENERATE(false, true), of_cuda = GENERATE(false, true);
  CAPTURE(lt, of_cuda);
  const auto fail = [&](std::size_t n) {
    if (of_cuda)
      fake_cuda::fail_call(n);
    else
      fake_cublas::fail_call(n);
  };
  std::size_t failures = 0;
  const auto objects = fake_cuda::live_objects() + fake_cublas::live_objects();
  for (std::size_t n = 1;; ++n) {
    std::vector<std::byte> d;
    bool failed = false;
    fail(n);
    try {
      const auto library = open(lt);
      const gpu::LibraryCall call =
          lt ? find(*library, single, emu::float8_e4m3fn, emu::float32) : find(*library, single, emu::float16, emu::float16);
      const Problem problem(call, {16, 16, 16});
      d = problem.blank();
      gpu::LibraryProduct product = problem.product();
      static_cast<void>(library->version());
      library->multiply(call, library->algorithms(call, 16, 16, 16, 8).at(0), product, d);
    } catch (const Error& error) {
      failed = true;
      const std::string message = error.what();
      CHECK_THAT(message, ContainsSubstring(of_cuda ? "cudaErrorUnknown" : "CUBLAS_STATUS_INTERNAL_ERROR (as the"));
      CHECK_THAT(message, ContainsSubstring(of_cuda ? "cu" : "cublas"));
      CHECK(message.find('\n') == std::string::npos);
      CHECK(std::all_of(d.begin(), d.end(), [](std::byte byte) { return byte == std::byte{0xee}; }));
    }
    const std::size_t calls = of_cuda ? fake_cuda::calls() : fake_cublas::calls();
    fail(0);
    CHECK(fake_cuda::live_objects() + fake_cublas::live_objects() == objects);
    if (!failed && calls < n) break;
    failures += failed ? 1 : 0;  // releasing a device may fail in silence
  }
  CHECK(failures >= (of_cuda ? 14 : (lt ? 20 : 4)));
}

TEST_CASE("a failure while timing is an error", "[gpu]") {
  const auto library = open(true);
  const gpu::LibraryCall call = find(*library, "CUBLAS_COMPUTE_64F", emu::float64, emu::float64);
  const auto objects = fake_cuda::live_objects();

  for (const std::size_t n : {1u, 5u, 9u, 20u}) {
    fake_cublas::fail_call(n, CUBLAS_STATUS_EXECUTION_FAILED);
    CHECK_THROWS_WITH(library->time(call, {}, 8, 8, 2048), ContainsSubstring("CUBLAS_STATUS_EXECUTION_FAILED"));
    CHECK(fake_cuda::live_objects() == objects);
  }
  fake_cublas::fail_call(0);
}

TEST_CASE("a missing GPU is told as one", "[gpu]") {
  const Machine machine;

  CHECK_THROWS_AS(gpu::cublas::device_facts(1), gpu::NoDevice);
  fake_cuda::machine().count_error = cudaErrorInsufficientDriver;
  CHECK_THROWS_AS(gpu::cublas::device_facts(0), gpu::NoDevice);
  CHECK_THROWS_WITH(gpu::cublas::device_facts(0), ContainsSubstring("cuBLAS: no GPU: cudaErrorInsufficientDriver"));
}

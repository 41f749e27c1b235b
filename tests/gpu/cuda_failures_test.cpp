// SPDX-License-Identifier: Apache-2.0
// When a call of the CUDA runtime fails: one line that names it, nothing in the result, nothing left behind. And what is said
// where there is no GPU to use.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "gpu/adversarial.hpp"
#include "gpu/cuda/elementwise.hpp"
#include "gpu/cuda/instruction_set.hpp"
#include "gpu/cuda/unit.hpp"
#include "gpu/plugin.hpp"
#include "tests/gpu/fake_cuda/control.hpp"
#include "tests/gpu/fake_cuda/fake_state.hpp"
#include "tests/gpu/fake_cuda/matrix_instructions.hpp"

extern "C" void ulpscope_cuda_devices(ulpscope::gpu::DeviceSearch& search);

namespace {

/// Of a matrix.
std::size_t bytes(std::size_t rows, std::size_t columns, std::size_t of_each) { return rows * columns * of_each; }

using namespace ulpscope;
using namespace ulpscope::gpu;
using Catch::Matchers::ContainsSubstring;
using emu::Code;

constexpr std::size_t small_portion = 4096;

const Operation& first_operation(const std::vector<Operation>& operations, const std::string& instruction) {
  return *std::find_if(operations.begin(), operations.end(), [&](const Operation& o) { return o.instruction == instruction; });
}

bool names_a_call(const std::string& message) {
  return message.find("cuda") != std::string::npos && message.find("cudaErrorUnknown") != std::string::npos;
}

/// Fails every call in turn; `untouched` says of the result that it is as it was. Returns how many calls there are.
std::size_t fail_every_call(const std::function<void()>& work, const std::function<bool()>& untouched) {
  for (std::size_t n = 1;; ++n) {
    fake_cuda::fail_call(n);
    std::string message;
    try {
      work();
    } catch (const Error& error) {
      message = error.what();
    }
    fake_cuda::fail_call(0);
    CAPTURE(n, message);
    CHECK(fake_cuda::live_objects() == 0);
    CHECK(fake_cuda::instruction_failure() == "");
    static_cast<void>(fake_cuda::report());
    if (message.empty()) return n - 1;
    CHECK((names_a_call(message) || message.find("mma") != std::string::npos || message.find("cvt") != std::string::npos));
    CHECK(message.find('\n') == std::string::npos);
    CHECK(untouched());
  }
}

const char* const instruction_name = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";

TEST_CASE("inner products: a call that fails leaves nothing", "[gpu]") {
  const cuda::CudaUnit unit("cuda:0", 0, cuda::instructions(90), small_portion);
  const std::vector<Operation> operations = unit.operations();
  const Operation& o = first_operation(operations, instruction_name);
  const TestProblems problems = test_problems(TestShape(o, 2 * o.products), 1, 0, 20);
  fake_cuda::set_engine(o.engine);
  const std::vector<Code> sentinel(problems.c.size(), 0xabcdef);
  std::vector<Code> d = sentinel;

  const auto multiply = [&] {
    const cuda::CudaUnit fresh("cuda:0", 0, cuda::instructions(90), small_portion);
    fresh.multiply(o, problems.view(), d);
  };
  const std::size_t calls = fail_every_call(multiply, [&] { return d == sentinel; });

  CHECK(calls >= 9);  // three portions: two copies and a launch each
  CHECK(d != sentinel);
}

TEST_CASE("matrices: a call that fails leaves nothing", "[gpu]") {
  const cuda::CudaUnit unit("cuda:0", 0, cuda::instructions(90), small_portion);
  const std::vector<Operation> operations = unit.operations();
  const Operation& o = first_operation(operations, instruction_name);
  fake_cuda::set_engine(o.engine);
  const std::vector<std::byte> a(bytes(20, 30, 2)), b(bytes(30, 50, 2)), c(bytes(20, 50, 4)),
      sentinel(c.size(), std::byte{0xab});
  const MatrixProduct product{{o.a, 20, 30, a}, {o.b, 30, 50, b}, {o.accumulator, 20, 50, c}};
  std::vector<std::byte> d = sentinel;

  const std::size_t calls = fail_every_call([&] { unit.multiply_matrices(o, product, d); }, [&] { return d == sentinel; });

  CHECK(calls >= 18);
  CHECK(d == c);
}

TEST_CASE("element operations: a call that fails leaves nothing", "[gpu]") {
  const cuda::CudaElementwise device("cuda:0", 0, cuda::element_instructions(90), small_portion);
  const ElementOperation operation = device.operations().front();
  const std::vector<Code> a(300, 0x3f800000), sentinel(300, 0xabcdef);
  std::vector<Code> d = sentinel;

  const auto apply = [&] {
    const cuda::CudaElementwise fresh("cuda:0", 0, cuda::element_instructions(90), small_portion);
    fresh.apply(operation, {a}, d);
  };
  const std::size_t calls = fail_every_call(apply, [&] { return d == sentinel; });

  CHECK(calls >= 9);
  CHECK(d == std::vector<Code>(300, 0x3c00));
}

TEST_CASE("what does not fit is refused before anything is asked of the device", "[gpu]") {
  const cuda::CudaUnit unit("cuda:0", 0, cuda::instructions(90));
  const cuda::CudaElementwise elements("cuda:0", 0, cuda::element_instructions(90));
  const std::vector<Operation> operations = unit.operations();
  const Operation& o = first_operation(operations, instruction_name);
  Operation unknown = o;
  unknown.instruction = "mma.sync.aligned.m1n1k1";
  const std::vector<Code> codes(24);
  std::vector<Code> d(1), d2(2);
  fake_cuda::fail_call(0);

  CHECK_THROWS_AS(unit.multiply(unknown, {16, {}, {}, {}, {}, {}}, {}), NoDevice);
  CHECK_THROWS_WITH(unit.multiply(o, {24, codes, codes, std::span(codes).first(1), {}, {}}, d),
                    ContainsSubstring("24 products are no multiple of 16"));
  CHECK_THROWS_AS(unit.multiply(o, {16, codes, codes, std::span(codes).first(1), {}, {}}, d), Error);
  CHECK_THROWS_AS(
      unit.multiply(o, {16, std::span(codes).first(16), std::span(codes).first(16), std::span(codes).first(1), {}, {}}, d2),
      Error);
  const std::span some(codes);
  CHECK_THROWS_WITH(unit.multiply(o, {16, some.first(16), some.first(16), some.first(1), some.first(1), {}}, d),
                    ContainsSubstring("takes 0 scales of a and of b here, not 1 and 0"));
  CHECK_THROWS_WITH(elements.apply(elements.operations().front(), {codes, codes}, d), ContainsSubstring("it takes 1 operands"));
  CHECK(fake_cuda::calls() == 0);
}

TEST_CASE("an instruction that takes no whole matrices says so", "[gpu]") {
  std::vector<cuda::Instruction> instructions{cuda::instructions(90).front()};
  instructions.front().matrices = nullptr;
  const cuda::CudaUnit unit("cuda:0", 0, instructions);
  const Operation& o = instructions.front().operation;
  const std::vector<std::byte> code(gpu::bytes_per_code(o.a));
  std::vector<std::byte> d(gpu::bytes_per_code(o.accumulator));

  CHECK_THROWS_WITH(unit.multiply_matrices(o, {{o.a, 1, 1, code}, {o.b, 1, 1, code}, {o.accumulator}}, d),
                    ContainsSubstring(o.instruction) && ContainsSubstring("whole matrices"));
}

DeviceSearch found() {
  DeviceSearch search;
  ulpscope_cuda_devices(search);
  return search;
}

TEST_CASE("a GPU is described, with what it has", "[gpu]") {
  fake_cuda::machine() = {};
  fake_cuda::machine().devices = 2;

  const DeviceSearch search = found();

  REQUIRE(search.devices.size() == 2);
  CHECK(search.remarks.empty());
  CHECK(search.devices[1].description.id == "cuda:1");
  CHECK(search.devices[1].description.name == fake_cuda::machine().name);
  CHECK(search.devices[1].description.architecture == "sm_90");
  CHECK(search.devices[1].description.toolkit.starts_with("13."));
  CHECK(search.devices[1].unit->operations().size() == cuda::instructions(90).size());
  CHECK(search.devices[1].elementwise->operations().size() == cuda::element_instructions(90).size());
  fake_cuda::machine() = {};
}

TEST_CASE("a device whose kernel faulted is not usable, one whose call failed is", "[gpu]") {
  fake_cuda::machine() = {};
  const DeviceSearch search = found();
  REQUIRE(search.devices.size() == 1);
  const Device& device = search.devices.front();

  CHECK(device.usable());
  fake_cuda::fail_device(cudaErrorIllegalAddress);
  CHECK_FALSE(device.usable());
  static_cast<void>(fake_cuda::report());
  CHECK(device.usable());
}

std::string only_remark() {
  const DeviceSearch search = found();
  CHECK(search.devices.empty());
  REQUIRE(search.remarks.size() == 1);
  return search.remarks.front();
}

TEST_CASE("why there is no GPU is said", "[gpu]") {
  fake_cuda::machine() = {};
  fake_cuda::machine().devices = 0;
  CHECK_THAT(only_remark(), ContainsSubstring("no GPU"));

  fake_cuda::machine().count_error = cudaErrorInsufficientDriver;
  CHECK_THAT(only_remark(), ContainsSubstring("driver") && ContainsSubstring("too old"));

  fake_cuda::machine() = {};
  fake_cuda::machine().capability = 61;
  CHECK_THAT(only_remark(), ContainsSubstring("sm_61, for which this plugin is not compiled (75-real,80-real"));

  fake_cuda::machine() = {};
  for (std::size_t n = 1; n <= 4; ++n) {
    CAPTURE(n);
    fake_cuda::fail_call(n);
    CHECK_THAT(only_remark(), ContainsSubstring("cudaErrorUnknown"));
  }
  fake_cuda::fail_call(0);
}

}  // namespace
std::size_t bytes(std::size_t rows, std::size_t columns, std::size_t of_each) { return rows * columns * of_each; }

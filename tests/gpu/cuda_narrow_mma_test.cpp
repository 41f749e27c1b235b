// SPDX-License-Identifier: Apache-2.0
// mma.sync of operands of 8 bits and less, with block scales and without, where the results are known without any engine: what
// is multiplied here is a power of two at one k, and its scales.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "gpu/cuda/instruction_set.hpp"
#include "gpu/cuda/unit.hpp"
#include "tests/gpu/fake_cuda/control.hpp"
#include "tests/gpu/fake_cuda/matrix_instructions.hpp"

namespace {

using namespace ulpscope;
using emu::Code;
using gpu::Operation;

/// Those with a word in their name.
std::vector<Operation> operations_with(const std::string& word) {
  std::vector<Operation> all;
  for (const gpu::cuda::Instruction& entry : gpu::cuda::instructions(120))
    if (entry.operation.instruction.find(word) != std::string::npos) all.push_back(entry.operation);
  return all;
}

/// Inner products of one instruction.
struct Problems {
  explicit Problems(const Operation& o, std::size_t count)
      : operation(o),
        blocks(o.scale_products == 0 ? 0 : o.products / o.scale_products),
        a(count * o.products),
        b(count * o.products),
        c(count),
        a_scales(count * blocks, one()),
        b_scales(count * blocks, one()) {}

  Code one() const { return emu::encode(operation.scale_format, 1.0); }
  std::vector<double> results() const {
    const gpu::cuda::CudaUnit unit("cuda:0", 0, gpu::cuda::instructions(120));
    fake_cuda::set_engine(operation.engine);
    std::vector<Code> d(c.size());
    unit.multiply(operation, {operation.products, a, b, c, a_scales, b_scales}, d);
    CHECK(fake_cuda::instruction_failure() == "");
    CHECK(fake_cuda::report() == "");
    std::vector<double> values;
    for (const Code code : d) values.push_back(emu::decode(operation.accumulator, code));
    return values;
  }

  Operation operation;
  std::size_t blocks;
  std::vector<Code> a, b, c, a_scales, b_scales;
};

/// The value of code 1 of a format: PTX ISA 9.0, "Alternate floating point data formats".
double least(emu::Format format) {
  if (format == emu::float8_e4m3fn) return 0x1p-9;
  if (format == emu::float8_e5m2) return 0x1p-16;
  if (format == emu::float6_e3m2fn) return 0x1p-4;
  if (format == emu::float6_e2m3fn) return 0x1p-3;
  return 0x1p-1;  // e2m1
}

TEST_CASE("the least subnormals of any two types multiply, at every k", "[gpu]") {
  const auto all = operations_with("kind::");
  CHECK(all.size() == 50 + 25 + 3);
  for (const Operation& o : all) {
    CAPTURE(o.instruction);
    Problems problems(o, o.products);
    for (std::size_t k = 0; k < o.products; ++k) problems.a[k * o.products + k] = problems.b[k * o.products + k] = 1;

    const double product = least(o.a) * least(o.b), in_f16 = product < 0x1p-24 ? 0 : product;
    const double expected = o.accumulator == emu::float16 ? in_f16 : product;
    CHECK(problems.results() == std::vector<double>(o.products, expected));
  }
}

TEST_CASE("each scale scales its own products, those of one row or column alone", "[gpu]") {
  for (const Operation& o : operations_with("block_scale")) {
    CAPTURE(o.instruction);
    const std::size_t count = 128;  // all rows and columns in turn
    Problems problems(o, count);
    std::vector<double> expected;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t k = i % o.products, block = k / o.scale_products;
      problems.a[i * o.products + k] = problems.b[i * o.products + k] = 1;
      for (std::size_t other = 0; other < problems.blocks; ++other) {
        const int up = other == block ? static_cast<int>(i % 7) - 3 : 6;
        problems.a_scales[i * problems.blocks + other] = emu::encode(o.scale_format, std::ldexp(1.0, up));
        problems.b_scales[i * problems.blocks + other] = emu::encode(o.scale_format, std::ldexp(1.0, up / 2));
      }
      const int up = static_cast<int>(i % 7) - 3;
      expected.push_back(std::ldexp(least(o.a) * least(o.b), up + up / 2));
    }

    CHECK(problems.results() == expected);
  }
}

TEST_CASE("a scale that is a NaN makes one, the ends of e8m0 cancel", "[gpu]") {
  for (const Operation& o : operations_with("block_scale")) {
    CAPTURE(o.instruction);
    const bool is_e8m0 = o.scale_format == emu::float8_e8m0fnu;
    Problems problems(o, 3);
    for (std::size_t i = 0; i < 3; ++i) problems.a[i * o.products] = problems.b[i * o.products] = 1;
    problems.a_scales[0] = is_e8m0 ? 0xff : 0x7f;
    problems.b_scales[problems.blocks + problems.blocks - 1] = is_e8m0 ? 0xff : 0x7f;
    if (is_e8m0) {
      problems.a_scales[2 * problems.blocks] = 0x00;  // 2^-127
      problems.b_scales[2 * problems.blocks] = 0xfe;  // 2^127
    }

    const std::vector<double> d = problems.results();
    CHECK(std::isnan(d[0]));
    CHECK(std::isnan(d[1]));
    CHECK(d[2] == least(o.a) * least(o.b));
  }
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// The fast kernel alone: ordinary numbers need no interpreter, and what is marked for it is what is unusual.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "gpu/cuda/aligned_product.hpp"
#include "tests/gpu/cuda_emulator_products.hpp"

namespace {

using namespace ulpscope;
using gpu::cuda::AlignedOperands, gpu::cuda::AlignedPlan, gpu::cuda::Buffer;
using testing::Code, testing::Numbers, testing::ProductProblem;

struct FastResults {
  std::vector<Code> d;
  std::vector<std::uint8_t> redo;
};

FastResults fast_results(const ProductProblem& problem) {
  const auto& [a, b, c] = problem.product.product;
  const AlignedPlan plan = *gpu::cuda::aligned_plan(problem.product.engine, a.format, b.format);
  const gpu::ProductParts parts = gpu::parts_of(problem.product);
  const emu::Format result = gpu::result_format(problem.product);
  const std::size_t m = a.rows, n = b.columns, k = a.columns, blocks = gpu::cuda::blocks_of(plan, parts);
  const Buffer<std::byte> left(a.codes), right(b.codes), addend(c.codes);
  AlignedOperands rows(plan, gpu::cuda::Side::rows, {a.format, left.data(), m, k, k, 1}, blocks);
  AlignedOperands columns(plan, gpu::cuda::Side::columns, {b.format, right.data(), n, k, 1, n}, blocks);
  Buffer<std::byte> d(m * n * gpu::bytes_per_code(result));
  Buffer<std::uint8_t> redo(m * n);
  redo.clear();
  rows.prepare();
  columns.prepare();
  gpu::cuda::start({plan, parts, rows.view(), columns.view(), addend.data(), d.data(), redo.data()});
  std::vector<std::byte> bytes(d.size());
  d.copy_to(bytes);
  FastResults results{{}, std::vector<std::uint8_t>(m * n)};
  redo.copy_to(results.redo);
  for (std::size_t i = 0; i < m * n; ++i) results.d.push_back(gpu::load_code(result, bytes.data(), i));
  return results;
}

}  // namespace

TEST_CASE("the fast kernel does ordinary numbers without the interpreter") {
  for (const auto& [engine, format, accumulator] :
       {std::tuple("sm_90", emu::float16, emu::float32), std::tuple("sm_90", emu::bfloat16, emu::float32),
        std::tuple("sm_80", emu::tf32, emu::float32), std::tuple("sm_90", emu::e4m3, emu::float32),
        std::tuple("sm_90/mma", emu::e4m3, emu::float16), std::tuple("sm_70", emu::float16, emu::float16),
        std::tuple("sm_100", emu::e2m1, emu::float32), std::tuple("sm_100", emu::e4m3, emu::float32),
        std::tuple("sm_100", emu::e5m2, emu::float32)})
    for (const Numbers numbers : {Numbers::normal, Numbers::wide}) {
      CAPTURE(engine, format.exponent_bits, format.fraction_bits, accumulator.exponent_bits, static_cast<int>(numbers));
      if (numbers == Numbers::wide && accumulator == emu::float16) continue;  // they overflow
      if (numbers == Numbers::wide && format == emu::e5m2) continue;          // some of C is below the lowest level
      const emu::Engine model = emu::find_engine(engine, {.a = format, .b = format, .accumulator = accumulator}).model;
      const ProductProblem problem = testing::product_problem(model, format, format, {67, 66, 96}, numbers, 3);
      const FastResults results = fast_results(problem);

      CHECK(std::count(results.redo.begin(), results.redo.end(), 1) == 0);
      CHECK(results.d == testing::cpu_results(problem));
    }
}

TEST_CASE("the fast kernel leaves rows and columns with a NaN or an infinity to the interpreter, and no others") {
  const emu::Engine model = emu::find_engine("sm_90", {.a = emu::float16, .b = emu::float16}).model;
  ProductProblem problem = testing::product_problem(model, emu::float16, emu::float16, {5, 70, 40}, Numbers::normal, 3);
  gpu::store_code(emu::float16, problem.a.data(), 2 * 40 + 39, 0x7c00);
  gpu::store_code(emu::float16, problem.b.data(), 7 * 70 + 66, 0xfe00);
  const FastResults results = fast_results(problem);
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t j = 0; j < 70; ++j) {
      CAPTURE(i, j);
      CHECK(results.redo[i * 70 + j] == (i == 2 || j == 66 ? 1 : 0));
    }
}

TEST_CASE("outputs some of whose products are cut come out of the fast kernel as others do") {
  const emu::Engine model = emu::find_engine("sm_100", {.a = emu::e5m2, .b = emu::e5m2}).model;
  ProductProblem problem = testing::product_problem(model, emu::e5m2, emu::e5m2, {9, 70, 64, false}, Numbers::normal, 3);
  // 2^15 * 2^15, and beside it 1.25 * 2^-14 times 1.75 or -1.75: far below the unit.
  for (std::size_t i = 0; i < 9; ++i) {
    gpu::store_code(emu::e5m2, problem.a.data(), i * 64 + 3, 0x78);
    gpu::store_code(emu::e5m2, problem.a.data(), i * 64 + 4, 0x05);
    problem.a_codes[i * 64 + 3] = 0x78;
    problem.a_codes[i * 64 + 4] = 0x05;
  }
  for (std::size_t j = 0; j < 70; j += 3) {
    gpu::store_code(emu::e5m2, problem.b.data(), std::size_t{3} * 70 + j, 0x78);
    gpu::store_code(emu::e5m2, problem.b.data(), std::size_t{4} * 70 + j, j % 2 == 0 ? 0x3f : 0xbf);
    problem.b_codes[std::size_t{3} * 70 + j] = 0x78;
    problem.b_codes[std::size_t{4} * 70 + j] = j % 2 == 0 ? 0x3f : 0xbf;
  }
  const FastResults results = fast_results(problem);

  CHECK(std::count(results.redo.begin(), results.redo.end(), 1) == 0);
  CHECK(results.d == testing::cpu_results(problem));
}

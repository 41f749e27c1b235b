// SPDX-License-Identifier: Apache-2.0
// The matrix kernels of gpu/cuda, run on the CPU over a stand-in for the instructions, beside the engines that they claim.
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "emu/engines.hpp"
#include "gpu/cuda/instruction_set.hpp"
#include "gpu/cuda/matrix_kernels.cuh"
#include "gpu/cuda/unit.hpp"
#include "tests/gpu/comparison.hpp"
#include "tests/gpu/fake_cuda/control.hpp"
#include "tests/gpu/fake_cuda/matrix_instructions.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::testing;
using gpu::Operation;

constexpr int capabilities[] = {75, 80, 86, 89, 90, 100, 120};

emu::Engine engine_of(const Operation& o) {
  return emu::parse_engine(o.engine, {o.a, o.b, o.accumulator, o.scales, o.scale_format});
}

/// A chain of instructions, each of which may be less than a step of the engine.
Code chain(const Operation& o, const emu::Engine& engine, std::span<const Code> a, std::span<const Code> b, Code c,
           const emu::BlockScales& scales = {}) {
  const std::size_t blocks = o.scale_products == 0 ? 0 : o.products / o.scale_products;
  for (std::size_t step = 0; step * o.products < a.size(); ++step) {
    const auto part = [&](std::span<const Code> codes, std::size_t each) { return codes.subspan(step * each, each); };
    c = emu::inner_product(engine, o.a, part(a, o.products), o.b, part(b, o.products), c,
                           {scales.format, part(scales.a, blocks), part(scales.b, blocks)});
  }
  return c;
}

std::vector<Code> chains(const Operation& o, const TestProblems& p) {
  const std::size_t blocks = gpu::TestShape(o, p.products).blocks();
  std::vector<Code> d;
  for (std::size_t i = 0; i < p.c.size(); ++i) {
    const auto part = [&](std::span<const Code> codes, std::size_t each) { return codes.subspan(i * each, each); };
    d.push_back(chain(o, engine_of(o), part(p.a, p.products), part(p.b, p.products), p.c[i],
                      {o.scale_format, part(p.a_scales, blocks), part(p.b_scales, blocks)}));
  }
  return d;
}

void check_inner_products(const gpu::Unit& unit, const Operation& o, std::size_t steps, std::size_t count) {
  CAPTURE(o.instruction, steps, count);
  const TestProblems problems = gpu::test_problems(gpu::TestShape(o, steps * o.products), 1, 0, count);
  fake_cuda::set_engine(o.engine);

  const Comparison result = compare(problems, run(unit, o, problems), chains(o, problems));

  CHECK(fake_cuda::instruction_failure() == "");
  CHECK(fake_cuda::report() == "");
  INFO(result.first);
  CHECK(result.mismatches == 0);
}

TEST_CASE("every instruction computes what its engine claims", "[gpu]") {
  for (const int capability : capabilities) {
    const gpu::cuda::CudaUnit unit("cuda:0", 0, gpu::cuda::instructions(capability));
    for (const Operation& o : unit.operations()) {
      CAPTURE(capability);
      check_inner_products(unit, o, 1, 21);
    }
  }
}

/// The instructions of an H100, and the tcgen05 of a B200.
std::vector<gpu::cuda::Instruction> hopper_and_tcgen05() {
  std::vector<gpu::cuda::Instruction> all = gpu::cuda::instructions(90);
  for (const gpu::cuda::Instruction& entry : gpu::cuda::instructions(100))
    if (entry.operation.instruction.starts_with("tcgen05")) all.push_back(entry);
  return all;
}

TEST_CASE("chains of instructions, over all of a tile", "[gpu][long]") {
  const gpu::cuda::CudaUnit unit("cuda:0", 0, hopper_and_tcgen05());
  for (const Operation& o : unit.operations()) check_inner_products(unit, o, 3, 70);
  const gpu::cuda::CudaUnit scaling("cuda:0", 0, gpu::cuda::instructions(120));
  for (const Operation& o : scaling.operations())
    if (o.scales != emu::EngineScales::none) check_inner_products(scaling, o, 3, 70);
}

/// A matrix of adversarial codes.
struct Stored {
  std::vector<std::byte> codes;
  gpu::ConstMatrix matrix;

  Stored(emu::Format format, std::size_t rows, std::size_t columns, const std::vector<Code>& from)
      : codes(rows * columns * gpu::bytes_per_code(format)), matrix{format, rows, columns, codes} {
    for (std::size_t i = 0; i < rows * columns; ++i) gpu::store_code(format, codes.data(), i, from[i % from.size()]);
  }
};

struct Sizes {
  std::size_t m, n, k;
};

void check_matrices(const gpu::Unit& unit, const Operation& o, const Sizes& size, bool has_c) {
  CAPTURE(o.instruction, size.m, size.n, size.k, has_c);
  const TestProblems p = gpu::test_problems(gpu::TestShape(o), 3, 0, 40);
  const Stored a(o.a, size.m, size.k, p.a), b(o.b, size.k, size.n, p.b), c(o.accumulator, size.m, size.n, p.c);
  const std::size_t bytes = gpu::bytes_per_code(o.accumulator), padded = (size.k + o.products - 1) / o.products * o.products;
  std::vector<std::byte> d(size.m * size.n * bytes);
  fake_cuda::set_engine(o.engine);

  unit.multiply_matrices(o, {a.matrix, b.matrix, has_c ? c.matrix : gpu::ConstMatrix{o.accumulator}}, d);

  CHECK(fake_cuda::instruction_failure() == "");
  CHECK(fake_cuda::report() == "");
  const emu::Engine engine = engine_of(o);
  std::size_t mismatches = 0;
  for (std::size_t i = 0; i < size.m; ++i)
    for (std::size_t j = 0; j < size.n; ++j) {
      std::vector<Code> row(padded), column(padded);
      for (std::size_t k = 0; k < size.k; ++k) {
        row[k] = a.matrix.at(i, k);
        column[k] = b.matrix.at(k, j);
      }
      const Code emulated = chain(o, engine, row, column, has_c ? c.matrix.at(i, j) : 0);
      mismatches += gpu::load_code(o.accumulator, d.data(), i * size.n + j) == emulated ? 0 : 1;
    }
  CHECK(mismatches == 0);
}

/// How often each place of a tile takes an inner product, over `tiles` tiles; each inner product must have one place.
template <class I>
std::map<std::pair<int, int>, int> places(std::size_t tiles) {
  gpu::cuda::DeviceInnerProducts problem;
  problem.count = tiles * gpu::cuda::square<I>;
  std::map<std::pair<int, int>, int> times;
  std::set<std::size_t> seen;
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    const gpu::cuda::SquareOfInnerProducts<I> square(problem, tile);
    for (int i = 0; i < I::m; ++i)
      for (int j = 0; j < I::n; ++j) {
        if (!square.has({i, j})) continue;
        ++times[{i, j}];
        CHECK(seen.insert(square.in_row(i)).second);
      }
  }
  CHECK(seen.size() == problem.count);
  return times;
}

template <class I>
void check_all_places() {
  const auto times = places<I>(static_cast<std::size_t>(I::m * I::n / gpu::cuda::square<I>));
  CHECK(times.size() == static_cast<std::size_t>(I::m * I::n));
  for (const auto& [place, count] : times) CHECK(count == 1);
}

TEST_CASE("inner products wander over all places of the hardware", "[gpu]") {
  check_all_places<gpu::cuda::MmaFragments<16, 16, 16, 32>>();
  check_all_places<gpu::cuda::QuadPairFragments<16>>();
  check_all_places<gpu::cuda::WgmmaFragments<16, 16, 32>>();
  check_all_places<gpu::cuda::Tcgen05Fragments<16, 16, 32>>();
  check_all_places<gpu::cuda::WmmaFragments<8, 32, 16, 16, 32>>();
}

TEST_CASE("whole products, with sizes that fill no tile", "[gpu]") {
  const gpu::cuda::CudaUnit unit("cuda:0", 0, hopper_and_tcgen05()), turing("cuda:0", 0, gpu::cuda::instructions(75));
  for (const Operation& o : unit.operations()) {
    if (o.scales != emu::EngineScales::none) continue;
    check_matrices(unit, o, {19, 11, o.products + 3}, true);
    check_matrices(unit, o, {1, 1, 1}, false);
    check_matrices(unit, o, {2, 3, 0}, true);
  }
  const gpu::cuda::CudaUnit narrow("cuda:0", 0, gpu::cuda::instructions(120));
  for (const Operation& o : narrow.operations())
    if (o.instruction.find("kind::f8f6f4") != std::string::npos) check_matrices(narrow, o, {19, 11, o.products + 3}, true);
  for (const Operation& o : turing.operations()) check_matrices(turing, o, {35, 9, 2 * o.products + 1}, true);
}

TEST_CASE("portions are one product", "[gpu]") {
  const gpu::cuda::CudaUnit unit("cuda:0", 0, gpu::cuda::instructions(90), 1024);
  const Operation o = unit.operations().front();

  check_matrices(unit, o, {37, 41, 29}, true);
  check_matrices(unit, o, {37, 41, 29}, false);
  check_matrices(unit, o, {0, 41, 29}, false);
  check_matrices(unit, o, {37, 0, 29}, false);
  check_inner_products(unit, o, 2, 83);
  check_inner_products(unit, o, 1, 0);
  const gpu::cuda::CudaUnit scaling("cuda:0", 0, gpu::cuda::instructions(120), 4096);
  for (const Operation& scaled : scaling.operations())
    if (scaled.scale_products == 16) check_inner_products(scaling, scaled, 2, 83);
}

}  // namespace

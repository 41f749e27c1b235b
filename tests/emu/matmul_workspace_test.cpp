// SPDX-License-Identifier: Apache-2.0
// Operands that are prepared once, and memory that products share: the bits of a product that has neither, and no allocation
// where all of it is there.
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <span>
#include <vector>

#include "emu/engine_matmul.hpp"
#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/products/plan.hpp"
#include "tests/emu/counted_allocations.hpp"
#include "tests/emu/engine_problems.hpp"

namespace {

using namespace ulpscope::test;

bool has_kernel(const EngineMatmul<float>& problem) { return detail::plan_of(problem).kernels.has_value(); }

std::size_t differing(const std::vector<float>& x, const std::vector<float>& y) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < x.size(); ++at) count += same(x[at], y[at]) ? 0 : 1;
  return count;
}

}  // namespace

TEST_CASE("operands prepared once, in memory used again, give the bits of those that are not") {
  Random random(11);
  MatmulWorkspace workspace;
  for (const EngineMode& mode : engine_modes()) {
    if (mode.model.accumulator == float64) continue;
    for (const Kind kind : {Kind::ordinary, Kind::any_code}) {
      const Problem p = problem_of(mode, kind, random);
      CAPTURE(mode.engine, format_name(p.a_format), format_name(p.b_format), static_cast<int>(kind), p.m, p.n, p.k);
      const EngineMatmul<float> plain = p.request();
      std::vector<float> expected(p.m * p.n), d(p.m * p.n);
      engine_matmul(plain, std::span(expected));

      const PreparedOperand a(plain, MatmulOperand::a), b(plain, MatmulOperand::b);
      for (const bool of_a : {false, true})
        for (const bool of_b : {false, true}) {
          EngineMatmul<float> prepared = plain;
          prepared.prepared_a = of_a ? &a : nullptr, prepared.prepared_b = of_b ? &b : nullptr;
          prepared.threads = of_a ? 2 : 1;
          std::fill(d.begin(), d.end(), -1.0F);
          engine_matmul(prepared, std::span(d), workspace);

          CAPTURE(of_a, of_b);
          CHECK(differing(d, expected) == 0);
        }
    }
  }
}

TEST_CASE("a prepared operand serves products that are cut in the same way, with other operands, c and results") {
  Random random(12);
  const Format format = float8_e4m3fn;
  const std::size_t m = 70, n = 130, k = 1200;
  const std::vector<float> b = random.matrix(format, Kind::ordinary, k * n);
  const std::vector<float> c = random.matrix(float32, Kind::ordinary, m * n);
  EngineMatmul<float> request{};
  request.engine = find_engine("sm_90", {format, format}).model;
  request.b = {format, b, {n, k}, true};
  request.promote = 128;
  std::vector<float> a = random.matrix(format, Kind::ordinary, m * k), expected(m * n), d(m * n);
  request.a = {format, a, {m, k}};
  const PreparedOperand prepared(request, MatmulOperand::b);
  MatmulWorkspace workspace;

  for (int turn = 0; turn < 3; ++turn) {
    a = random.matrix(format, turn == 1 ? Kind::any_code : Kind::ordinary, m * k);
    request.a = {format, a, {m, k}};
    request.c = turn == 2 ? std::span<const float>(c) : std::span<const float>();
    request.alpha = turn == 2 ? 0.3F : 1.0F;
    request.prepared_b = nullptr;
    engine_matmul(request, std::span(expected));
    request.prepared_b = &prepared;
    engine_matmul(request, std::span(d), workspace);

    CAPTURE(turn);
    CHECK(differing(d, expected) == 0);
  }

  EngineMatmul<float> other = request;
  const auto run = [&] { engine_matmul(other, std::span(d)); };
  CHECK_NOTHROW(run());
  SECTION("cut in another way") { other.promote = 256; }
  const std::vector<float> ones(n * k, 1.0F);
  SECTION("other numbers") { other.b.values = ones; }
  SECTION("the other operand") { other.prepared_a = &prepared; }
  SECTION("another engine") { other.engine = find_engine("sm_89", {format, format}).model, other.promote = 0; }
  CHECK_THROWS_AS(run(), ulpscope::Error);
}

TEST_CASE("a product like one before it allocates nothing, prepared or not") {
  Random random(13);
  std::size_t kernels = 0;
  for (const EngineMode& mode : engine_modes()) {
    if (mode.model.accumulator == float64) continue;
    const Problem p = problem_of(mode, Kind::ordinary, random);
    EngineMatmul<float> request = p.request();
    if (!has_kernel(request) || mode.model.stages[0].summing == Summing::exact) continue;
    ++kernels;
    request.threads = 1;
    const PreparedOperand b(request, MatmulOperand::b);
    MatmulWorkspace workspace;
    std::vector<float> d(p.m * p.n);
    for (const PreparedOperand* const prepared : {static_cast<const PreparedOperand*>(nullptr), &b}) {
      request.prepared_b = prepared;
      engine_matmul(request, std::span(d), workspace);
      const std::size_t before = allocations_so_far();

      engine_matmul(request, std::span(d), workspace);

      const std::size_t during = allocations_so_far() - before;
      CAPTURE(mode.engine, mode.instruction, prepared != nullptr);
      CHECK(during == 0);
    }
  }
  CHECK(kernels > 20);
}

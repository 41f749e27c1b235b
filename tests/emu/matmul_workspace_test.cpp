// SPDX-License-Identifier: Apache-2.0
// Memory that products share: the bits of a product that has none, and no allocation where all of it is there.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstddef>
#include <span>
#include <vector>

#include "emu/engine_matmul.hpp"
#include "emu/engines.hpp"
#include "emu/names.hpp"
#include "emu/products/plan.hpp"
#include "tests/emu/counted_allocations.hpp"
#include "tests/emu/engine_problems.hpp"

namespace {

using namespace ulpscope::test;

bool has_kernel(const EngineMatmul<float>& problem) { return detail::plan_of(problem).kernels.has_value(); }

}  // namespace

TEST_CASE("memory used again gives the bits of a product that has its own") {
  Random random(11);
  MatmulWorkspace workspace;
  for (const EngineMode& mode : engine_modes()) {
    if (mode.model.accumulator == float64) continue;
    for (const Kind kind : {Kind::ordinary, Kind::any_code}) {
      const Problem p = problem_of(mode, kind, random);
      CAPTURE(mode.engine, format_name(p.a_format), format_name(p.b_format), static_cast<int>(kind), p.m, p.n, p.k);
      EngineMatmul<float> request = p.request();
      std::vector<float> expected(p.m * p.n), d(p.m * p.n, -1.0F);
      engine_matmul(request, std::span(expected));

      request.threads = kind == Kind::ordinary ? 1 : 2;
      engine_matmul(request, std::span(d), workspace);

      CHECK(differing(d, expected) == 0);
    }
  }
}

TEST_CASE("memory used by products of other kinds gives the bits of a product that has its own") {
  Random random(14);
  const Kind kind = GENERATE(Kind::ordinary, Kind::tiny);
  const std::size_t m = 20, n = 30;
  const std::vector<float> large_a = random.matrix(bfloat16, Kind::huge, m * 64),
                           large_b = random.matrix(bfloat16, Kind::huge, 64 * n);
  EngineMatmul<float> large{.engine = find_engine("sm_90", {bfloat16, bfloat16}).model,
                            .a = {bfloat16, large_a, {m, 64}},
                            .b = {bfloat16, large_b, {64, n}},
                            .threads = 1};
  const Format format = float8_e4m3fn;
  const std::vector<float> a = random.matrix(format, kind, m * 200), b = random.matrix(format, kind, 200 * n);
  const std::vector<float> scales = random.matrix(float32, Kind::ordinary, m * 2);
  EngineMatmul<float> small = large;
  small.engine = find_engine("sm_90", {format, format}).model;
  std::vector<EngineMatmul<float>> turns;
  // The last step is not full: it has what the large numbers have left behind it, beside which tiny ones would be nothing.
  for (const std::size_t promote : {std::size_t{0}, std::size_t{64}, std::size_t{32}})
    for (const std::size_t split : {std::size_t{1}, std::size_t{2}})
      for (const bool scaled : {false, true})
        for (const std::size_t k : {std::size_t{200}, std::size_t{40}}) {
          small.a = {format, std::span(a).first(m * k), {m, k}}, small.b = {format, std::span(b).first(k * n), {k, n}};
          small.promote = promote, small.split_k = split;
          small.scale_a = scaled ? ScaleGrid{float32, scales, m, 2} : ScaleGrid{};
          turns.push_back(large), turns.push_back(small);
        }
  MatmulWorkspace workspace;
  for (std::size_t turn = 0; turn < turns.size(); ++turn) {
    std::vector<float> expected(m * n), d(m * n, -1.0F);
    engine_matmul(turns[turn], std::span(expected));
    engine_matmul(turns[turn], std::span(d), workspace);

    CAPTURE(turn);
    CHECK(differing(d, expected) == 0);
  }
}

TEST_CASE("a product like one before it allocates nothing") {
  Random random(13);
  std::size_t kernels = 0;
  for (const EngineMode& mode : engine_modes()) {
    if (mode.model.accumulator == float64) continue;
    const Problem p = problem_of(mode, Kind::ordinary, random);
    EngineMatmul<float> request = p.request();
    if (!has_kernel(request) || mode.model.stages[0].summing == Summing::exact) continue;
    ++kernels;
    request.threads = 1;
    MatmulWorkspace workspace;
    std::vector<float> d(p.m * p.n);
    engine_matmul(request, std::span(d), workspace);
    const std::size_t before = allocations_so_far();

    engine_matmul(request, std::span(d), workspace);

    const std::size_t during = allocations_so_far() - before;
    CAPTURE(mode.engine, mode.instruction);
    CHECK(during == 0);
  }
  CHECK(kernels > 20);
}

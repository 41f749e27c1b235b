// SPDX-License-Identifier: Apache-2.0
// What tests ask of a unit of this processor and its engine: the same bits for adversarial operands and for literal ones, and
// other bits where the engine is a wrong one.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/gpu/comparison.hpp"

namespace ulpscope::testing {

using gpu::test_problems;
using gpu::TestShape;

inline constexpr std::uint64_t units_seed = 20240601;

/// Adversarial inner products of one instruction, and in every fourth portion of three in a chain.
inline void check_same_bits(const Subject& s, std::size_t count) {
  constexpr std::size_t portion = 10000;
  std::size_t mismatches = 0;
  for (std::size_t done = 0; done < count; done += portion) {
    const std::size_t instructions = done / portion % 4 == 0 ? 3 : 1;
    const TestProblems problems =
        test_problems(TestShape(s.operation, instructions * s.operation.products), units_seed, done, portion);
    const auto found = compare(problems, run(*s.unit, s.operation, problems), emulate(s.engine, s.operation, problems));
    if (mismatches == 0 && found.mismatches > 0) UNSCOPED_INFO("seed " << units_seed << ": " << found.first);
    mismatches += found.mismatches;
  }

  CHECK(mismatches == 0);
}

struct Literal {
  std::string what;
  std::vector<Code> a, b;  ///< the first products of the instruction; the others are +0
  Code c, d;
};

inline void check_literals(const Subject& s, const std::vector<Literal>& literals) {
  for (const Literal& literal : literals) {
    CAPTURE(literal.what);
    TestProblems problem{s.operation.products, literal.a, literal.b, {literal.c}, {}, {}};
    problem.a.resize(problem.products);
    problem.b.resize(problem.products);

    CHECK(run(*s.unit, s.operation, problem).front() == literal.d);
    CHECK(emulate(s.engine, s.operation, problem).front() == literal.d);
  }
}

struct Mutant {
  std::string what;
  std::function<void(emu::Engine&)> mutate;
};

/// One rounding of every product before all else. No mutant where the accumulator holds all products.
inline void round_products(emu::Engine& engine) {
  for (int i = engine.stage_count; i > 0; --i)
    engine.stages[static_cast<std::size_t>(i)] = engine.stages[static_cast<std::size_t>(i - 1)];
  engine.stages[0] = {};
  engine.stages[0].summing = emu::Summing::sequential;
  engine.stages[0].terms = 1;
  engine.stages[1].terms = engine.products / (engine.stage_count == 2 ? 2 : 1);
  ++engine.stage_count;
}

inline const Mutant unfused{"unfused products", round_products};

inline const std::vector<Mutant> mutants_of_all{
    {"NaN results the other way",
     [](emu::Engine& e) {
       const bool canonical = e.nan_result == emu::NanResult::canonical;
       e.nan_result = canonical ? emu::NanResult::operand : emu::NanResult::canonical;
     }},
    {"new NaNs of the other sign", [](emu::Engine& e) { e.nan_code ^= e.accumulator.sign_mask(); }},
    {"subnormal inputs the other way", [](emu::Engine& e) { e.subnormal_inputs_are_zero = !e.subnormal_inputs_are_zero; }},
    {"subnormal results the other way", [](emu::Engine& e) { e.subnormal_results_are_zero = !e.subnormal_results_are_zero; }},
    {"ties away", [](emu::Engine& e) { e.stages[0].rounding = emu::Rounding::nearest_away; }},
};

inline void check_mutants_are_seen(const Subject& s, const std::vector<Mutant>& own) {
  const TestProblems problems = test_problems(TestShape(s.operation, s.operation.products), units_seed, 0, 20000);
  const auto real = run(*s.unit, s.operation, problems);
  for (const auto* mutants : {&mutants_of_all, &own}) {
    for (const Mutant& mutant : *mutants) {
      CAPTURE(mutant.what);
      emu::Engine engine = s.engine;
      mutant.mutate(engine);

      CHECK(compare(problems, real, emulate(engine, s.operation, problems)).mismatches > 0);
    }
  }
}

}  // namespace ulpscope::testing

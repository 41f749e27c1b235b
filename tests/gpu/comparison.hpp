// SPDX-License-Identifier: Apache-2.0
// A unit of this processor beside the emulated engine that claims to compute the same.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emu/engine_step.hpp"
#include "emu/engines.hpp"
#include "gpu/adversarial.hpp"
#include "gpu/cpu/cpu_units.hpp"

namespace ulpscope::testing {

using emu::Code;
using gpu::TestProblems;

struct Subject {
  std::unique_ptr<gpu::Unit> unit;
  gpu::Operation operation;
  emu::Engine engine;
};

/// The instruction and its engine; the test is skipped where the processor lacks it.
inline Subject subject(std::string_view unit_name, std::string_view instruction) {
  Subject subject;
  for (auto& unit : gpu::cpu_units()) {
    if (unit->name() != unit_name) continue;
    for (const gpu::Operation& o : unit->operations())
      if (o.instruction == instruction) subject = {nullptr, o, emu::find_engine(o.engine, {o.a, o.b, o.accumulator}).model};
    subject.unit = std::move(unit);
  }
  if (subject.unit == nullptr) SKIP("no " << unit_name << " here");
  return subject;
}

inline std::vector<Code> run(const gpu::Unit& unit, const gpu::Operation& operation, const TestProblems& problems) {
  std::vector<Code> d(problems.c.size());
  unit.multiply(operation, problems.view(), d);
  return d;
}

inline std::vector<Code> emulate(const emu::Engine& engine, const gpu::Operation& o, const TestProblems& p) {
  std::vector<Code> d;
  for (std::size_t i = 0; i < p.c.size(); ++i) {
    const std::span a(p.a.data() + i * p.products, p.products), b(p.b.data() + i * p.products, p.products);
    d.push_back(emu::inner_product(engine, o.a, a, o.b, b, p.c[i]));
  }
  return d;
}

struct Comparison {
  std::size_t mismatches = 0;
  std::string first = {};  ///< operands and results, in hexadecimal
};

inline Comparison compare(const TestProblems& p, const std::vector<Code>& real, const std::vector<Code>& emulated) {
  Comparison comparison;
  for (std::size_t i = 0; i < real.size(); ++i) {
    if (real[i] == emulated[i] || ++comparison.mismatches > 1) continue;
    std::ostringstream words;
    words << std::hex << "c " << p.c[i] << " real " << real[i] << " emulated " << emulated[i] << " products";
    for (std::size_t k = i * p.products; k < (i + 1) * p.products; ++k) words << ' ' << p.a[k] << '*' << p.b[k];
    comparison.first = words.str();
  }
  return comparison;
}

}  // namespace ulpscope::testing

// SPDX-License-Identifier: Apache-2.0
// Emulated units with one operation, to be probed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emu/engine.hpp"
#include "gpu/emulated/emulated_unit.hpp"
#include "studies/probe/probe.hpp"
#include "studies/probe/probe_bench.hpp"
#include "studies/probe/probe_cases.hpp"

namespace ulpscope::test {

struct Subject {
  emu::Format a, b;
  emu::Engine engine;
  emu::Format scale_format = emu::float8_e8m0fnu;
};

inline gpu::Operation operation_of(const Subject& subject) {
  gpu::Operation operation;
  operation.instruction = "subject";
  operation.a = subject.a;
  operation.b = subject.b;
  operation.accumulator = subject.engine.accumulator;
  operation.products = 64;
  operation.scales = subject.engine.scales;
  operation.scale_format = subject.scale_format;
  operation.scale_products = static_cast<std::size_t>(subject.engine.scale_products);
  return operation;
}

inline studies::ProbeReport report_of(const Subject& subject, std::uint64_t seed = 0) {
  const gpu::EmulatedUnit unit("subject", {{operation_of(subject), subject.engine}});
  return studies::probe(unit, operation_of(subject), {.seed = seed});
}

/// Inner products, of a seed that no probe uses, on which the two engines differ.
inline std::size_t differences(const Subject& subject, const emu::Engine& other) {
  const gpu::EmulatedUnit unit("subject", {{operation_of(subject), subject.engine}});
  const studies::ProbeBench bench(unit, operation_of(subject), 128);
  studies::ProbeCases cases(bench, 0x5eed);
  cases.set_distances({24, 25, subject.engine.stages[0].fraction_bits});
  std::size_t count = 0;
  for (int i = 0; i < 1500; ++i) {
    const auto range = static_cast<studies::ProbeRange>(i % 4);
    const auto probe = cases.among(i % 3 == 0 ? 128 : 16, range);
    if (!bench.same(bench.answer(probe), bench.emulated(other, probe))) ++count;
  }
  return count;
}

emu::Engine with(emu::Engine engine, auto change) {
  change(engine);
  return engine;
}

}  // namespace ulpscope::test

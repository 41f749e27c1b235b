// SPDX-License-Identifier: Apache-2.0
// What a probe asks of the CUDA runtime, counted: two copies and a launch for each call of the unit, and memory that is kept.
#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "gpu/cuda/elementwise.hpp"
#include "gpu/cuda/instruction_set.hpp"
#include "gpu/cuda/unit.hpp"
#include "studies/probe/probe_table.hpp"
#include "tests/gpu/fake_cuda/control.hpp"
#include "tests/gpu/fake_cuda/matrix_instructions.hpp"

namespace {

using namespace ulpscope;

/// Counts how often a unit is asked, and has a clock that ticks each time.
class CountedUnit final : public gpu::Unit {
 public:
  explicit CountedUnit(const gpu::Unit& unit) : unit_(unit) {}
  std::string name() const override { return unit_.name(); }
  std::vector<gpu::Operation> operations() const override { return unit_.operations(); }
  void multiply(const gpu::Operation& operation, const gpu::InnerProducts& problem, std::span<emu::Code> d) const override {
    ++calls;
    unit_.multiply(operation, problem, d);
  }
  mutable std::atomic<std::size_t> calls = 0;

 private:
  const gpu::Unit& unit_;
};

struct Counts {
  std::size_t allocations = fake_cuda::allocations(), copies = fake_cuda::copies(), launches = fake_cuda::launches();
};

gpu::Operation operation_named(const gpu::Unit& unit, const std::string& instruction) {
  const auto all = unit.operations();
  return *std::find_if(all.begin(), all.end(), [&](const gpu::Operation& o) { return o.instruction == instruction; });
}

const char* const instruction = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";

TEST_CASE("a probe copies twice and launches once a call, and allocates a few times in all", "[gpu][long]") {
  const gpu::cuda::CudaUnit unit("cuda:0", 0, gpu::cuda::instructions(90));
  const CountedUnit counted(unit);
  const std::vector operations{operation_named(unit, instruction)};
  fake_cuda::set_engine(operations.front().engine);
  const Counts before;

  const auto table = studies::probe_table(counted, operations, 0, studies::ProbeModel::without);
  const Counts after;

  REQUIRE(counted.calls > 1000);
  CHECK(table.rows.size() > 10);
  CHECK(after.copies - before.copies == 2 * counted.calls);
  CHECK(after.launches - before.launches == counted.calls);
  CHECK(after.allocations - before.allocations < 30);
}

TEST_CASE("a probe ends when its time is up", "[gpu]") {
  const gpu::cuda::CudaUnit unit("cuda:0", 0, gpu::cuda::instructions(90));
  const CountedUnit counted(unit);
  const std::vector operations{operation_named(unit, instruction), operation_named(unit, instruction)};
  fake_cuda::set_engine(operations.front().engine);
  constexpr std::size_t most_calls = 50;
  studies::ProbeWork work;
  work.deadline = studies::Deadline([&] { return counted.calls >= most_calls; });

  const auto table = studies::probe_table(counted, operations, 0, studies::ProbeModel::without, {}, work);

  CHECK(counted.calls <= most_calls + operations.size());
  REQUIRE(table.rows.size() == 2);
  for (const auto& row : table.rows) {
    CHECK(row[5] == reports::Cell("not checked"));
    CHECK(row[6] == reports::Cell("time ran out"));
  }
}

TEST_CASE("element operations copy twice and launch once, and keep their memory", "[gpu]") {
  const gpu::cuda::CudaElementwise device("cuda:0", 0, gpu::cuda::element_instructions(90));
  const auto operation = device.operations().front();
  const std::vector<emu::Code> a(300, 0x3f800000);
  std::vector<emu::Code> d(300);
  device.apply(operation, {a}, d);
  const Counts before;

  device.apply(operation, {a}, d);
  const Counts after;

  CHECK(after.allocations == before.allocations);
  CHECK(after.copies - before.copies == 2);
  CHECK(after.launches - before.launches == 1);
}

}  // namespace

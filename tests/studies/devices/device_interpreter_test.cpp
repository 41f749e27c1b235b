// SPDX-License-Identifier: Apache-2.0
// The emulator of a device beside the one here: its interpreter, and whole products.
#include "studies/devices/device_interpreter.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <vector>

#include "emu/engine_step.hpp"
#include "gpu/emulated/emulated_device.hpp"
#include "gpu/emulated/emulated_unit.hpp"
#include "studies/devices/device_emulation.hpp"
#include "tests/studies/devices/fake_device.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::testing;

/// A device's emulator that is the one here, wrong in one bit of the last answer where it is told so.
class Emulator final : public gpu::DeviceEmulator {
 public:
  enum class Wrong : std::uint8_t { nothing, inner_products, products };
  explicit Emulator(Wrong wrong) : wrong_(wrong) {}

  gpu::Tally check(const gpu::Operation&, const emu::Engine&, const gpu::TestRange&) const override { return {}; }
  gpu::Tally sweep(const gpu::ElementOperation&, const gpu::TestRange&) const override { return {}; }
  void inner_products(const emu::Engine& engine, const gpu::Operation& o, const gpu::InnerProducts& problem,
                      std::span<Code> d) const override {
    gpu::EmulatedUnit("here", {{o, engine}}).multiply(o, problem, d);
    if (wrong_ == Wrong::inner_products) d.back() ^= 1;
  }
  void multiply(const gpu::EmulatedProduct& product, std::span<std::byte> d) const override {
    gpu::Operation o = half_operation("here", "");
    o.a = product.product.a.format;
    o.b = product.product.b.format;
    o.accumulator = product.engine.accumulator;
    gpu::EmulatedUnit("here", {{o, product.engine}}).multiply_matrices(o, product.product, d);
    if (wrong_ == Wrong::products) d.back() ^= std::byte{1};
  }
  double last_seconds() const override { return 0; }

 private:
  Wrong wrong_;
};

std::vector<studies::DeviceRow> rows_with(Emulator::Wrong wrong) {
  gpu::Device device = gpu::emulated_device("sm_90");
  device.emulator = std::make_shared<Emulator>(wrong);
  return studies::check_interpreter(device, {.tests = 10, .instruction = "wgmma.f32.f16.f16"});
}

}  // namespace

TEST_CASE("the emulator of a device holds what the one here says, and a wrong bit is seen") {
  using Wrong = Emulator::Wrong;
  const auto right = rows_with(Wrong::nothing);

  REQUIRE(right.size() == 2);
  CHECK(right[0].tests == 10);
  CHECK(right[1].tests == 64);
  CHECK(std::ranges::all_of(right, &studies::DeviceRow::holds));
  CHECK(rows_with(Wrong::inner_products)[0].mismatches == 1);
  CHECK(rows_with(Wrong::products)[1].mismatches == 1);
  CHECK(studies::check_interpreter(gpu::emulated_device("sm_90"), {}).empty());
}

TEST_CASE("products of a device's emulator are timed, and compared where chance picks") {
  using Wrong = Emulator::Wrong;
  const auto table_with = [](Wrong wrong) {
    gpu::Device device = gpu::emulated_device("sm_90");
    device.emulator = std::make_shared<Emulator>(wrong);
    return studies::device_emulation(device, {.shapes = {{3, 5, 64}}, .outputs = 100, .instruction = "sm_90"});
  };
  const auto column = [](const reports::Table& table, const char* name) {
    std::vector<std::int64_t> numbers;
    for (const auto& row : table.rows) numbers.push_back(std::get<std::int64_t>(row[table.column(name)]));
    return numbers;
  };
  const reports::Table right = table_with(Wrong::nothing), wrong = table_with(Wrong::products);

  REQUIRE(right.rows.size() == 13);  // modes and formats of sm_90 and sm_90/mma
  CHECK(column(right, "outputs") == std::vector<std::int64_t>(13, 100));
  CHECK(column(right, "mismatches") == std::vector<std::int64_t>(13, 0));
  CHECK(std::ranges::all_of(column(wrong, "mismatches"), [](std::int64_t count) { return count > 0; }));
}

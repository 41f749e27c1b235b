// SPDX-License-Identifier: Apache-2.0
// The interpreter of a device beside the one here.
#include "studies/devices/device_interpreter.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <vector>

#include "emu/engine_step.hpp"
#include "gpu/emulated/emulated_device.hpp"
#include "gpu/emulated/emulated_unit.hpp"
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

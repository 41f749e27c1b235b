// SPDX-License-Identifier: Apache-2.0
// Devices that are wrong in known ways.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "emu/engine_step.hpp"
#include "emu/engines.hpp"
#include "gpu/adversarial.hpp"
#include "gpu/device.hpp"
#include "gpu/element_model.hpp"
#include "gpu/emulated/emulated_unit.hpp"

namespace ulpscope::testing {

using emu::Code;

inline gpu::Operation half_operation(std::string instruction, std::string engine) {
  return {.instruction = std::move(instruction),
          .a = emu::float16,
          .b = emu::float16,
          .accumulator = emu::float32,
          .products = 16,
          .engine = std::move(engine)};
}

/// Computes on the engine sm_90, and changes the result.
class FakeUnit final : public gpu::Unit {
 public:
  using Change = std::function<void(const gpu::Operation&, const gpu::InnerProducts&, std::span<Code>)>;

  FakeUnit(std::vector<gpu::Operation> operations, Change change)
      : operations_(std::move(operations)), change_(std::move(change)) {}

  std::string name() const override { return "fake"; }
  std::vector<gpu::Operation> operations() const override { return operations_; }
  void multiply(const gpu::Operation& o, const gpu::InnerProducts& p, std::span<Code> d) const override {
    const emu::Engine engine = emu::find_engine("sm_90", {o.a, o.b, o.accumulator}).model;
    const std::size_t k = p.products;
    for (std::size_t i = 0; i < d.size(); ++i)
      d[i] = emu::inner_product(engine, o.a, p.a.subspan(i * k, k), o.b, p.b.subspan(i * k, k), p.c[i]);
    if (change_) change_(o, p, d);
  }

 private:
  std::vector<gpu::Operation> operations_;
  Change change_;
};

/// Rounds as the model says, and changes the result.
class FakeElements final : public gpu::Elementwise {
 public:
  using Change = std::function<void(const gpu::ElementOperation&, const gpu::ElementOperands&, std::span<Code>)>;

  FakeElements(std::vector<gpu::ElementOperation> operations, Change change)
      : operations_(std::move(operations)), change_(std::move(change)) {}

  std::vector<gpu::ElementOperation> operations() const override { return operations_; }
  void apply(const gpu::ElementOperation& o, const gpu::ElementOperands& x, std::span<Code> d) const override {
    for (std::size_t i = 0; i < d.size(); ++i)
      d[i] = gpu::element_result(o.model, x.a[i], x.b.empty() ? 0 : x.b[i], x.c.empty() ? 0 : x.c[i]);
    if (change_) change_(o, x, d);
  }

 private:
  std::vector<gpu::ElementOperation> operations_;
  Change change_;
};

/// Counts as told, and notes what it was asked for.
class FakeEmulator final : public gpu::DeviceEmulator {
 public:
  using Count = std::function<gpu::Tally(const gpu::TestRange&)>;

  explicit FakeEmulator(Count count) : count_(std::move(count)) {}

  gpu::Tally check(const gpu::Operation&, const emu::Engine&, const gpu::TestRange& tests) const override {
    asked.push_back(tests);
    return count_(tests);
  }
  gpu::Tally sweep(const gpu::ElementOperation&, const gpu::TestRange& tests) const override {
    asked.push_back(tests);
    return count_(tests);
  }
  void inner_products(const emu::Engine&, const gpu::Operation&, const gpu::InnerProducts&, std::span<Code>) const override {}
  void multiply(const gpu::EmulatedProduct&, std::span<std::byte>) const override {}
  double last_seconds() const override { return 0; }

  mutable std::vector<gpu::TestRange> asked;

 private:
  Count count_;
};

inline gpu::Device device_with(std::shared_ptr<const gpu::Unit> unit) {
  gpu::Device device;
  device.description.id = "fake:0";
  device.unit = std::move(unit);
  return device;
}
inline gpu::Device fake_device(FakeUnit::Change change,
                               std::vector<gpu::Operation> operations = {half_operation("mma", "sm_90")}) {
  return device_with(std::make_shared<FakeUnit>(std::move(operations), std::move(change)));
}
inline gpu::Device fake_device(std::vector<gpu::ElementOperation> operations, FakeElements::Change change) {
  gpu::Device device = device_with(nullptr);
  device.elementwise = std::make_shared<FakeElements>(std::move(operations), std::move(change));
  return device;
}

inline gpu::ElementOperation conversion(emu::Format from, emu::Format to) {
  return {"cvt", {.kind = gpu::ElementKind::convert, .from = from, .to = to}};
}

}  // namespace ulpscope::testing

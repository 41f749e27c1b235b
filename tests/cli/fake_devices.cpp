// SPDX-License-Identifier: Apache-2.0
// A plugin of devices for devices_test.py: one GPU with an instruction that is what it claims, one that is not, one that fails
// and one that claims nothing; and a remark about another GPU.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "emu/engines.hpp"
#include "gpu/emulated/emulated_unit.hpp"
#include "gpu/plugin.hpp"

namespace {

using namespace ulpscope;

class FakeGpu final : public gpu::Unit {
 public:
  explicit FakeGpu(std::vector<gpu::EmulatedUnit::Entry> entries) : unit_("cuda:0", std::move(entries)) {}

  std::string name() const override { return unit_.name(); }
  std::vector<gpu::Operation> operations() const override { return unit_.operations(); }
  void multiply(const gpu::Operation& operation, const gpu::InnerProducts& problem, std::span<emu::Code> d) const override {
    if (operation.instruction == "broken") throw Error("launch of broken: cudaErrorIllegalInstruction");
    unit_.multiply(operation, problem, d);
  }

 private:
  gpu::EmulatedUnit unit_;
};

gpu::EmulatedUnit::Entry entry(std::string instruction, std::string_view engine, std::string claimed) {
  return {{.instruction = std::move(instruction),
           .a = emu::float16,
           .b = emu::float16,
           .accumulator = emu::float32,
           .products = 16,
           .engine = std::move(claimed)},
          emu::find_engine(engine, {emu::float16, emu::float16}).model};
}

/// Its instruction "fatal" takes the context with it: every later call of the process fails.
class FragileGpu final : public gpu::Unit {
 public:
  explicit FragileGpu(std::vector<gpu::EmulatedUnit::Entry> entries) : unit_("cuda:1", std::move(entries)) {}

  std::string name() const override { return unit_.name(); }
  std::vector<gpu::Operation> operations() const override { return unit_.operations(); }
  void multiply(const gpu::Operation& operation, const gpu::InnerProducts& problem, std::span<emu::Code> d) const override {
    if (operation.instruction == "crash") std::abort();
    if (operation.instruction == "fatal") lost = true;
    if (lost) throw Error(operation.instruction + ": cudaErrorIllegalAddress (as told)");
    unit_.multiply(operation, problem, d);
  }
  static inline std::atomic<bool> lost = false;

 private:
  gpu::EmulatedUnit unit_;
};

/// Only where a test asks for it.
void add_fragile_device(gpu::DeviceSearch& search) {
  if (std::getenv("FAKE_DEVICES_FRAGILE") == nullptr) return;
  gpu::Device device;
  device.description = {"cuda:1", "Fragile GPU", "sm_90", "1.2", "3.4"};
  std::vector<gpu::EmulatedUnit::Entry> entries;
  for (const char* const name : {"first", "fatal", "second", "crash", "third"})
    entries.push_back(entry(name, "sm_90", "sm_90"));
  device.unit = std::make_shared<FragileGpu>(std::move(entries));
  device.usable = [] { return !FragileGpu::lost; };
  device.libraries = []() -> std::vector<std::shared_ptr<const gpu::Library>> {
    throw gpu::NoDevice("ulpscope_cublas cannot be opened: libcublas.so.13: cannot open shared object file");
  };
  search.devices.push_back(std::move(device));
}

}  // namespace

ULPSCOPE_EXPORT_PLUGIN_BUILD;
extern "C" void ulpscope_cuda_devices(gpu::DeviceSearch& search);

void ulpscope_cuda_devices(gpu::DeviceSearch& search) {
  gpu::Device device;
  device.description = {"cuda:0", "Fake GPU", "sm_90", "1.2", "3.4"};
  device.unit = std::make_shared<FakeGpu>(std::vector{entry("right", "sm_90", "sm_90"), entry("wrong", "sm_80", "sm_90"),
                                                      entry("broken", "sm_90", "sm_90"), entry("unclaimed", "sm_90", "")});
  search.devices.push_back(std::move(device));
  add_fragile_device(search);
  search.remarks.push_back("cuda: GPU 1 is no fake");
}

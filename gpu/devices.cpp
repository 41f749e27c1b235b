// SPDX-License-Identifier: Apache-2.0
// Looks for devices of each kind, and opens one by its id.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "gpu/cpu/arm_features.hpp"
#include "gpu/cpu/cpu_elements.hpp"
#include "gpu/cpu/cpu_units.hpp"
#include "gpu/cpu/element_models.hpp"
#include "gpu/device.hpp"
#include "gpu/emulated/emulated_device.hpp"
#include "gpu/plugin.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ulpscope::gpu {
namespace {

constexpr std::array cpu_ids{"cpu:amx_bf16", "cpu:avx512_bf16", "cpu:avx512_fp16", "cpu:avx512f", "cpu:f16c",
                             "cpu:sse2",     "cpu:arm_bf16",    "cpu:arm_fp16",    "cpu:arm_sme", "cpu:neon"};
constexpr std::string_view emulated = "emulated:";

#if defined(__x86_64__)
constexpr const char* processor_architecture = "x86-64";
#elif defined(__aarch64__)
constexpr const char* processor_architecture = "aarch64";
#else
constexpr const char* processor_architecture = "";
#endif

/// The brand string of the processor (Intel SDM volume 2, CPUID, leaves 80000002H to 80000004H). Arm's have none: what MIDR_EL1
/// identifies them by, the implementer and the part in hexadecimal, variant and revision as Arm writes them (DDI 0487,
/// MIDR_EL1).
std::string processor_name() {
  std::string name;
#if defined(__x86_64__)
  for (unsigned leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
    std::array<unsigned, 4> words{};
    if (__get_cpuid(leaf, &words[0], &words[1], &words[2], &words[3]) == 0) return "";
    name.append(reinterpret_cast<const char*>(words.data()), sizeof words);
  }
  name.erase(std::min(name.find('\0'), name.size()));
  name.erase(0, std::min(name.find_first_not_of(' '), name.size()));
#elif defined(__aarch64__) && defined(__linux__)
  if (!detail::has_arm_identification()) return "";
  std::uint64_t midr = 0;
  __asm__("mrs %0, midr_el1" : "=r"(midr));
  const auto field = [&](int low, int bits) { return static_cast<unsigned>(midr >> low & ((1u << bits) - 1)); };
  std::array<char, 64> words{};
  std::snprintf(words.data(), words.size(), "implementer %02x, part %03x, r%up%u", field(24, 8), field(4, 12), field(20, 4),
                field(0, 4));
  name = words.data();
#endif
  return name;
}

Device& device_of(std::vector<Device>& devices, const std::string& id) {
  for (Device& device : devices)
    if (device.description.id == id) return device;
  Device& device = devices.emplace_back();
  device.description = {id, processor_name(), processor_architecture, "", ""};
  return device;
}

DeviceSearch cpu_devices() {
  DeviceSearch search;
  for (auto& unit : cpu_units()) {
    const std::string id = unit->name();
    device_of(search.devices, id).unit = std::move(unit);
  }
  for (CpuElements& elements : cpu_elements())
    device_of(search.devices, elements.device).elementwise = std::move(elements.elementwise);
  for (const char* const id : cpu_ids) {
    const auto has_id = [&](const Device& device) { return device.description.id == id; };
    if (std::none_of(search.devices.begin(), search.devices.end(), has_id))
      search.remarks.push_back(std::string(id) + ": this processor, or its kernel, does not offer it");
  }
  return search;
}

DeviceSearch cuda_devices() try {
  DeviceSearch search;
  reinterpret_cast<DevicesOfPlugin>(plugin_symbol(devices_plugin, devices_symbol))(search);
  return search;
} catch (const Error& error) {
  return {{}, {std::string("cuda: ") + error.what()}};
}

std::string listed(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ", ") + word;
  return list;
}

[[noreturn]] void refuse(std::string_view id, const DeviceSearch& search) {
  std::vector<std::string> ids;
  for (const Device& device : search.devices) ids.push_back(device.description.id);
  for (const std::string& name : emulated_names()) ids.push_back(std::string(emulated) + name);
  std::string message = "no device '" + std::string(id) + "'; there are " + listed(ids);
  for (const std::string& remark : search.remarks) message += "; " + remark;
  throw NoDevice(message);
}

}  // namespace

DeviceSearch find_devices() {
  DeviceSearch search = cpu_devices(), gpus = cuda_devices();
  std::move(gpus.devices.begin(), gpus.devices.end(), std::back_inserter(search.devices));
  std::move(gpus.remarks.begin(), gpus.remarks.end(), std::back_inserter(search.remarks));
  return search;
}

Device open_device(std::string_view id) {
  if (id.starts_with(emulated)) {
    const auto names = emulated_names();
    const auto name = std::find(names.begin(), names.end(), id.substr(emulated.size()));
    if (name != names.end()) return emulated_device(*name);
  }
  const auto find_in = [&](DeviceSearch& search) {
    return std::find_if(search.devices.begin(), search.devices.end(), [&](const Device& d) { return d.description.id == id; });
  };
  if (DeviceSearch own = cpu_devices(); find_in(own) != own.devices.end()) return *find_in(own);
  DeviceSearch all = find_devices();
  if (find_in(all) == all.devices.end()) refuse(id, all);
  return *find_in(all);
}

std::vector<ElementOperation> known_elements(std::string_view id) {
  std::vector<ElementOperation> operations;
  for (const std::string& name : emulated_names())
    if (id == std::string(emulated) + name)
      if (const auto elementwise = emulated_device(name).elementwise) operations = elementwise->operations();
  for (CpuElementModel& known : cpu_element_models(id)) operations.push_back(std::move(known.operation));
  return operations;
}

}  // namespace ulpscope::gpu

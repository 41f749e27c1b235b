// SPDX-License-Identifier: Apache-2.0
// The GPUs of this machine, as the program that opens the plugin asks for them.
#include "gpu/plugin.hpp"

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "gpu/cuda/elementwise.hpp"
#include "gpu/cuda/emulator.hpp"
#include "gpu/cuda/instruction_set.hpp"
#include "gpu/cuda/runtime.hpp"
#include "gpu/cuda/unit.hpp"

ULPSCOPE_EXPORT_PLUGIN_BUILD;
extern "C" void ulpscope_cuda_devices(ulpscope::gpu::DeviceSearch& search);

namespace {

using namespace ulpscope;
using namespace ulpscope::gpu;
using namespace ulpscope::gpu::cuda;

/// 13000 is version 13.0.
std::string version(int number) { return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10); }

struct Versions {
  int driver = 0;   ///< the newest CUDA that it can run; 0 where there is no driver
  int toolkit = 0;  ///< of the runtime in this plugin

  static Versions here() {
    Versions versions;
    check(cudaDriverGetVersion(&versions.driver), "cudaDriverGetVersion");
    check(cudaRuntimeGetVersion(&versions.toolkit), "cudaRuntimeGetVersion");
    return versions;
  }
};

/// Of the driver itself, such as 580.95.05, as its kernel module tells it on Linux; empty where it does not.
std::string driver_release() {
  std::ifstream file("/proc/driver/nvidia/version");
  for (std::string word; file >> word;)
    if (word.find_first_not_of("0123456789.") == std::string::npos && word.find('.') != std::string::npos) return word;
  return {};
}

/// `580.95.05 (CUDA 13.0)`
std::string driver_words(int cuda_version) {
  const std::string release = driver_release(), cuda = "CUDA " + version(cuda_version);
  return release.empty() ? cuda : release + " (" + cuda + ")";
}

/// Why there are no devices.
std::string reason(cudaError_t status, const Versions& versions) {
  if (versions.driver == 0) return "there is no NVIDIA driver";
  if (status == cudaErrorInsufficientDriver)
    return "the driver is for CUDA " + version(versions.driver) + " and too old for this plugin's " + version(versions.toolkit);
  if (status == cudaSuccess || status == cudaErrorNoDevice) return "there is a driver, but no GPU";
  return std::string("cudaGetDeviceCount: ") + cudaGetErrorName(status) + " (" + cudaGetErrorString(status) + ")";
}

/// Errors of kernels that faulted stay with the context and are the answer to every later call (CUDA Runtime API, cudaError).
bool is_usable(int ordinal) noexcept try {
  const OnDevice device(ordinal);
  static_cast<void>(cudaGetLastError());  // one that a call left does not count
  return cudaDeviceSynchronize() == cudaSuccess;
} catch (const Error&) {
  return false;
}

void add_device(int ordinal, const Versions& versions, DeviceSearch& search) {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
  const int capability = 10 * properties.major + properties.minor;
  Device device;
  device.description = {"cuda:" + std::to_string(ordinal), properties.name, "sm_" + std::to_string(capability),
                        driver_words(versions.driver), version(versions.toolkit)};
  const DeviceDescription& description = device.description;
  if (!target_for(capability)) {
    search.remarks.push_back(description.id + ": " + description.name + " is " + description.architecture +
                             ", for which this plugin is not compiled (" ULPSCOPE_CUDA_ARCHITECTURES ")");
    return;
  }
  device.unit = std::make_shared<CudaUnit>(description.id, ordinal, instructions(capability));
  device.elementwise = std::make_shared<CudaElementwise>(description.id, ordinal, element_instructions(capability));
  device.emulator = make_device_emulator(ordinal, capability);
  device.libraries = [ordinal] {
    std::vector<std::shared_ptr<const Library>> libraries;
    reinterpret_cast<LibrariesOfPlugin>(plugin_symbol(libraries_plugin, libraries_symbol))(ordinal, libraries);
    return libraries;
  };
  device.usable = [ordinal] { return is_usable(ordinal); };
  search.devices.push_back(std::move(device));
}

}  // namespace

void ulpscope_cuda_devices(DeviceSearch& search) {
  // What goes wrong with one device is a remark about it, and the others stay.
  const auto remarking = [&](const std::string& subject, auto work) {
    try {
      work();
    } catch (const Error& error) {
      search.remarks.push_back(subject + ": " + error.what());
    }
  };
  remarking("cuda", [&] {
    const Versions versions = Versions::here();
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess) count = 0;
    if (count == 0) search.remarks.push_back("cuda: " + reason(status, versions));
    for (int ordinal = 0; ordinal < count; ++ordinal)
      remarking("cuda:" + std::to_string(ordinal), [&] { add_device(ordinal, versions, search); });
  });
}

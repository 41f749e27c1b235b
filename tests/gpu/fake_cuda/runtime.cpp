// SPDX-License-Identifier: Apache-2.0
// Devices, errors, streams and events of the stand-in.
#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "tests/gpu/fake_cuda/fake_state.hpp"

struct FakeStream {};
struct FakeEvent {
  bool recorded = false;
};

namespace fake_cuda {

std::size_t live_allocations();

namespace {

struct State {
  Machine machine;
  std::size_t calls = 0, failing = 0, launches = 0, streams_and_events = 0;
  cudaError_t injected = cudaSuccess, device = cudaSuccess, last = cudaSuccess;
  int current = 0;
  std::string report;
  std::map<const void*, std::size_t> allowed_shared;
};
State& state() {
  static State state;
  return state;
}

}  // namespace

Machine& machine() { return state().machine; }

void fail_call(std::size_t n, cudaError_t error) {
  state().calls = 0;
  state().failing = n;
  state().injected = error;
}
std::size_t calls() { return state().calls; }
std::size_t live_objects() { return live_allocations() + state().streams_and_events; }
std::size_t launches() { return state().launches; }
void count_launch() { ++state().launches; }

std::string report() {
  state().device = cudaSuccess;
  return std::exchange(state().report, {});
}
void add_report(const std::string& what) { state().report += (state().report.empty() ? "" : "; ") + what; }
void fail_device(cudaError_t error) { state().device = error; }

cudaError_t next_call() {
  State& s = state();
  const cudaError_t error = ++s.calls == s.failing ? s.injected : s.device;
  if (error != cudaSuccess) s.last = error;
  return error;
}

cudaError_t allow_shared(const void* kernel, int bytes) {
  if (const cudaError_t error = next_call(); error != cudaSuccess) return error;
  if (bytes > 227 * 1024) return cudaErrorInvalidValue;
  state().allowed_shared[kernel] = static_cast<std::size_t>(bytes);
  return cudaSuccess;
}
std::size_t allowed_shared(const void* kernel) {
  const auto found = state().allowed_shared.find(kernel);
  constexpr std::size_t without_asking = std::size_t{48} << 10;
  return found == state().allowed_shared.end() ? without_asking : std::max(without_asking, found->second);
}

cudaError_t kernel_attributes(cudaFuncAttributes* attributes) {
  *attributes = {};
  attributes->maxThreadsPerBlock = 1024;
  attributes->localSizeBytes = machine().kernel_stack;
  return next_call();
}

cudaError_t check_launch(dim3 grid, dim3 block, std::size_t shared_bytes, const void* kernel) {
  const std::size_t threads = std::size_t{block.x} * block.y * block.z;
  const bool fits = threads >= 1 && threads <= 1024 && block.z <= 64 && grid.x >= 1 && grid.y >= 1 && grid.z >= 1 &&
                    grid.x <= 0x7fffffff && grid.y <= 0xffff && grid.z <= 0xffff;
  if (!fits) return cudaErrorInvalidConfiguration;
  return shared_bytes > allowed_shared(kernel) ? cudaErrorInvalidValue : cudaSuccess;
}

}  // namespace fake_cuda

using fake_cuda::next_call;
using fake_cuda::state;

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorInsufficientDriver: return "cudaErrorInsufficientDriver";
    case cudaErrorNoDevice: return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorNoKernelImageForDevice: return "cudaErrorNoKernelImageForDevice";
    case cudaErrorIllegalAddress: return "cudaErrorIllegalAddress";
    case cudaErrorLaunchOutOfResources: return "cudaErrorLaunchOutOfResources";
    case cudaErrorLaunchTimeout: return "cudaErrorLaunchTimeout";
    case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
    default: return "cudaErrorUnknown";
  }
}
const char* cudaGetErrorString(cudaError_t error) { return error == cudaSuccess ? "no error" : "as the stand-in was told"; }
cudaError_t cudaGetLastError() { return std::exchange(state().last, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return state().last; }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  if (const cudaError_t error = next_call(); error != cudaSuccess) return error;
  if (fake_cuda::machine().count_error != cudaSuccess) return fake_cuda::machine().count_error;
  *count = fake_cuda::machine().devices;
  return *count == 0 ? cudaErrorNoDevice : cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = state().current;
  return next_call();
}
cudaError_t cudaSetDevice(int device) {
  if (const cudaError_t error = next_call(); error != cudaSuccess) return error;
  if (device < 0 || device >= fake_cuda::machine().devices) return cudaErrorInvalidDevice;
  state().current = device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (const cudaError_t error = next_call(); error != cudaSuccess) return error;
  const fake_cuda::Machine& machine = fake_cuda::machine();
  if (device < 0 || device >= machine.devices) return cudaErrorInvalidDevice;
  *properties = {};
  std::strncpy(properties->name, machine.name.c_str(), sizeof(properties->name) - 1);
  properties->totalGlobalMem = machine.memory;
  properties->sharedMemPerBlock = std::size_t{48} << 10;
  properties->sharedMemPerBlockOptin = properties->sharedMemPerMultiprocessor = std::size_t{227} << 10;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = 1024;
  properties->major = machine.capability / 10;
  properties->minor = machine.capability % 10;
  properties->multiProcessorCount = machine.multiprocessors;
  properties->l2CacheSize = 1 << 20;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp properties;
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, device); error != cudaSuccess) return error;
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = properties.maxThreadsPerBlock; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = static_cast<int>(properties.sharedMemPerBlock); break;
    case cudaDevAttrWarpSize: *value = properties.warpSize; break;
    case cudaDevAttrClockRate: *value = 1000000; break;
    case cudaDevAttrMultiProcessorCount: *value = properties.multiProcessorCount; break;
    case cudaDevAttrComputeCapabilityMajor: *value = properties.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = properties.minor; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = static_cast<int>(properties.sharedMemPerBlockOptin); break;
  }
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return next_call();
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return next_call();
}
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit) {
  *value = fake_cuda::machine().stack_limit;
  return next_call();
}
cudaError_t cudaDeviceSetLimit(cudaLimit, std::size_t value) {
  if (const cudaError_t error = next_call(); error != cudaSuccess) return error;
  fake_cuda::machine().stack_limit = value;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() { return next_call(); }
cudaError_t cudaDeviceReset() {
  state().device = cudaSuccess;
  return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = nullptr;
  if (const cudaError_t error = next_call(); error != cudaSuccess) return error;
  *stream = new FakeStream;
  ++state().streams_and_events;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) { return cudaStreamCreate(stream); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  --state().streams_and_events;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return next_call(); }
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = nullptr;
  if (const cudaError_t error = next_call(); error != cudaSuccess) return error;
  *event = new FakeEvent;
  ++state().streams_and_events;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  --state().streams_and_events;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  event->recorded = true;
  return next_call();
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return next_call(); }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  *milliseconds = 0;
  if (const cudaError_t error = next_call(); error != cudaSuccess) return error;
  return begin->recorded && end->recorded ? cudaSuccess : cudaErrorInvalidValue;
}

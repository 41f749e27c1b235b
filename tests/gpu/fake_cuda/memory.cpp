// SPDX-License-Identifier: Apache-2.0
// Device memory: each allocation ends where an unreadable page begins, and is itself unreadable while the host has its turn.
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "tests/gpu/fake_cuda/control.hpp"
#include "tests/gpu/fake_cuda/fake_state.hpp"

namespace fake_cuda {
namespace {

constexpr std::size_t page = 4096, alignment = 16;
constexpr unsigned char fresh = 0xcb, guard = 0xfd;

struct Allocation {
  unsigned char* begin;       ///< of the readable pages
  std::size_t pages_bytes;    ///< of them
  std::size_t before, bytes;  ///< guard, then memory; the rest is guard again
};

struct Memory {
  std::recursive_mutex mutex;
  std::map<void*, Allocation> allocations;
  int unlocked = 0;
  std::size_t used = 0, allocated = 0, copied = 0;

  void protect(int how) {
    for (const auto& [at, a] : allocations) mprotect(a.begin, a.pages_bytes, how);
  }
};
Memory& memory() {
  static Memory memory;
  return memory;
}

void check_guards(const Allocation& a) {
  const auto intact = [&](std::size_t from, std::size_t to) {
    return std::all_of(a.begin + from, a.begin + to, [](unsigned char byte) { return byte == guard; });
  };
  if (intact(0, a.before) && intact(a.before + a.bytes, a.pages_bytes)) return;
  add_report("a write beside an allocation of " + std::to_string(a.bytes) + " bytes");
}

}  // namespace

Unlocked::Unlocked() {
  memory().mutex.lock();
  if (memory().unlocked++ == 0) memory().protect(PROT_READ | PROT_WRITE);
}
Unlocked::~Unlocked() {
  if (--memory().unlocked == 0) memory().protect(PROT_NONE);
  memory().mutex.unlock();
}

std::size_t allocations() { return memory().allocated; }
std::size_t copies() { return memory().copied; }

std::size_t live_allocations() {
  const std::lock_guard lock(memory().mutex);
  return memory().allocations.size();
}

}  // namespace fake_cuda

using fake_cuda::next_call;

cudaError_t cudaMalloc(void** at, std::size_t bytes) {
  *at = nullptr;
  if (const cudaError_t error = next_call(); error != cudaSuccess) return error;
  if (bytes == 0) return cudaSuccess;
  auto& memory = fake_cuda::memory();
  const std::lock_guard lock(memory.mutex);
  if (bytes > fake_cuda::machine().memory - memory.used) return cudaErrorMemoryAllocation;
  using fake_cuda::alignment, fake_cuda::page;
  const std::size_t padded = (bytes + alignment - 1) / alignment * alignment, pages = (padded + page - 1) / page * page;
  void* const mapped = mmap(nullptr, pages + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return cudaErrorMemoryAllocation;
  auto* const begin = static_cast<unsigned char*>(mapped) + page;
  const std::size_t before = pages - padded;
  mprotect(begin, pages, PROT_READ | PROT_WRITE);
  std::memset(begin, fake_cuda::guard, pages);
  std::memset(begin + before, fake_cuda::fresh, bytes);
  if (memory.unlocked == 0) mprotect(begin, pages, PROT_NONE);
  memory.allocations[begin + before] = {begin, pages, before, bytes};
  memory.used += bytes;
  ++memory.allocated;
  *at = begin + before;
  return cudaSuccess;
}

cudaError_t cudaFree(void* at) {
  if (at == nullptr) return cudaSuccess;
  auto& memory = fake_cuda::memory();
  const fake_cuda::Unlocked unlocked;
  const auto found = memory.allocations.find(at);
  if (found == memory.allocations.end()) {
    fake_cuda::add_report("cudaFree of what is not allocated");
    return cudaErrorInvalidValue;
  }
  const fake_cuda::Allocation a = found->second;
  fake_cuda::check_guards(a);
  memory.used -= a.bytes;
  memory.allocations.erase(found);
  munmap(a.begin - fake_cuda::page, a.pages_bytes + 2 * fake_cuda::page);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  if (const cudaError_t error = next_call(); error != cudaSuccess) return error;
  *total = fake_cuda::machine().memory;
  *free = *total - fake_cuda::memory().used;
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  if (const cudaError_t error = next_call(); error != cudaSuccess) return error;
  const fake_cuda::Unlocked unlocked;
  ++fake_cuda::memory().copied;
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpy(to, from, bytes, kind);
}
cudaError_t cudaMemset(void* at, int byte, std::size_t bytes) {
  if (const cudaError_t error = next_call(); error != cudaSuccess) return error;
  const fake_cuda::Unlocked unlocked;
  std::memset(at, byte, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* at, int byte, std::size_t bytes, cudaStream_t) { return cudaMemset(at, byte, bytes); }

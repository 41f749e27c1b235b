// SPDX-License-Identifier: Apache-2.0
// One count of the bytes of all tensors that are held.
#include "tensors/memory_limit.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <mutex>

#include "emu/error.hpp"

namespace ulpscope::tensors {
namespace {

/// What this process could have.
std::uint64_t memory_here() {
  std::uint64_t most =
      static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t of_group = 0;
  if (std::ifstream file("/sys/fs/cgroup/memory.max"); file >> of_group) most = std::min(most, of_group);  // `max` is no number
  rlimit address_space{};
  if (::getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur != RLIM_INFINITY)
    most = std::min<std::uint64_t>(most, address_space.rlim_cur);
  return most;
}

struct Memory {
  std::mutex mutex;
  std::uint64_t limit = memory_here() / 2, held = 0;
};

Memory& memory() {
  static Memory memory;
  return memory;
}

}  // namespace

std::uint64_t memory_limit() {
  const std::scoped_lock lock(memory().mutex);
  return memory().limit;
}

void set_memory_limit(std::uint64_t bytes) {
  const std::scoped_lock lock(memory().mutex);
  memory().limit = bytes;
}

HeldMemory::~HeldMemory() {
  const std::scoped_lock lock(memory().mutex);
  memory().held -= bytes_;
}

void HeldMemory::grow(std::uint64_t bytes) {
  const std::scoped_lock lock(memory().mutex);
  const std::uint64_t others = memory().held - bytes_, left = memory().limit - std::min(memory().limit, others);
  if (bytes > left)
    throw NoMemoryLeft(what_ + ": " + std::to_string(bytes) + " bytes of memory are needed, and " + std::to_string(left) +
                       " of the " + std::to_string(memory().limit) +
                       " that tensors may take are left; --max-memory SIZE allows more");
  memory().held = others + bytes;
  bytes_ = bytes;
}

}  // namespace ulpscope::tensors

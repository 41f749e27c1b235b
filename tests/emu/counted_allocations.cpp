// SPDX-License-Identifier: Apache-2.0
// Every allocation of C++ in the program that this file is linked into is counted. A file of its own: where a compiler sees
// through one of these functions and not through its fellow it takes them for a mismatch.
#include "tests/emu/counted_allocations.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> allocations{0};

void* allocated_or_null(std::size_t size, std::size_t alignment = alignof(std::max_align_t)) noexcept {
  ++allocations;
  return std::aligned_alloc(alignment, (std::max<std::size_t>(size, 1) + alignment - 1) / alignment * alignment);
}
void* allocated(std::size_t size, std::size_t alignment) {
  void* const memory = allocated_or_null(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return allocated(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocated_or_null(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocated(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace ulpscope::test {

std::size_t allocations_so_far() { return allocations; }

}  // namespace ulpscope::test

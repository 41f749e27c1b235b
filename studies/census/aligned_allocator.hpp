// SPDX-License-Identifier: Apache-2.0
// Memory for types of more than the usual alignment, from the plain operator new: the C library's aligned allocations, before
// glibc 2.38, leave holes that nothing fills (its bug 14581), twenty kilobytes for each tensor of a sweep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace ulpscope::studies {

/// For containers of `T`. Elements that are made without a value are left as they are.
template <class T>
struct AlignedAllocator {
  using value_type = T;  ///< what it is for

  AlignedAllocator() = default;
  /// Any is as good as any other.
  template <class Other>
  explicit AlignedAllocator(const AlignedAllocator<Other>&) noexcept {}

  /// Room for `count`. What operator new gave stands before them. @throws std::bad_alloc
  T* allocate(std::size_t count) {
    constexpr std::size_t more = alignof(T) + sizeof(void*);
    if (count > (SIZE_MAX - more) / sizeof(T)) throw std::bad_array_new_length();
    void* const given = ::operator new(count * sizeof(T) + more);
    const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(given) + more;
    auto* const at =
        static_cast<std::byte*>(given) + (first / alignof(T) * alignof(T) - reinterpret_cast<std::uintptr_t>(given));
    reinterpret_cast<void**>(at)[-1] = given;
    return reinterpret_cast<T*>(at);
  }
  /// Gives it back.
  void deallocate(T* at, std::size_t) noexcept { ::operator delete(reinterpret_cast<void**>(at)[-1]); }
  /// Without a value.
  template <class Made>
  void construct(Made* at) {
    ::new (static_cast<void*>(at)) Made;
  }
  /// From a value.
  template <class Made, class... Values>
  void construct(Made* at, Values&&... values) {
    ::new (static_cast<void*>(at)) Made(static_cast<Values&&>(values)...);
  }
  /// All are alike.
  bool operator==(const AlignedAllocator&) const noexcept { return true; }
};

/// Ends what make_aligned() made.
struct AlignedDelete {
  /// Gives its memory back.
  template <class T>
  void operator()(T* made) const noexcept {
    made->~T();
    AlignedAllocator<T>().deallocate(made, 1);
  }
};

/// A pointer that owns such a thing.
template <class T>
using AlignedPointer = std::unique_ptr<T, AlignedDelete>;

/// Makes one, as std::make_unique() does.
template <class T, class... Values>
AlignedPointer<T> make_aligned(Values&&... values) {
  AlignedAllocator<T> allocator;
  T* const at = allocator.allocate(1);
  try {
    allocator.construct(at, static_cast<Values&&>(values)...);
  } catch (...) {
    allocator.deallocate(at, 1);
    throw;
  }
  return AlignedPointer<T>(at);
}

}  // namespace ulpscope::studies

// SPDX-License-Identifier: Apache-2.0
// Where an interpreter keeps the terms of a step: in a std::vector on the host, in a fixed place on a device.
#pragma once

#include <cstddef>
#include <utility>

#include "emu/config.hpp"
#include "emu/engine_term.hpp"

namespace ulpscope::emu::detail {

/// Terms in a fixed place, for code that cannot allocate.
template <std::size_t capacity>
class FixedTerms {
 public:
  ULPSCOPE_HD FixedTerms() noexcept {}  // terms beyond the size are never looked at
  ULPSCOPE_HD constexpr std::size_t size() const noexcept { return size_; }
  ULPSCOPE_HD constexpr EngineTerm* begin() noexcept { return terms_; }
  ULPSCOPE_HD constexpr EngineTerm* end() noexcept { return terms_ + size_; }
  ULPSCOPE_HD constexpr const EngineTerm* begin() const noexcept { return terms_; }
  ULPSCOPE_HD constexpr const EngineTerm* end() const noexcept { return terms_ + size_; }
  ULPSCOPE_HD constexpr EngineTerm& operator[](std::size_t i) noexcept { return terms_[i]; }
  ULPSCOPE_HD constexpr const EngineTerm& operator[](std::size_t i) const noexcept { return terms_[i]; }
  ULPSCOPE_HD constexpr EngineTerm& front() noexcept { return terms_[0]; }
  ULPSCOPE_HD constexpr EngineTerm& back() noexcept { return terms_[size_ - 1]; }
  ULPSCOPE_HD constexpr bool empty() const noexcept { return size_ == 0; }
  ULPSCOPE_HD constexpr void clear() noexcept { size_ = 0; }
  ULPSCOPE_HD constexpr void push_back(const EngineTerm& term) noexcept { terms_[size_++] = term; }
  ULPSCOPE_HD constexpr void resize(std::size_t size) noexcept {
    for (; size_ < size; ++size_) terms_[size_] = {};
    size_ = size;
  }
  ULPSCOPE_HD void take(const FixedTerms& other) noexcept {
    for (std::size_t i = 0; i < other.size_; ++i) terms_[i] = other.terms_[i];
    size_ = other.size_;
  }

 private:
  union {
    EngineTerm terms_[capacity];
  };
  std::size_t size_ = 0;
};

/// Moves `sums` to `terms`; `sums` must not be used afterwards.
template <std::size_t capacity>
ULPSCOPE_HD inline void replace_terms(FixedTerms<capacity>& terms, FixedTerms<capacity>& sums) noexcept {
  terms.take(sums);
}
template <class Terms>
inline void replace_terms(Terms& terms, Terms& sums) noexcept {
  std::swap(terms, sums);
}

}  // namespace ulpscope::emu::detail

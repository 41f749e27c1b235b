// SPDX-License-Identifier: Apache-2.0
// Elements as they lie in a file: packed codes or integers of a fixed width, behind the Source interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "tensors/tensor.hpp"

namespace ulpscope::tensors {

/// How one element is stored.
struct Layout {
  enum class Kind : std::uint8_t { floating, signed_integer, unsigned_integer, boolean };
  Kind kind = Kind::floating;
  int storage_bits = 32;    ///< 4 and 6 are packed from the low bits up; else a multiple of 8
  bool big_endian = false;  ///< whole bytes only
};

/// A source over `bytes`, which `owner` keeps alive. @pre bytes holds `count` elements of the layout; for floating kinds
/// dtype.format is set.
std::shared_ptr<const Source> make_source(std::shared_ptr<const void> owner, std::span<const std::byte> bytes,
                                          const DType& dtype, Layout layout);

/// Bytes of `count` elements; nothing when the product overflows.
std::optional<std::uint64_t> byte_size(std::uint64_t count, Layout layout);

/// Product of the extents; nothing when it overflows 2^63.
std::optional<std::uint64_t> element_count(std::span<const std::uint64_t> shape);

}  // namespace ulpscope::tensors

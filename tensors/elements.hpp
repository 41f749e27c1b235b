// SPDX-License-Identifier: Apache-2.0
// Elements as they lie in a file: packed codes or integers of a fixed width, behind the Source interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensors/bytes.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::tensors {

/// Why elements of so many bits, of whole bytes, cannot be codes of a format; empty where they can.
std::string why_no_codes(int storage_bits, emu::Format format);

/// How one element is stored.
struct Layout {
  /// What the bits of an element mean.
  enum class Kind : std::uint8_t { floating, signed_integer, unsigned_integer, boolean };
  Kind kind = Kind::floating;  ///< of every element
  int storage_bits = 32;       ///< 4 and 6 are packed from the low bits up; else a multiple of 8
  bool big_endian = false;     ///< whole bytes only
};

/// Elements in a file or in memory.
struct StoredElements {
  std::shared_ptr<const Bytes> bytes;            ///< among which they lie; null only where there are none
  std::uint64_t first = 0;                       ///< where the first begins
  std::uint64_t size = 0;                        ///< bytes of all of them
  DType dtype;                                   ///< what an element is
  Layout layout;                                 ///< how it is stored
  std::string label = {};  ///< of codes of fewer bits than their storage, for messages; empty: those beyond are ignored
  std::vector<std::uint64_t> column_major = {};  ///< the shape, where the first index runs fastest (Fortran order); else empty
};

/// A source over them. @pre `bytes` holds all elements of the layout; for floating kinds dtype.format is set.
std::shared_ptr<const Source> make_source(StoredElements elements);

/// A source whose codes are the bytes, and which has no values: asked for them it throws Error(why).
std::shared_ptr<const Source> make_opaque_source(StoredElements elements, std::string why);

/// Integers of a type by its name, `int64` in memory whatever it is. @pre they are of that type's range
Tensor over_integers(std::string label, std::vector<std::uint64_t> shape, std::string dtype,
                     std::span<const std::int64_t> values, std::shared_ptr<const void> owner);

/// Unsigned integers in memory as codes of a format, where an .npy of them would be; what is of this format already stays as
/// it is. @throws ulpscope::Error where they are no codes of it
Tensor as_codes(Tensor tensor, emu::Format format);

/// Bytes of `count` elements; nothing when the product overflows.
std::optional<std::uint64_t> byte_size(std::uint64_t count, Layout layout);

/// Product of the extents; nothing when it overflows 2^63.
std::optional<std::uint64_t> element_count(std::span<const std::uint64_t> shape);

}  // namespace ulpscope::tensors

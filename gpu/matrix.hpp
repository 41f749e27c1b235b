// SPDX-License-Identifier: Apache-2.0
// Matrices of codes as devices store them, and the products that units and libraries are asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "emu/catalogue.hpp"
#include "emu/config.hpp"
#include "emu/format.hpp"

namespace ulpscope::gpu {

/// Bytes of one stored code: 1, 2, 4 or 8, the least that hold the format.
ULPSCOPE_INLINE constexpr std::size_t bytes_per_code(emu::Format format) noexcept {
  const int bits = format.bits();
  return bits <= 8 ? 1 : (bits <= 16 ? 2 : (bits <= 32 ? 4 : 8));
}

/// Low bits of a stored code that the format does not have: tf32 is stored as the float32 of the same value, as devices read it
/// (PTX ISA, "Alternate floating point data formats").
ULPSCOPE_INLINE constexpr int storage_shift(emu::Format format) noexcept {
  constexpr emu::Format shorter = emu::tf32;  // device code sees no variable of a namespace
  constexpr int cut = emu::float32.bits() - emu::tf32.bits();
  return format == shorter ? cut : 0;
}

/// Code number `index` of an array of codes.
inline emu::Code load_code(emu::Format format, const std::byte* codes, std::size_t index) noexcept {
  const std::size_t bytes = bytes_per_code(format);
  std::uint64_t word = 0;
  std::memcpy(&word, codes + index * bytes, bytes);  // little-endian, as every host of a device here
  return word >> storage_shift(format) & format.code_mask();
}

/// Writes code number `index` of an array of codes.
inline void store_code(emu::Format format, std::byte* codes, std::size_t index, emu::Code code) noexcept {
  const std::size_t bytes = bytes_per_code(format);
  const std::uint64_t word = code << storage_shift(format);
  std::memcpy(codes + index * bytes, &word, bytes);
}

/// A matrix of stored codes, row-major and dense.
struct ConstMatrix {
  emu::Format format;                     ///< of every element
  std::size_t rows = 0, columns = 0;      ///< extents
  std::span<const std::byte> codes = {};  ///< rows * columns * bytes_per_code(format)

  /// The code of element (i, j).
  emu::Code at(std::size_t i, std::size_t j) const noexcept { return load_code(format, codes.data(), i * columns + j); }
};

/// D = A * B + C. A is m by k, B is k by n, C is m by n in the accumulator's format, or has no codes and stands for zeros.
struct MatrixProduct {
  ConstMatrix a, b, c;  ///< as above

  /// Rows of D.
  std::size_t m() const noexcept { return a.rows; }
  /// Columns of D.
  std::size_t n() const noexcept { return b.columns; }
  /// Products of a sum.
  std::size_t k() const noexcept { return a.columns; }
};

}  // namespace ulpscope::gpu

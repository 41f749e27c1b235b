// SPDX-License-Identifier: Apache-2.0
// Stored codes (gpu/matrix.hpp) as device code reads and writes them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/matrix.hpp"

namespace ulpscope::gpu::cuda {

ULPSCOPE_HD inline emu::Code load_stored(emu::Format format, const std::byte* codes, std::size_t index) noexcept {
  const std::size_t bytes = bytes_per_code(format);
  const std::byte* const at = codes + index * bytes;
  std::uint64_t word = 0;
  switch (bytes) {
    case 1: word = *reinterpret_cast<const std::uint8_t*>(at); break;
    case 2: word = *reinterpret_cast<const std::uint16_t*>(at); break;
    case 4: word = *reinterpret_cast<const std::uint32_t*>(at); break;
    default: word = *reinterpret_cast<const std::uint64_t*>(at); break;
  }
  return word >> storage_shift(format) & format.code_mask();
}

ULPSCOPE_HD inline void store_stored(emu::Format format, std::byte* codes, std::size_t index, emu::Code code) noexcept {
  const std::size_t bytes = bytes_per_code(format);
  std::byte* const at = codes + index * bytes;
  const std::uint64_t word = code << storage_shift(format);
  switch (bytes) {
    case 1: *reinterpret_cast<std::uint8_t*>(at) = static_cast<std::uint8_t>(word); break;
    case 2: *reinterpret_cast<std::uint16_t*>(at) = static_cast<std::uint16_t>(word); break;
    case 4: *reinterpret_cast<std::uint32_t*>(at) = static_cast<std::uint32_t>(word); break;
    default: *reinterpret_cast<std::uint64_t*>(at) = word; break;
  }
}

}  // namespace ulpscope::gpu::cuda

// SPDX-License-Identifier: Apache-2.0
// The checksum of recordings: CRC-64/XZ (ECMA-182 polynomial, reflected, complemented at both ends; The .xz File Format 1.2.1,
// section 6, and Greg Cook's catalogue of parametrised CRC algorithms). It finds every change confined to 64 successive bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ulpscope::gpu {

namespace detail {

inline constexpr auto crc64_table = [] {
  constexpr std::uint64_t reflected_polynomial = 0xc96c5795d7870f42;
  std::array<std::uint64_t, 256> table{};
  for (std::uint64_t byte = 0; byte < table.size(); ++byte) {
    std::uint64_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) remainder = remainder >> 1 ^ ((remainder & 1) != 0 ? reflected_polynomial : 0);
    table[byte] = remainder;
  }
  return table;
}();

}  // namespace detail

/// CRC-64/XZ of the bytes (ECMA-182, reflected).
constexpr std::uint64_t crc64(std::span<const std::byte> bytes) noexcept {
  std::uint64_t remainder = ~std::uint64_t{0};
  for (const std::byte byte : bytes)
    remainder = remainder >> 8 ^ detail::crc64_table[(remainder ^ static_cast<std::uint64_t>(byte)) & 0xff];
  return ~remainder;
}

}  // namespace ulpscope::gpu

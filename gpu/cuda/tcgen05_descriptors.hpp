// SPDX-License-Identifier: Apache-2.0
// The words that tell tcgen05 where operands lie and what they are. PTX ISA 9.0, "Shared memory descriptor" and "Instruction
// descriptor" of the tcgen05 family; CUTLASS agrees (UMMA::SmemDescriptor, UMMA::InstrDescriptor).
#pragma once

#include <cstdint>

#include "emu/catalogue.hpp"
#include "emu/config.hpp"
#include "emu/format.hpp"

namespace ulpscope::gpu::cuda::tcgen05 {

// Without swizzle and "K-major", a matrix in shared memory is made of core matrices: 8 rows of A, columns of B or rows of
// scales by 16 bytes along K, each 128 bytes in one piece, a row's 16 bytes side by side.
inline constexpr int core_rows = 8, core_row_bytes = 16, core_bytes = core_rows * core_row_bytes;

/// Of a matrix that begins at an address of shared memory. `along_k`: bytes from one core matrix to its neighbour along K (the
/// leading dimension's offset); `along_rows`: to that of the next eight rows (the stride's).
ULPSCOPE_HD constexpr std::uint64_t matrix_descriptor(std::uint32_t address, int along_k, int along_rows) {
  const auto field = [](std::uint32_t bytes, int bit) { return std::uint64_t{(bytes & 0x3ffff) >> 4} << bit; };
  constexpr std::uint64_t version = std::uint64_t{1} << 46;  // 0b001 in bits 46 to 48
  return field(address, 0) | field(static_cast<std::uint32_t>(along_k), 16) |
         field(static_cast<std::uint32_t>(along_rows), 32) | version;
}

/// What an operand's format is called in the instruction descriptor: of kind f16 and tf32, and of f8f6f4 and mxf8f6f4.
constexpr std::uint32_t format_code(emu::Format format) {
  if (format == emu::float16 || format == emu::float8_e4m3fn) return 0;
  if (format == emu::bfloat16 || format == emu::float8_e5m2) return 1;
  if (format == emu::tf32) return 2;
  if (format == emu::float6_e2m3fn) return 3;
  return format == emu::float6_e3m2fn ? 4 : 5;
}

/// Bits 7 to 28, which all kinds have in common: dense, nothing negated, nothing transposed.
constexpr std::uint32_t shape_and_formats(int m, int n, std::uint32_t a, std::uint32_t b) {
  return a << 7 | b << 10 | static_cast<std::uint32_t>(n / 8) << 17 | static_cast<std::uint32_t>(m / 16) << 24;
}

/// Of the kinds f16, tf32 and f8f6f4.
constexpr std::uint32_t instruction_descriptor(int m, int n, emu::Format a, emu::Format b, emu::Format accumulator) {
  const std::uint32_t d = accumulator == emu::float32 ? 1 : 0;
  return d << 4 | shape_and_formats(m, n, format_code(a), format_code(b));
}

/// Of the kinds mxf8f6f4, mxf4 and mxf4nvf4, of which the last two have a code of their own for e2m1. Scales begin with the
/// first byte of their words in tensor memory: both scale factor ids are 0.
constexpr std::uint32_t scaled_instruction_descriptor(int m, int n, emu::Format a, emu::Format b, int k, emu::Format scales) {
  constexpr std::uint32_t packed_e2m1 = 1;
  const bool packed = k == 64;
  const std::uint32_t ue8m0 = scales == emu::float8_e8m0fnu ? 1 : 0;
  return ue8m0 << 23 | shape_and_formats(m, n, packed ? packed_e2m1 : format_code(a), packed ? packed_e2m1 : format_code(b));
}

}  // namespace ulpscope::gpu::cuda::tcgen05

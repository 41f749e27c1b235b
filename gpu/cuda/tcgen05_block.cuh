// SPDX-License-Identifier: Apache-2.0
// A block of 128 threads around tcgen05.mma: its tensor memory and its barrier, and the ways of operands from the threads'
// registers to where the instruction reads them and back. One thread starts the instruction (gpu/cuda/tcgen05_instruction.cuh).
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/cuda/tcgen05.cuh"
#include "gpu/cuda/tcgen05_descriptors.hpp"

namespace ulpscope::gpu::cuda::tcgen05 {

/// D: a lane of tensor memory for each row, a column for each column. The least that can be allocated holds it and the scales.
inline constexpr int rows = 128, columns = 16, allocated_columns = 32;
/// Scales in tensor memory: a word for each row of A (column of B), in lane row % 32 and column row / 32, and the same in the
/// other three times 32 lanes (PTX ISA 9.0, "Scale Factor A ID"). Their bytes are those of the row's blocks along K.
inline constexpr int scale_lanes = 32, scale_columns = rows / scale_lanes;
inline constexpr int a_scales_column = columns, b_scales_column = a_scales_column + scale_columns;
static_assert(b_scales_column + scale_columns <= allocated_columns);
/// Of a row of A and of a column of B, in the formats of all kinds: two core matrices along K.
inline constexpr int row_words = 2 * core_row_bytes / 4;
inline constexpr int along_k = core_bytes, along_rows = 2 * core_bytes;

struct alignas(core_bytes) Workspace {
  std::uint32_t a[rows * row_words], b[columns * row_words];
  std::uint32_t a_scales[rows], b_scales[rows];  ///< 32 rows of 16 bytes each, as tcgen05.cp takes them
  std::uint64_t barrier;
  std::uint32_t parity;  ///< of the barrier's phase that ends with the instruction
  std::uint32_t tensor_memory;
};

__device__ inline Workspace& workspace() {
  __shared__ Workspace shared;
  return shared;
}
/// In the address space of shared memory.
__device__ inline std::uint32_t shared_place(std::size_t offset) {
  return shared_address(&workspace()) + static_cast<std::uint32_t>(offset);
}

__device__ inline std::uint32_t own_lanes() { return workspace().tensor_memory + (threadIdx.x / 32 * 32 << 16); }

/// What a block does before its first instruction and after its last one.
__device__ inline void begin_block() {
  Workspace& shared = workspace();
  if (threadIdx.x < 32) {
    allocate(shared_place(offsetof(Workspace, tensor_memory)), allocated_columns);
    relinquish_permit();
  } else if (threadIdx.x == 32) {
    initialize_barrier(shared_place(offsetof(Workspace, barrier)));
    shared.parity = 1;
  }
  fence_before_meeting();
  __syncthreads();
  fence_after_meeting();
}
__device__ inline void end_block() {
  fence_before_meeting();
  __syncthreads();
  fence_after_meeting();
  if (threadIdx.x < 32) deallocate(workspace().tensor_memory, allocated_columns);
}

/// Elements of 16 bytes along K as tcgen05 reads them: from the lowest bit upwards, without gaps; where there are fewer than
/// fit, the rest is padding.
template <int Bits, int Elements>
struct Packing {
  static constexpr int bits = Bits, elements = Elements;
  static_assert(bits * elements <= 8 * core_row_bytes);
};

/// Puts a row of A, or a column of B, to its two core matrices. `in_word` elements in each of the registers.
template <class Packed, int in_word, std::size_t words>
__device__ void put_row(const std::uint32_t (&registers)[words], std::uint32_t* matrix, int row) {
  static_assert(2 * Packed::elements == in_word * static_cast<int>(words));
  constexpr std::uint32_t mask = 0xffffffff >> (32 - Packed::bits);
  ULPSCOPE_UNROLL
  for (int half = 0; half < 2; ++half) {
    std::uint32_t packed[4] = {};
    ULPSCOPE_UNROLL
    for (int e = 0; e < Packed::elements; ++e) {
      const int from = half * Packed::elements + e, bit = e * Packed::bits;
      const std::uint32_t code = registers[from / in_word] >> (from % in_word * (32 / in_word)) & mask;
      packed[bit / 32] |= code << bit % 32;
      if (bit % 32 + Packed::bits > 32) packed[bit / 32 + 1] |= code >> (32 - bit % 32);
    }
    std::uint32_t* const to = matrix + (row / core_rows * along_rows + half * along_k + row % core_rows * core_row_bytes) / 4;
    ULPSCOPE_UNROLL
    for (int word = 0; word < 4; ++word) to[word] = packed[word];
  }
}

/// The word of a row's scales.
__device__ inline void put_scales(std::uint32_t word, std::uint32_t* scales, int row) {
  scales[row % scale_lanes * scale_columns + row / scale_lanes] = word;
}

/// A row of C to this thread's lane and back: one element in the lower bits of each column, of which `words` registers hold
/// more than one where they can.
template <std::size_t words>
__device__ void put_accumulators(const std::uint32_t (&registers)[words]) {
  constexpr int in_word = columns / static_cast<int>(words), bits = 32 / in_word;
  std::uint32_t column[columns];
  ULPSCOPE_UNROLL
  for (int j = 0; j < columns; ++j) column[j] = registers[j / in_word] >> (j % in_word * bits) & (0xffffffff >> (32 - bits));
  __syncwarp();  // stores are of whole warps
  store(own_lanes(), column);
}
template <std::size_t words>
__device__ void take_accumulators(std::uint32_t (&registers)[words]) {
  constexpr int in_word = columns / static_cast<int>(words), bits = 32 / in_word;
  std::uint32_t column[columns];
  __syncwarp();
  load(own_lanes(), column);
  ULPSCOPE_UNROLL
  for (int i = 0; i < static_cast<int>(words); ++i) registers[i] = 0;
  ULPSCOPE_UNROLL
  for (int j = 0; j < columns; ++j) registers[j / in_word] |= (column[j] & (0xffffffff >> (32 - bits))) << (j % in_word * bits);
}

/// Before and after a thread puts its operands where they belong. Nobody writes them while an instruction reads: all have
/// waited for the end of the one before.
__device__ inline void begin_operands() {
  __syncthreads();
  if (threadIdx.x == 0) workspace().parity ^= 1;
}
__device__ inline void end_operands() {
  publish_shared();
  fence_before_meeting();
  __syncthreads();
}

/// What the thread that starts the instruction needs to know.
struct Places {
  std::uint32_t d;
  std::uint64_t a, b;
};
__device__ inline Places places() {
  return {workspace().tensor_memory, matrix_descriptor(shared_place(offsetof(Workspace, a)), along_k, along_rows),
          matrix_descriptor(shared_place(offsetof(Workspace, b)), along_k, along_rows)};
}

struct PlacesOfScales {
  std::uint32_t a, b;
};
/// By the thread that starts the instruction, which needs not wait: copies and products of one thread keep their order (PTX ISA
/// 9.0, "Pipelined tcgen05 instructions").
__device__ inline PlacesOfScales copy_scales() {
  const std::uint32_t first = workspace().tensor_memory, a = first + a_scales_column, b = first + b_scales_column;
  copy_to_all_lanes(a, matrix_descriptor(shared_place(offsetof(Workspace, a_scales)), core_bytes, core_bytes));
  copy_to_all_lanes(b, matrix_descriptor(shared_place(offsetof(Workspace, b_scales)), core_bytes, core_bytes));
  return {a, b};
}

__device__ inline void commit_instruction() { commit(shared_place(offsetof(Workspace, barrier))); }
__device__ inline void wait_for_instruction() {
  wait(shared_place(offsetof(Workspace, barrier)), workspace().parity);
  fence_after_meeting();
}

}  // namespace ulpscope::gpu::cuda::tcgen05

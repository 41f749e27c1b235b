// SPDX-License-Identifier: Apache-2.0
// Where the elements of a matrix instruction's operands lie: which element of a thread's registers is which of the matrix.
// Elements are counted through a thread's registers, the lowest bits of a register first. PTX ISA 9.0, "Matrix Fragments for
// mma.m8n8k4" to "mma.m16n8k64", "Block Scaling for mma.sync" and "Register Fragments" of wgmma.
#pragma once

#include <cstdint>
#include <type_traits>

#include "emu/config.hpp"
#include "emu/format.hpp"
#include "gpu/matrix.hpp"

namespace ulpscope::gpu::cuda {

/// A place in a matrix. That of B (K by N) has its k for a row.
struct Place {
  int row, column;

  friend constexpr bool operator==(const Place&, const Place&) = default;
};

/// Bits of an element in a register: tf32 has those of float32.
constexpr int register_bits(emu::Format format) { return 8 * static_cast<int>(bytes_per_code(format)); }

/// What all instructions have: one of `Threads` threads holds so many elements of A, B and C, in registers of 32 bits or, for
/// float64, of 64.
template <int M, int N, int K, int OperandBits, int AccumulatorBits, int Threads>
struct InstructionShape {
  using Word = std::conditional_t<OperandBits == 64, std::uint64_t, std::uint32_t>;
  static constexpr int m = M, n = N, k = K, operand_bits = OperandBits, accumulator_bits = AccumulatorBits, threads = Threads;
  static constexpr int word_bits = 8 * static_cast<int>(sizeof(Word));
  static constexpr int operands_in_word = word_bits / operand_bits;

  /// Bits of an element's place in a register below the code of an operand.
  ULPSCOPE_HD static constexpr int operand_shift(emu::Format) { return 0; }
  /// What a block does before its first instruction and after its last one.
  ULPSCOPE_HD static void begin() {}
  ULPSCOPE_HD static void end() {}
};

/// mma.sync m8 and m16, n8.
///
///   lane   3:2:1:0 of group 0, 7:6:5:4 of group 1, ...: group = lane / 4 is a row of A and of C and a column of B; the four
///          threads of a group hold neighbouring registers along K of A and B, and neighbouring pairs of columns of C.
///   A's registers: rows 0-7, rows 8-15, then the same for the next four registers along K.
template <int M, int K, int OperandBits, int AccumulatorBits, int Threads = 32>
struct MmaFragments : InstructionShape<M, 8, K, OperandBits, AccumulatorBits, Threads> {
  using Shape = InstructionShape<M, 8, K, OperandBits, AccumulatorBits, Threads>;
  static constexpr int a_elements = M * K / Threads, b_elements = 8 * K / 32, c_elements = M * 8 / Threads;

  ULPSCOPE_HD static constexpr Place a(int thread, int element) {
    const int lane = thread % 32, word = element / Shape::operands_in_word, within = element % Shape::operands_in_word;
    return {thread / 32 * 16 + lane / 4 + word % rows_of_eight * 8,
            Shape::operands_in_word * (lane % 4 + word / rows_of_eight * 4) + within};
  }
  ULPSCOPE_HD static constexpr Place b(int thread, int element) {
    const int lane = thread % 32, word = element / Shape::operands_in_word, within = element % Shape::operands_in_word;
    return {Shape::operands_in_word * (lane % 4 + word * 4) + within, lane / 4};
  }
  ULPSCOPE_HD static constexpr Place c(int thread, int element) {
    const int lane = thread % 32;
    return {thread / 32 * 16 + lane / 4 + element / 2 * 8, lane % 4 * 2 + element % 2};
  }

  /// In the bytes of .kind::f8f6f4 and .kind::mxf8f6f4
  ///   e4m3, e5m2   xxxxxxxx
  ///   e3m2, e2m3   00xxxxxx
  ///   e2m1         00xxxx00
  /// That e2m1 lies in the middle is what CUTLASS does (include/cute/atom/mma_traits_sm120.hpp, fp4_shift_A: e2m1 moves up by
  /// two bits between ldmatrix and mma, e3m2 and e2m3 stay): the PTX ISA says no more than that there is padding.
  ULPSCOPE_HD static constexpr int operand_shift(emu::Format format) { return OperandBits == 8 && format.bits() == 4 ? 2 : 0; }

 private:
  static constexpr int rows_of_eight = M == 8 ? 1 : 2;
};

/// mma.sync m16n8 with block scales: ScaleBlocks of them in a row of A and in a column of B. All threads have a register for
/// those of A and one for those of B, and the instruction's selectors say what is read of them:
///   of A   rows 0-7 in one thread of each group of four, rows 8-15 in the next; thread_id 0: the first pair, 1: the second
///   of B   all columns in one thread of each group, number thread_id
///   bytes byte_id, byte_id + 1, ...: the blocks in ascending order of k
/// (PTX ISA 9.0, "Block Scaling for mma.sync"; CUTLASS, mma_traits_sm120.hpp, SFALayout and SFBLayout).
template <int K, int OperandBits, int ScaleBlocks>
struct ScaledMmaFragments : MmaFragments<16, K, OperandBits, 32> {
  static constexpr int byte_id = 0, thread_id = 0;
  static constexpr int scale_elements = 4, scale_products = K / ScaleBlocks;

  /// The row, and the number of the block for a column; row -1 where the byte is not read.
  ULPSCOPE_HD static constexpr Place a_scale(int lane, int byte) {
    return {is_read(byte) && lane % 4 / 2 == thread_id ? lane / 4 + lane % 2 * 8 : -1, byte - byte_id};
  }
  /// The number of the block for a row, and the column; column -1 where the byte is not read.
  ULPSCOPE_HD static constexpr Place b_scale(int lane, int byte) {
    return {byte - byte_id, is_read(byte) && lane % 4 == thread_id ? lane / 4 : -1};
  }

 private:
  ULPSCOPE_HD static constexpr bool is_read(int byte) { return byte_id <= byte && byte < byte_id + ScaleBlocks; }
};

/// mma.sync.m8n8k4 of float16, which is four products of 8 by 8 by 4, each by four threads of the lower half warp and four of
/// the upper one. Here they are one of 32 by 8 by 4: all four hold the same B.
template <int AccumulatorBits>
struct QuadPairFragments : InstructionShape<32, 8, 4, 16, AccumulatorBits, 32> {
  static constexpr int a_elements = 4, b_elements = 4, c_elements = 8;

  ULPSCOPE_HD static constexpr Place a(int lane, int element) { return {first_row(lane) + row(lane), element}; }
  ULPSCOPE_HD static constexpr Place b(int lane, int element) { return {element, row(lane)}; }
  ULPSCOPE_HD static constexpr Place c(int lane, int element) {
    if constexpr (AccumulatorBits == 16) return {first_row(lane) + row(lane), element};
    return {first_row(lane) + lane / 16 * 4 + (lane & 1) + (element & 2), (element & 4) + (lane & 2) + (element & 1)};
  }

 private:
  ULPSCOPE_HD static constexpr int first_row(int lane) { return lane % 16 / 4 * 8; }
  ULPSCOPE_HD static constexpr int row(int lane) { return lane % 4 + lane / 16 * 4; }
};

/// wgmma m64n8: A and C as four warps of mma.sync m16n8 hold them; B lies in shared memory, where the first 64 threads put a
/// word each, eight words (32 bytes) of a column side by side.
template <int K, int OperandBits, int AccumulatorBits>
struct WgmmaFragments : MmaFragments<64, K, OperandBits, AccumulatorBits, 128> {
  using Shape = InstructionShape<64, 8, K, OperandBits, AccumulatorBits, 128>;
  static constexpr int b_threads = 64, b_words_in_column = K / Shape::operands_in_word;
  static constexpr int b_elements = 8 * K / b_threads;
  static_assert(b_words_in_column == 8);

  /// Threads from b_threads on have what the first ones have.
  ULPSCOPE_HD static constexpr Place b(int thread, int element) {
    return {thread % b_words_in_column * Shape::operands_in_word + element, thread % b_threads / b_words_in_column};
  }
};

/// wmma, whose fragments are not documented: the operands lie in shared memory, A and C row by row, B column by column, and a
/// thread holds every 32nd word.
template <int M, int N, int K, int OperandBits, int AccumulatorBits>
struct WmmaFragments : InstructionShape<M, N, K, OperandBits, AccumulatorBits, 32> {
  using Shape = InstructionShape<M, N, K, OperandBits, AccumulatorBits, 32>;
  static constexpr int a_elements = M * K / 32, b_elements = N * K / 32, c_elements = M * N / 32;

  ULPSCOPE_HD static constexpr Place a(int lane, int element) { return row_by_row(lane, element, OperandBits, K); }
  ULPSCOPE_HD static constexpr Place b(int lane, int element) {
    const Place transposed = row_by_row(lane, element, OperandBits, K);
    return {transposed.column, transposed.row};
  }
  ULPSCOPE_HD static constexpr Place c(int lane, int element) { return row_by_row(lane, element, AccumulatorBits, N); }

 private:
  ULPSCOPE_HD static constexpr Place row_by_row(int lane, int element, int bits, int columns) {
    const int in_word = Shape::word_bits / bits, index = (element / in_word * 32 + lane) * in_word + element % in_word;
    return {index / columns, index % columns};
  }
};

/// tcgen05.mma m128n16: all operands lie in shared and in tensor memory, where a thread brings its row of A, one of the 16
/// columns of B (threads 16 and on what the first ones have), and its row of C: lane i of tensor memory is row i of C and D,
/// column j of it their column j, and warp w reaches lanes 32 w to 32 w + 31 (PTX ISA 9.0, "Layout D (M = 128 +
/// cta-group::1)").
template <int K, int OperandBits, int AccumulatorBits>
struct Tcgen05Fragments : InstructionShape<128, 16, K, OperandBits, AccumulatorBits, 128> {
  static constexpr int a_elements = K, b_elements = K, c_elements = 16;

  ULPSCOPE_HD static constexpr Place a(int thread, int element) { return {thread, element}; }
  ULPSCOPE_HD static constexpr Place b(int thread, int element) { return {element, thread % 16}; }
  ULPSCOPE_HD static constexpr Place c(int thread, int element) { return {thread, element}; }
};

}  // namespace ulpscope::gpu::cuda

// SPDX-License-Identifier: Apache-2.0
// The two kernels of a matrix instruction: independent inner products, and whole products. A block is the warp or the warpgroup
// of one instruction; what is multiplied is told by where elements come from and go to.
//
// An instruction I has the places and sizes of gpu/cuda/fragments.hpp, the formats a_format, b_format and accumulator_format,
// its name `spelled`, and multiply(a, b, c) over a thread's registers, which makes c the result; begin() and end() stand around
// all of a block's. One with block scales has their places too, scale_format, scales (emu::EngineScales) and scale_products,
// and multiply(a, b, c, a_scales, b_scales).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "gpu/cuda/fragments.hpp"
#include "gpu/cuda/instruction.hpp"
#include "gpu/cuda/mma.cuh"
#include "gpu/cuda/runtime.hpp"

namespace ulpscope::gpu::cuda {

/// The registers that hold `elements` elements of `bits` bits.
template <class Word, int bits, int elements>
struct Registers {
  static constexpr int in_word = 8 * static_cast<int>(sizeof(Word)) / bits, words = (elements + in_word - 1) / in_word;
  Word word[words] = {};

  __device__ void set(int element, Word code) { word[element / in_word] |= (code & mask) << (element % in_word * bits); }
  __device__ Word get(int element) const { return word[element / in_word] >> (element % in_word * bits) & mask; }

 private:
  static constexpr int word_bits = 8 * static_cast<int>(sizeof(Word));
  static constexpr Word mask = static_cast<Word>(std::numeric_limits<Word>::max() >> (word_bits - bits));
};

template <class I>
using OperandsA = Registers<typename I::Word, I::operand_bits, I::a_elements>;
template <class I>
using OperandsB = Registers<typename I::Word, I::operand_bits, I::b_elements>;
template <class I>
using Accumulators = Registers<typename I::Word, I::accumulator_bits, I::c_elements>;
template <class I>
using ScalesOf = Registers<typename I::Word, 8, I::scale_elements>;

/// Whether an instruction takes block scales.
template <class I>
concept HasScales = requires {
  I::scale_products;
};

/// Whether the target that is compiled for has an instruction: one that knows that it is missing (in_target) leaves a trap in
/// the place of its kernels.
template <class I>
constexpr bool in_target() {
  if constexpr (requires { I::in_target; }) return I::in_target;
  return true;
}

/// One step: c becomes a * b + c, each block of products times its two scales where there are any.
template <class I, class Elements>
__device__ void multiply_step(const Elements& elements, std::size_t step, const OperandsA<I>& a, const OperandsB<I>& b,
                              Accumulators<I>& c) {
  if constexpr (HasScales<I>) {
    const int thread = static_cast<int>(threadIdx.x);
    ScalesOf<I> a_scales, b_scales;
    ULPSCOPE_UNROLL
    for (int e = 0; e < I::scale_elements; ++e) {
      const Place of_a = I::a_scale(thread, e), of_b = I::b_scale(thread, e);
      if (of_a.row >= 0) a_scales.set(e, static_cast<typename I::Word>(elements.a_scale(of_a.row, of_a.column, step)));
      if (of_b.column >= 0) b_scales.set(e, static_cast<typename I::Word>(elements.b_scale(of_b.column, of_b.row, step)));
    }
    I::multiply(a.word, b.word, c.word, a_scales.word, b_scales.word);
  } else {
    I::multiply(a.word, b.word, c.word);
  }
}

/// A chain of `steps` instructions. elements.a(place, step), b(place, step) and c(place) give the bits of a register's
/// elements, a_scale(row, block, step) and b_scale(column, block, step) those of the scales of an instruction that has them;
/// d(place, bits) takes the result's.
template <class I, class Elements>
__device__ void multiply_tile(const Elements& elements, std::size_t steps) {
  using Word = typename I::Word;
  const int thread = static_cast<int>(threadIdx.x);
  I::begin();
  Accumulators<I> c;
  ULPSCOPE_UNROLL
  for (int e = 0; e < I::c_elements; ++e) c.set(e, static_cast<Word>(elements.c(I::c(thread, e))));
  for (std::size_t step = 0; step < steps; ++step) {
    OperandsA<I> a;
    OperandsB<I> b;
    ULPSCOPE_UNROLL
    for (int e = 0; e < I::a_elements; ++e)
      a.set(e, static_cast<Word>(elements.a(I::a(thread, e), step) << I::operand_shift(I::a_format)));
    ULPSCOPE_UNROLL
    for (int e = 0; e < I::b_elements; ++e)
      b.set(e, static_cast<Word>(elements.b(I::b(thread, e), step) << I::operand_shift(I::b_format)));
    multiply_step<I>(elements, step, a, b, c);
  }
  ULPSCOPE_UNROLL
  for (int e = 0; e < I::c_elements; ++e) elements.d(I::c(thread, e), c.get(e));
  I::end();
}

/// How many inner products one instruction carries out: one in each row and column of a square.
template <class I>
inline constexpr int square = I::m < I::n ? I::m : I::n;

/// Inner products [first, first + square) in a tile. The square they lie in, and where in it, changes from tile to tile, so
/// that all rows and columns of the hardware are seen; everything else is 0.
template <class I>
struct SquareOfInnerProducts {
  static constexpr int size = square<I>, squares_below = I::m / size, squares_beside = I::n / size;

  __device__ SquareOfInnerProducts(const DeviceInnerProducts& all_problems, std::size_t tile)
      : problem(all_problems),
        first(tile * size),
        row(static_cast<int>(tile % squares_below) * size),
        column(static_cast<int>(tile / squares_below % squares_beside) * size),
        turn(static_cast<int>(tile / squares_below / squares_beside % size)) {}

  /// The number of the inner product in a row or column; one that is not there for rows and columns without any.
  __device__ std::size_t in_row(int i) const { return numbered(i - row, 0); }
  __device__ std::size_t in_column(int j) const { return numbered(j - column, turn); }
  __device__ std::size_t numbered(int within, int turned) const {
    return within < 0 || within >= size ? problem.count : first + static_cast<std::size_t>((within + turned) % size);
  }

  __device__ std::uint64_t a(Place at, std::size_t step) const {
    const std::size_t i = in_row(at.row), k = step * I::k + static_cast<std::size_t>(at.column);
    return i < problem.count ? problem.a[i * problem.products + k] << storage_shift(I::a_format) : 0;
  }
  __device__ std::uint64_t b(Place at, std::size_t step) const {
    const std::size_t i = in_column(at.column), k = step * I::k + static_cast<std::size_t>(at.row);
    return i < problem.count ? problem.b[i * problem.products + k] << storage_shift(I::b_format) : 0;
  }
  /// The scale of the products of a row, or of a column, that are block number `block` of a step.
  __device__ std::uint64_t a_scale(int row_of_a, int block, std::size_t step) const {
    return scale(problem.a_scales, in_row(row_of_a), block, step);
  }
  __device__ std::uint64_t b_scale(int column_of_b, int block, std::size_t step) const {
    return scale(problem.b_scales, in_column(column_of_b), block, step);
  }
  __device__ std::uint64_t scale(const emu::Code* scales, std::size_t i, int block, std::size_t step) const {
    const std::size_t at = step * (I::k / I::scale_products) + static_cast<std::size_t>(block);
    return i < problem.count ? scales[i * problem.scales_each + at] : 0;
  }
  __device__ bool has(Place at) const { return in_row(at.row) < problem.count && in_row(at.row) == in_column(at.column); }
  __device__ std::uint64_t c(Place at) const { return has(at) ? problem.c[in_row(at.row)] : 0; }
  __device__ void d(Place at, std::uint64_t code) const {
    if (has(at)) problem.d[in_row(at.row)] = code;
  }

  DeviceInnerProducts problem;
  std::size_t first;
  int row, column, turn;
};

template <class I>
__global__ void inner_products_kernel(DeviceInnerProducts problem) {
  if constexpr (in_target<I>())
    multiply_tile<I>(SquareOfInnerProducts<I>(problem, blockIdx.x), problem.products / I::k);
  else
    unreachable_instruction();
}

/// The unsigned integer of so many bits.
template <int bits>
using Bits = std::conditional_t<
    bits == 8, std::uint8_t,
    std::conditional_t<bits == 16, std::uint16_t, std::conditional_t<bits == 32, std::uint32_t, std::uint64_t>>>;

/// A tile of a product; zeros beyond its ends.
template <class I>
struct TileOfMatrices {
  using Operand = Bits<I::operand_bits>;
  using Sum = Bits<I::accumulator_bits>;

  __device__ std::uint64_t a(Place at, std::size_t step) const {
    const std::size_t i = row + static_cast<std::size_t>(at.row), k = step * I::k + static_cast<std::size_t>(at.column);
    return i < all.m && k < all.k ? reinterpret_cast<const Operand*>(all.a)[i * all.k + k] : 0;
  }
  __device__ std::uint64_t b(Place at, std::size_t step) const {
    const std::size_t k = step * I::k + static_cast<std::size_t>(at.row), j = column + static_cast<std::size_t>(at.column);
    return k < all.k && j < all.n ? reinterpret_cast<const Operand*>(all.b)[k * all.n + j] : 0;
  }
  __device__ bool has(Place at) const {
    return row + static_cast<std::size_t>(at.row) < all.m && column + static_cast<std::size_t>(at.column) < all.n;
  }
  __device__ std::size_t index(Place at) const {
    return (row + static_cast<std::size_t>(at.row)) * all.n + column + static_cast<std::size_t>(at.column);
  }
  __device__ std::uint64_t c(Place at) const {
    return all.c != nullptr && has(at) ? reinterpret_cast<const Sum*>(all.c)[index(at)] : 0;
  }
  __device__ void d(Place at, std::uint64_t code) const {
    if (has(at)) reinterpret_cast<Sum*>(all.d)[index(at)] = static_cast<Sum>(code);
  }

  DeviceMatrices all;
  std::size_t row, column;
};

constexpr std::size_t parts(std::size_t whole, int part) {
  return (whole + static_cast<std::size_t>(part) - 1) / static_cast<std::size_t>(part);
}

template <class I>
__global__ void matrices_kernel(DeviceMatrices all, std::size_t tiles_beside) {
  const std::size_t tile = blockIdx.x;
  if constexpr (in_target<I>())
    multiply_tile<I>(TileOfMatrices<I>{all, tile / tiles_beside * I::m, tile % tiles_beside * I::n}, (all.k + I::k - 1) / I::k);
  else
    unreachable_instruction();
}

/// @throws Error where there are more blocks than a launch can have (2^31 - 1).
inline dim3 grid_of(const std::string& name, std::size_t blocks) {
  if (blocks > 0x7fffffff) throw Error("launch of " + name + ": " + std::to_string(blocks) + " blocks are too many");
  return {static_cast<unsigned>(blocks)};
}

template <class I>
void start_inner_products(const DeviceInnerProducts& problem) {
  if (problem.count == 0) return;
  launch(I::spelled, inner_products_kernel<I>, grid_of(I::spelled, parts(problem.count, square<I>)), dim3(I::threads), 0,
         problem);
}

template <class I>
void start_matrices(const DeviceMatrices& all) {
  if (all.m == 0 || all.n == 0) return;
  const std::size_t beside = parts(all.n, I::n);
  launch(I::spelled, matrices_kernel<I>, grid_of(I::spelled, parts(all.m, I::m) * beside), dim3(I::threads), 0, all, beside);
}

/// The instruction as the device is asked for it.
template <class I>
Instruction instruction(const std::string& engine) {
  Instruction entry;
  entry.operation = {I::spelled, I::a_format, I::b_format, I::accumulator_format, static_cast<std::size_t>(I::k)};
  entry.inner_products = start_inner_products<I>;
  if constexpr (HasScales<I>) {
    entry.operation.scales = I::scales;
    entry.operation.scale_format = I::scale_format;
    entry.operation.scale_products = I::scale_products;
  } else {
    entry.matrices = start_matrices<I>;
  }
  entry.operation.engine = engine_of_steps(engine, entry.operation, entry.operation.products);
  return entry;
}

}  // namespace ulpscope::gpu::cuda

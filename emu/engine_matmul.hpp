// SPDX-License-Identifier: Apache-2.0
// Whole matrix products on an emulated engine: every output bit is the one that a chain of the engine's steps gives, in
// ascending order of k, with what GEMM libraries put around it (split K, promotion, scales, the epilogue). Results do not
// depend on the number of threads or on the SIMD path. What the parts mean and in which order they are rounded:
// docs/engines.md, "Around the engine".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "emu/engine.hpp"
#include "emu/exact_matmul.hpp"
#include "emu/format.hpp"

namespace ulpscope::emu {

/// A matrix in float32 storage (float64 for float64 formats), every element a number, infinity or NaN of `format`.
template <class Float>
struct EngineOperand {
  Format format;                  ///< of every element
  std::span<const Float> values;  ///< as `shape` says, row-major
  MatrixShape shape;              ///< as stored
  bool transposed = false;        ///< stands for its transpose

  /// Rows of the matrix that takes part in the product.
  constexpr std::size_t rows() const noexcept { return transposed ? shape.columns : shape.rows; }
  /// Its columns.
  constexpr std::size_t columns() const noexcept { return transposed ? shape.rows : shape.columns; }
  /// Its element (i, j).
  constexpr Float at(std::size_t i, std::size_t j) const noexcept {
    return values[transposed ? shape.at(j, i) : shape.at(i, j)];
  }
};

/// Scales of an operand, in a grid laid over it: element (i, j) of a matrix of m by n takes scale (i / ceil(m / rows),
/// j / ceil(n / columns)), or of blocks that are given scale (i / row_block, j / column_block). One scale, one for each row or
/// column, and tiles of any extent are all grids. Empty: none.
struct ScaleGrid {
  Format format = float32;             ///< of `values`
  std::span<const float> values = {};  ///< row-major
  std::size_t rows = 0, columns = 0;   ///< extents of the grid; 0: no scales
  float whole = 1;                     ///< one more scale for all of the operand (the second level of NVFP4)
  std::size_t row_block = 0, column_block = 0;  ///< rows and columns that share a scale; 0: as the matrix' extents say

  /// Of `extent` rows, those that share a scale.
  constexpr std::size_t rows_of_block(std::size_t extent) const noexcept {
    return row_block != 0 ? row_block : (extent + rows - 1) / rows;
  }
  /// Of `extent` columns, those that share a scale.
  constexpr std::size_t columns_of_block(std::size_t extent) const noexcept {
    return column_block != 0 ? column_block : (extent + columns - 1) / columns;
  }
  /// Whether there are no scales beside `whole`.
  constexpr bool empty() const noexcept { return values.empty(); }
};

/// D = A * B on an engine.
///
/// The chain starts from C, unless `beta` is given. Where K is cut in parts (by `promote`, by `split_k`, or because scales that
/// the engine does not apply itself change along K), each part is a chain from 0; the parts are added in float32 (float64 for
/// float64), ascending, to nearest even, beginning with C or 0.
///
/// Where the engine multiplies products by 2^product_exponent, sums are multiplied back by 2^-product_exponent, as by a scale
/// of all of A: D stays A * B, and C is added to it afterwards.
template <class Float>
struct EngineMatmul {
  Engine engine;                         ///< what multiplies and sums
  EngineOperand<Float> a, b;             ///< m by k, and k by n
  std::span<const Float> c = {};         ///< row-major as D, numbers of the engine's accumulator; empty for zeros
  ScaleGrid scale_a = {}, scale_b = {};  ///< of A and B; without values there are none

  std::size_t promote = 0;  ///< products of a part; a multiple of the engine's step; 0: all
  std::size_t split_k = 1;  ///< number of chains of equal length, each a multiple of the engine's step

  Float alpha = 1;                 ///< d = alpha * sum
  std::optional<Float> beta = {};  ///< d = alpha * sum + beta * c, c being no part of the chain
  Format out = float32;            ///< of D: one rounding to nearest even

  int threads = 0;  ///< 0: as many as the machine runs at once
};

namespace detail {
class Workspace;
}  // namespace detail

/// Memory that products use one after the other. A product of a kind that came before, and of no larger extents, allocates
/// nothing where it runs in one thread, its numbers are finite, and the engine has a kernel: no exact sum, and not the
/// reference.
class MatmulWorkspace {
 public:
  MatmulWorkspace();                                         ///< Empty.
  ~MatmulWorkspace();                                        ///< Gives all of it back.
  MatmulWorkspace(MatmulWorkspace&&) noexcept;               ///< Takes the other's place.
  MatmulWorkspace& operator=(MatmulWorkspace&&) noexcept;    ///< Takes the other's place.
  detail::Workspace& memory() noexcept { return *memory_; }  ///< For engine_matmul().

 private:
  std::unique_ptr<detail::Workspace> memory_;
};

/// D in row-major order, numbers of `problem.out`; every NaN is the quiet one with neither sign nor payload. A workspace serves
/// one product at a time.
/// @throws Error where shapes, parts or scales do not fit, or at the first element that is not a value of its format.
///@{
void engine_matmul(const EngineMatmul<float>& problem, std::span<float> d);
void engine_matmul(const EngineMatmul<double>& problem, std::span<double> d);
void engine_matmul(const EngineMatmul<float>& problem, std::span<float> d, MatmulWorkspace& workspace);
void engine_matmul(const EngineMatmul<double>& problem, std::span<double> d, MatmulWorkspace& workspace);
///@}

}  // namespace ulpscope::emu

// SPDX-License-Identifier: Apache-2.0
// Operands of a matrix product in memory: rounded, laid out as they are multiplied, with their scales.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "emu/bulk.hpp"
#include "emu/engine_matmul.hpp"
#include "emu/format.hpp"
#include "emu/rounding.hpp"
#include "products/scales.hpp"
#include "products/shape.hpp"

namespace ulpscope::products {

/// How an input becomes a number of a format.
struct InputRounding {
  emu::Format format;                 ///< that it becomes
  emu::RoundingOptions options = {};  ///< of the rounding
  emu::RandomBits random = {};        ///< stochastic rounding: element i takes the random bits random.first + i
  bool of_float32 = false;            ///< first to float32, to nearest even: what hardware reads of it (tf32)
};

/// How matrix units read an input as a number of `format`: rounded to nearest even, except tf32, which is float32 without its
/// last bits (PTX ISA, wmma and mma with .tf32).
InputRounding input_rounding(emu::Format format);

/// An operand of a product before it is read.
struct MatmulOperand {
  MatmulInput input;                   ///< the tensor and how it is stored
  InputRounding rounding;              ///< how its elements become numbers
  std::optional<MatmulScales> scales;  ///< over its matrices; none: not scaled
};

/// What rounding did to the elements of an input.
struct RoundedElements {
  std::uint64_t count = 0;    ///< elements of the input
  std::uint64_t changed = 0;  ///< elements whose value is another now
  std::uint64_t lost = 0;     ///< finite ones that became infinite or NaN
};

/// All elements of a tensor, rounded, in its order. Threads: 0 for all.
template <class Float>
std::vector<Float> rounded_elements(const tensors::Tensor& tensor, const InputRounding& rounding, RoundedElements& counts,
                                    int threads = 1);

/// The matrices of an operand, row-major, A as M by K and B as K by N, with lines of zeros up to whole blocks of scales.
template <class Float>
class LoadedOperand {
 public:
  /// `k` is the products of a sum.
  LoadedOperand(const MatmulOperand& operand, MatmulSide side, std::size_t k);

  std::size_t lines() const noexcept { return lines_; }  ///< with those added
  /// The least number of lines that problems may be cut into.
  std::size_t line_block() const noexcept {
    return scales_ && scales_->line_block != MatmulScales::all ? scales_->line_block : 1;
  }
  /// What rounding did to its elements.
  const RoundedElements& rounded() const noexcept { return rounded_; }

  /// Lines [first, first + count) of a matrix and its scales; of B, all lines. `first` is a multiple of line_block().
  emu::EngineOperand<Float> matrix(std::size_t index, std::size_t first, std::size_t count) const;
  /// The scales of the same lines.
  emu::ScaleGrid scales(std::size_t index, std::size_t first, std::size_t count) const;

 private:
  void lay_out(const MatmulOperand& operand, const std::vector<Float>& elements);
  void lay_out_scales();

  MatmulSide side_;
  emu::Format format_;
  std::size_t lines_, k_;
  std::vector<Float> values_;
  std::optional<MatmulScales> scales_;
  std::vector<float> grids_;  ///< as emu::ScaleGrid wants them
  RoundedElements rounded_;
};

}  // namespace ulpscope::products

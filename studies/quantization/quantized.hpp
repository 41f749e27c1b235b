// SPDX-License-Identifier: Apache-2.0
// A tensor as a quantizer stores it: codes, and the scales that their values are multiplied by.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "emu/rounding.hpp"
#include "studies/census/scaling.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// Numbers that are not finite, where finite ones are stored in their place.
struct MadeFinite {
  std::uint64_t nan = 0;       ///< how many NaN
  std::uint64_t infinite = 0;  ///< how many infinities

  /// Counts x, unless it is finite.
  template <class Float>
  void add(Float x) noexcept {
    if (x - x == 0) return;  // NaN otherwise
    ++(x != x ? nan : infinite);
  }
  /// Whether there are none.
  bool empty() const noexcept { return nan == 0 && infinite == 0; }
};

/// Whether the scale of ScaleRule::number can be stored beside codes: its reciprocal, which values are multiplied by to get
/// back, is a normal float32.
bool is_storable(const Scaling& scaling) noexcept;
/// @throws ulpscope::Error where it cannot
void check_storable(const Scaling& scaling);

/// Codes under scales, of a tensor or of a part of it. An element's value is decode(code) times the scale of its block, in
/// nvfp4 divided by `tensor_scale`.
class QuantizedTensor {
 public:
  /// Finds the scales. Elements are multiplied by them and rounded as census does it, when they are read. Stochastic rounding:
  /// element i takes rounding_bits(seed, i). With `part`, which a rule's blocks are as ScaleMap::elements_of() has them: of
  /// these blocks alone, outside which nothing is to be read. @throws ulpscope::Error
  QuantizedTensor(const tensors::Tensor& tensor, emu::Format format, const emu::RoundingOptions& options,
                  const Scaling& scaling, std::uint64_t seed, const std::optional<BlockRange>& part = {}, int threads = 1);

  /// Elements from `first` on, row-major, as many as `codes` has: codes, and what they stand for, scales taken out, which is
  /// what a census measures; integers with a zero point are bytes, in two's complement. For any number of threads at once.
  /// Which of them were not finite, and are now.
  MadeFinite read(std::uint64_t first, std::span<double> values, std::span<emu::Code> codes) const;

  /// `float32`, `float8_e8m0fnu` or `float8_e4m3fn`; empty: there are no scales.
  const std::string& scale_format() const noexcept { return scale_format_; }
  /// Rows (of all dimensions but the last) and blocks of a row; empty: one scale.
  const std::vector<std::uint64_t>& scale_shape() const noexcept { return scale_shape_; }
  /// Of each block of the part, row-major: numbers of scale_format().
  const std::vector<float>& scales() const noexcept { return scales_; }
  /// Likewise, where codes are integers with a zero point: what is subtracted from them; else empty.
  const std::vector<std::int8_t>& zero_points() const noexcept { return zero_points_; }
  /// Of nvfp4: what every value is divided by.
  float tensor_scale() const noexcept { return tensor_scale_; }

 private:
  tensors::Tensor tensor_;
  emu::Format format_;
  emu::RoundingOptions options_;
  ScaleMap map_;
  std::uint64_t seed_;
  std::string scale_format_ = {};
  std::vector<std::uint64_t> scale_shape_ = {};
  std::vector<float> scales_ = {};
  std::vector<std::int8_t> zero_points_ = {};
  float tensor_scale_ = 1;
};

}  // namespace ulpscope::studies

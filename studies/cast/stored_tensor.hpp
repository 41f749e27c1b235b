// SPDX-License-Identifier: Apache-2.0
// A tensor and its scales as entries of a file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "emu/rounding.hpp"
#include "studies/cast/layouts.hpp"
#include "studies/census/scaling.hpp"
#include "studies/quantization/quantized.hpp"
#include "tensors/tensor.hpp"
#include "tensors/write.hpp"

namespace ulpscope::studies {

/// How a tensor is quantized.
struct Quantizing {
  emu::Format format;            ///< of the codes
  Scaling scaling;               ///< how scales follow from the elements
  emu::RoundingOptions options;  ///< how elements are rounded
  std::uint64_t seed = 0;        ///< key of stochastic rounding; the counter is the element's index
  /// Told of the elements of each piece that become finite, by any number of threads; may be empty.
  std::function<void(const MadeFinite&)> made_finite = {};
};

/// Holds the scales of a part of one tensor at a time: a file is written from its beginning to its end, and all scales at once
/// may be more than memory.
class QuantizedOne {
 public:
  /// Blocks that follow one another, and their elements, which do so as well.
  struct Part {
    BlockRange blocks = {};                                      ///< by their numbers
    ElementRange elements = {};                                  ///< all that these blocks have
    std::shared_ptr<const QuantizedTensor> quantized = nullptr;  ///< with their scales
  };

  /// Finds scales of so many blocks at once, or of a row of tiles where it has more.
  explicit QuantizedOne(std::uint64_t most_blocks = std::uint64_t{1} << 22) : most_blocks_(most_blocks) {}

  /// The part with an element, or with a block: finds its scales, unless it is the one that is held.
  ///@{
  const Part& with_element(const tensors::Tensor& tensor, const Quantizing& how, std::uint64_t index);
  const Part& with_block(const tensors::Tensor& tensor, const Quantizing& how, std::uint64_t number);
  ///@}
  /// Where its blocks lie, without their scales.
  const ScaleMap& layout(const tensors::Tensor& tensor, const Quantizing& how);
  /// What each value of nvfp4 is divided by.
  float tensor_scale(const tensors::Tensor& tensor, const Quantizing& how);

 private:
  /// Goes on to this tensor.
  void begin(const tensors::Tensor& tensor, const Quantizing& how);

  std::uint64_t most_blocks_, at_once_ = 1;
  const tensors::Source* of_ = nullptr;
  std::optional<ScaleMap> layout_;  ///< where its blocks lie
  Quantizing how_ = {};             ///< with its greatest magnitude, where that is needed for a part
  Part held_;
};

/// Why a layout that stores a format under a rule does not store a tensor of that name and shape so; empty: it does.
std::string obstacle_in(const StorageLayout& layout, const std::string& name, const std::vector<std::uint64_t>& shape,
                        emu::Format format, ScaleRule rule);

/// The entries of a tensor under a layout: its codes, and its scales where it has any. `name` is the tensor's. They read it
/// when they are written. @throws ulpscope::Error where the layout does not store such a tensor
std::vector<tensors::NamedCodes> entries_of(const StorageLayout& layout, const std::string& name, const tensors::Tensor& tensor,
                                            const Quantizing& how, const std::shared_ptr<QuantizedOne>& quantized);

}  // namespace ulpscope::studies

// SPDX-License-Identifier: Apache-2.0
// Some of a tensor's values in memory: the file's own bytes where they are floats, else read into memory of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "tensors/tensor.hpp"

namespace ulpscope::tensors {

/// Values [first, first + size) of a tensor, while this lives. Who has used them calls Source::check().
/// @pre for float, the tensor's dtype fits_float()
template <class Float>
class Chunk {
 public:
  /// @throws ulpscope::Error as Source::read()
  Chunk(const Tensor& tensor, std::uint64_t first, std::size_t size) {
    if constexpr (std::is_same_v<Float, float>) {
      own_ = tensor.source->floats(first, size);
      values_ = own_.values;
    }
    if (!values_.empty()) return;
    read_.resize(size);
    tensor.source->read(first, std::span(read_));
    values_ = read_;
  }
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;
  ~Chunk() = default;

  /// All of them.
  std::span<const Float> values() const { return values_; }

 private:
  FloatPiece own_;
  std::vector<Float> read_;
  std::span<const Float> values_;
};

}  // namespace ulpscope::tensors

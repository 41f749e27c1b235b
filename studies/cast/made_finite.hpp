// SPDX-License-Identifier: Apache-2.0
// NaN and infinities for which codes have no number, and in whose place finite ones are stored.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>

#include "emu/format.hpp"
#include "requests/parts.hpp"
#include "studies/quantization/quantized.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// Those of so many elements from `first` on.
MadeFinite not_finite_in(const tensors::Tensor& tensor, std::uint64_t first, std::uint64_t count);
/// The same of codes without scales, which have the policy's number for infinities: NaN that have no code, and infinities
/// where the format has neither.
MadeFinite made_finite_without_scales(const tensors::Tensor& tensor, emu::Format format, std::uint64_t first,
                                      std::uint64_t count);
/// Whether all elements are finite, on all threads.
bool is_finite(const tensors::Tensor& tensor);

/// How many there are of each tensor.
class MadeFiniteCounts {
 public:
  /// Another tensor, and what counts its own, from any number of threads at once; it refers to this. Infinities that saturate
  /// because that is asked for are not counted. @throws ulpscope::Error
  std::function<void(const MadeFinite&)> of(const std::string& label, const requests::RoundingRequest& rounding);
  /// A line that names the first few; empty where there are none.
  std::string words() const;

 private:
  struct OfTensor {
    std::string label;
    MadeFinite counts;
  };

  std::mutex one_at_a_time_;
  std::deque<OfTensor> tensors_;  ///< in the order of of(); the function refers to its own
};

}  // namespace ulpscope::studies

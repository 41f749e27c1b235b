// SPDX-License-Identifier: Apache-2.0
// The whole from the parts of all shards, one tensor after the other.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "studies/shards/part_file.hpp"

namespace ulpscope::studies {

/// All parts of one request, in any order.
class MergedParts {
 public:
  /// @throws ulpscope::Error where they differ in request, tensors or their samples, or elements are in none of them or in two
  explicit MergedParts(std::vector<PartReader> parts);

  const PartHead& head() const noexcept { return parts_.front().head(); }     ///< of the first
  const std::string& name() const noexcept { return parts_.front().name(); }  ///< of its file
  /// Gives away what all parts have measured of each tensor, in their order; `most` sums of each piece. Call it once.
  /// @throws ulpscope::Error where parts differ in the scales of a tensor, have more sums, or are damaged
  void for_each(const std::function<void(std::size_t tensor, const TensorPart& whole)>& take, const SumCounts& most = {});

 private:
  struct Place {
    std::size_t part;
    Piece piece;
  };

  void check_complete() const;

  std::vector<PartReader> parts_;
  std::vector<Place> places_;  ///< of all pieces, by tensor and first element
};

/// The largest magnitude of each tensor from all parts of its kind. @throws ulpscope::Error as MergedParts does, and where
/// these are other tensors than `tensors`, or have other samples
std::vector<double> merged_amax(std::vector<PartReader> parts, const std::vector<tensors::Tensor>& tensors,
                                const std::vector<std::string>& samples);

/// Holds blocks against where those of a tensor lie: `name` is that of their file. @throws ulpscope::Error where these are not
/// all of them, in each of so many formats
void check_blocks(const tensors::Tensor& tensor, const TensorPart& whole, const Scaling& scaling, std::size_t formats,
                  const std::string& name);

/// Holds the scales of a whole tensor against the largest magnitude that its parts have met: `name` is that of their file.
/// @throws ulpscope::Error where they follow from another one
void check_tensor_scales(const tensors::Tensor& tensor, const TensorPart& whole, const Scaling& scaling,
                         const std::vector<emu::Format>& formats, const std::string& name);

}  // namespace ulpscope::studies

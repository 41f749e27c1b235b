// SPDX-License-Identifier: Apache-2.0
// The scales of some outputs as a kernel takes them.
#pragma once

#include <cstddef>
#include <optional>

#include "emu/engine.hpp"
#include "verify/explain/replay.hpp"
#include "verify/explain/replay_chain.hpp"

namespace ulpscope::verify {

/// The scales of a region.
template <class Float>
class SeenScales {
 public:
  /// Those that `kernel` takes; all three must outlive it.
  SeenScales(const MatmulData& data, const Kernel& kernel, const Region& region);

  /// The scales of an output at index k, and one of them that is applied once more.
  struct Scales {
    Float a, b;                       ///< of A and of B
    std::optional<Float> again = {};  ///< applied once more
  };
  /// Whether there are any.
  bool any() const noexcept { return any_; }
  /// Those of output (i, j) of the region.
  Scales at(std::size_t i, std::size_t j, std::size_t k) const;
  /// What sums are multiplied by beside: the scales of whole operands; 1 where there are none.
  Float whole() const noexcept;
  /// What an element of row i, or of column j, is multiplied by before it is rounded.
  ///@{
  Float dequantizing_a(std::size_t i, std::size_t k) const { return at(i, 0, k).a * whole_of(data_.scale_a); }
  Float dequantizing_b(std::size_t j, std::size_t k) const { return at(0, j, k).b * whole_of(data_.scale_b); }
  ///@}
  /// Those that an engine is given, rounded to their format. @throws ulpscope::Error where one is to be applied twice otherwise
  /// than as its square.
  ChainScales of_engine(const emu::Engine& engine, std::size_t k) const;

 private:
  Scales once_more(Scales scales, bool of_b) const;
  Scales with_block(Scales scales, std::size_t row, std::size_t column, std::size_t k) const;
  Float whole_of(const DataScales& scales) const noexcept;

  const MatmulData& data_;
  const Kernel& kernel_;
  const Region& region_;
  bool any_;
};

}  // namespace ulpscope::verify

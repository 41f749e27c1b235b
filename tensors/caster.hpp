// SPDX-License-Identifier: Apache-2.0
// A tensor rounded to a format, piece by piece and in any order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "emu/bulk.hpp"
#include "emu/format.hpp"
#include "emu/rounding.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::tensors {

/// Rounds elements of one tensor. Not for several threads at once.
class Caster {
 public:
  /// Stochastic rounding: element i takes the random bits random.first + i.
  Caster(const tensors::Tensor& tensor, emu::Format format, const emu::RoundingOptions& options, emu::RandomBits random)
      : tensor_(tensor), format_(format), options_(options), random_(random) {}

  /// Codes of elements [first, first + out.size()).
  void codes(std::uint64_t first, std::span<emu::Code> out) const;
  /// Their values. For a format whose values are floats.
  void values(std::uint64_t first, std::span<float> out) const;
  /// Their values, for any format.
  void values(std::uint64_t first, std::span<double> out) const;

 private:
  /// Inputs that count as zero are those subnormal in their own format, which as floats they are not.
  bool rounds_codes() const;
  /// Integers of which doubles that stand between would lose what decides.
  bool rounds_integers() const;
  emu::RandomBits random(std::uint64_t first) const { return {random_.seed, random_.first + first}; }
  std::span<const float> floats(std::uint64_t first, std::size_t count) const;
  std::span<const double> doubles(std::uint64_t first, std::size_t count) const;

  tensors::Tensor tensor_;
  emu::Format format_;
  emu::RoundingOptions options_;
  emu::RandomBits random_;
  mutable std::vector<float> floats_;
  mutable std::vector<double> doubles_;
};

}  // namespace ulpscope::tensors

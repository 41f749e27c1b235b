// SPDX-License-Identifier: Apache-2.0
// Random choices of generated operands: a function of seed, purpose and index alone.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "emu/philox.hpp"
#include "tensors/synthetic.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::verify {

/// What numbers are drawn for; each has a stream of its own. The high half of Philox' counter is 2 + the purpose: 0 and 1 are
/// those of stochastic rounding and of synthetic tensors.
enum class Purpose : std::uint64_t { a, b, signs, exponents, positions, c };

/// The numbers of one seed and purpose.
class Draw {
 public:
  /// From index 0 on.
  Draw(std::uint64_t seed, Purpose purpose) : seed_(seed), stream_(2 + static_cast<std::uint64_t>(purpose)) {}

  /// 64 random bits of an index.
  std::uint64_t bits(std::uint64_t index) const noexcept {
    const emu::PhiloxBlock block = emu::philox4x32(seed_, index, stream_);
    return static_cast<std::uint64_t>(block.word[1]) << 32 | block.word[0];
  }
  /// An integer in [0, below), below < 2^32: the upper half of a product, off from uniform by less than 2^-32 each.
  std::uint64_t integer(std::uint64_t index, std::uint64_t below) const noexcept { return (bits(index) >> 32) * below >> 32; }
  /// A multiple of 2^-52 in [0, 1).
  double unit(std::uint64_t index) const noexcept { return static_cast<double>(bits(index) >> 12) * 0x1p-52; }
  /// 1 or -1.
  double sign(std::uint64_t index) const noexcept { return (bits(index) & 1) != 0 ? -1 : 1; }

  /// 0, 1, ... count - 1 in random order (Fisher and Yates; Durstenfeld, CACM 7 (1964), algorithm 235).
  std::vector<std::size_t> permutation(std::size_t count, std::uint64_t first_index) const {
    std::vector<std::size_t> order(count);
    for (std::size_t i = 0; i < count; ++i) order[i] = i;
    for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[integer(first_index + i, i)]);
    return order;
  }

  /// Numbers of the normal distribution with mean 0 and deviation 1, float32.
  std::vector<float> normals(std::size_t count) const {
    const std::uint64_t key = bits(~std::uint64_t{0});
    std::vector<float> values(count);
    tensors::synthetic("normal:0,1:" + std::to_string(count), key).source->read(0, std::span(values));
    return values;
  }

 private:
  std::uint64_t seed_, stream_;
};

}  // namespace ulpscope::verify

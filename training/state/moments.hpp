// SPDX-License-Identifier: Apache-2.0
// How an optimizer's momentum, m and v are stored: in a format, in a format with scales, or in 8-bit tables by block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/format.hpp"
#include "emu/rounding.hpp"
#include "studies/census/scaling.hpp"
#include "training/state/dynamic_map.hpp"

namespace ulpscope::training {

/// What a stored moment is made of.
enum class MomentCodes : std::uint8_t {
  format,     ///< numbers of the format, under the scales of `scaling` over the tensor as one row
  blocks256,  ///< numbers of the format, 256 in a row under one float32 scale, max(amax, 1e-12) / the largest finite, which
              ///< they are divided by (torchao/optim/subclass_fp8.py, quantize_fp8); as they are where 256 does not divide the
              ///< tensor
  dynamic8,   ///< numbers of dynamic_map(), 256 in a row times their amax in float32 (bitsandbytes, Adam8bit)
};

/// What one moment is stored in.
struct MomentStorage {
  emu::Format format = emu::float32;        ///< of dynamic8 none
  emu::RoundingOptions options = {};        ///< of the conversion to it
  MomentCodes codes = MomentCodes::format;  ///< which numbers
  studies::Scaling scaling = {};            ///< of MomentCodes::format
  std::size_t least = 0;                    ///< a tensor of fewer elements is left as it was computed

  friend bool operator==(const MomentStorage& a, const MomentStorage& b) {
    return a.format == b.format && a.options == b.options && a.codes == b.codes && a.scaling.word == b.scaling.word &&
           a.least == b.least;
  }
};

/// A format's word or `dynamic8`, and a word of scales (studies::parse_scaling) or `blocks256`. Formats of 8 bits and fewer
/// saturate. @throws ulpscope::Error
MomentStorage parse_moment_storage(const std::string& format, const std::string& scaling, std::size_t least);

/// Whether a tensor of so many elements stays as it was computed.
bool is_left(const MomentStorage& storage, std::size_t elements) noexcept;

/// Bits that one tensor of so many elements takes, with its scales; float32 where it is left as it was computed.
std::uint64_t stored_bits(const MomentStorage& storage, std::size_t elements) noexcept;
/// The same of a matrix, whose scales are for parts of its rows or tiles of it: one for each that is begun.
std::uint64_t stored_bits(const MomentStorage& storage, std::size_t rows, std::size_t columns) noexcept;

/// Stores a moment: rounds `values`, one tensor, and takes the scales out again. A block of blocks256 or dynamic8 that holds
/// an infinity or NaN becomes NaN. `signs` says which table dynamic8 takes. It keeps the signs of negative numbers: those
/// nearest to 0 become the greatest negative number, as in bitsandbytes' kernel.
template <class Real>
void store_moment(std::vector<Real>& values, const MomentStorage& storage, MapSigns signs);

}  // namespace ulpscope::training

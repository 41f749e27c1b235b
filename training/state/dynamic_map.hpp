// SPDX-License-Identifier: Apache-2.0
// The numbers of an 8-bit state of bitsandbytes: a table of 256 instead of exponent and fraction (Dettmers et al., 8-bit
// Optimizers via Block-wise Quantization, arXiv 2110.02861; bitsandbytes/functional.py, create_dynamic_map).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ulpscope::training {

/// Which numbers a table holds.
enum class MapSigns : std::uint8_t {
  both,      ///< from -0.99296875 to 1: for momentum and m
  positive,  ///< from 0 to 1, twice as dense: for v
};

/// A table in ascending order.
using DynamicMap = std::array<float, 256>;

/// Seven decades, from 10^-6 on, of which each is cut into twice as many equal pieces as the one below (into 1 at first, 2
/// where all are positive) and holds their middles; 0; and 1. Each number is rounded once: torch forms them in float32, where
/// some come out an ulp off, which ones depends on the processor.
const DynamicMap& dynamic_map(MapSigns signs) noexcept;

/// The place of the nearest number of a table, as the kernel finds it (csrc/kernels.cu, quantize_2D): on which side of the
/// middle x lies, that is (a + b) / 2 in float32; from the middle to the even place. Precondition: |x| <= 1.
std::size_t nearest_in(const DynamicMap& map, float x) noexcept;

}  // namespace ulpscope::training

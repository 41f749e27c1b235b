// SPDX-License-Identifier: Apache-2.0
// Whether a sum of products rounds each product.
#pragma once

#include <cstdint>

namespace ulpscope::emu {

/// How a product joins a sum.
enum class Products : std::uint8_t {
  fused,    ///< exactly: the addition rounds once, as a fused multiply-add does
  rounded,  ///< rounded to the accumulator's format first, which changes nothing where a significand of the product fits
};

}  // namespace ulpscope::emu

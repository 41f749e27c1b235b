// SPDX-License-Identifier: Apache-2.0
// What an engine makes of one inner product, exactly as its description says (emu/engine.hpp). Slow and plain: every faster
// path is tested against it.
#pragma once

#include <span>

#include "emu/engine.hpp"
#include "emu/format.hpp"

namespace ulpscope::emu {

/// Scales of blocks of `Engine::scale_products` products, one of a row of A and one of a column of B for each; a sign is
/// ignored.
struct BlockScales {
  Format format = float8_e8m0fnu;  ///< of the codes
  std::span<const Code> a, b;      ///< in ascending order of k, one a block
};

/// c + the sum of a[k] * b[k]: codes of the operands' formats in, of `engine.accumulator` for c and out. As many products as
/// the shorter span has; where they do not fill a step, zeros do (a scale of zeros is one). `scales` are read only where the
/// engine has some.
Code inner_product(const Engine& engine, Format a_format, std::span<const Code> a, Format b_format, std::span<const Code> b,
                   Code c, const BlockScales& scales = {});

}  // namespace ulpscope::emu

// SPDX-License-Identifier: Apache-2.0
// The numbers of a format at which single operations give up, and what constants of programs become in it.
#pragma once

#include <string>
#include <vector>

#include "emu/format.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::studies {

/// Where a single operation gives up.
struct LimitRow {
  std::string what;          ///< which limit, by the names below
  emu::Format format{};      ///< of operand and result
  emu::Rounding rounding{};  ///< of the operation
  double value = 0;          ///< NaN: there is none
};

///   exp_last_finite, square_last_finite  the largest x whose e^x, x^2 does not overflow
///   exp_first_zero                       the x nearest 0 whose e^x is 0
///   square_last_zero                     the largest x whose x^2 is 0
///   update_of_one_first_kept             the least x with 1 + x other than 1
///   update_of_one_first_kept_down        the least x with 1 - x other than 1
///   epsilon_1e-8, ...                    constants, rounded
/// @pre the rounding is not stochastic, and the format has a sign and a zero
std::vector<LimitRow> limits_of(emu::Format format, const emu::RoundingOptions& options);

}  // namespace ulpscope::studies

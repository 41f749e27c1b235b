// SPDX-License-Identifier: Apache-2.0
// From sums over binades to the statistics of one format and scale: every sum is put together exactly and rounded once.
#pragma once

#include "emu/format.hpp"
#include "studies/census/binade_pass.hpp"
#include "studies/census/error_sums.hpp"
#include "studies/census/wide_sum.hpp"

namespace ulpscope::studies {

/// Counts, extremes and exact sums of a part of a tensor, in one format and scale.
struct ExactSums {
  ErrorSums counts;                             ///< without its sums
  WideSum input;                                ///< of squares of inputs
  WideSum error;                                ///< of squares of errors
  WideSum lost_error;                           ///< of squares of those errors that only saturating overflow leaves finite
  WideSum sizes, signed_error, relative_error;  ///< of errors

  /// Adds what follows in the tensor.
  void merge(const ExactSums& next);
  /// Every sum rounded once.
  ErrorSums rounded() const;
};

/// Whether there are exact sums over what a format makes of binades: not where a part of a negative binade becomes zero and the
/// rest NaN, nor where evenness is that of codes without fraction.
constexpr bool has_exact_totals(emu::Format format) noexcept {
  return (format.is_signed() || !format.has_zero()) && !(format.fraction_bits == 0 && format.has_even_codes());
}

/// Precondition: `pass` is finished, and `to` is one of what it was asked, and has_exact_totals().
ExactSums exact_totals(const BinadePass& pass, const BinadeQuestion& question, const ScaledFormat& to);

}  // namespace ulpscope::studies

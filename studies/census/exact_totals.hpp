// SPDX-License-Identifier: Apache-2.0
// From sums over binades to the statistics of one format and scale: every sum is put together exactly and rounded once.
#pragma once

#include "studies/census/binade_pass.hpp"
#include "studies/census/error_sums.hpp"

namespace ulpscope::studies {

/// Precondition: `pass` is finished, and `to` is one of what it was asked.
ErrorSums exact_totals(const BinadePass& pass, const BinadeQuestion& question, const ScaledFormat& to);

}  // namespace ulpscope::studies

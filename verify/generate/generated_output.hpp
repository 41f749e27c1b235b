// SPDX-License-Identifier: Apache-2.0
// What a kernel may return for a generated case, by what is known of it: bits, signs of zeros, multiples of a small term, sums
// that leave the accumulator's range. A bound for any operands says nothing there, since it allows zeros; where no partial sum
// needs rounding it allows what a last rounding to another side returns. docs/generate.md.
#pragma once

#include <memory>

#include "verify/expected.hpp"
#include "verify/generate/generate.hpp"

namespace ulpscope::verify {

/// Whether output is judged by what is known of the case: of four kinds, and where any order of additions is exact; for others
/// the bound of a product says enough.
bool is_judged_by_kind(const CaseKind& kind, const MatmulCase& made);

/// `promised`: what the kernel is said to sum in; the accumulator of `request`, or one of a greater range. `false_alarm`: the
/// probability that a correct output of `cancellation` is rejected; no output of the other kinds is.
/// @throws ulpscope::Error where the case is none of those, or the request does not suffice for it
std::unique_ptr<Expectation> expect_generated(const CaseKind& kind, const CaseRequest& request, emu::Format promised,
                                              double false_alarm);

}  // namespace ulpscope::verify

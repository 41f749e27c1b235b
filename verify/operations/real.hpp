// SPDX-License-Identifier: Apache-2.0
// Numbers of 200 digits, for the elements that float64 does not decide. A float32, and a product of two of them, is a sum of
// powers of two within 600 bits: sums, means and sums of squares of such numbers cancel without any loss in the 664 bits here.
#pragma once

#include <boost/multiprecision/mpfr.hpp>

#include "verify/expected.hpp"

namespace ulpscope::verify {

/// A number of 200 decimal digits.
using Real =
    boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<200, boost::multiprecision::allocate_stack>,
                                  boost::multiprecision::et_off>;

/// x in two doubles, and x rounded once. Precondition: last.out is float32 or narrower.
Precise precise_of(const Real& x, const LastRounding& last);

}  // namespace ulpscope::verify

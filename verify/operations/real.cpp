// SPDX-License-Identifier: Apache-2.0
// Conversions between 200 digits and float64.
#include "verify/operations/real.hpp"

#include <algorithm>
#include <limits>

#include "emu/exact_sum.hpp"

namespace ulpscope::verify {
namespace {

/// The nearest double, held within the finite ones: all of them beyond float32 round alike.
double nearest(const Real& x) {
  constexpr double most = std::numeric_limits<double>::max();
  return std::clamp(mpfr_get_d(x.backend().data(), MPFR_RNDN), -most, most);
}

/// Away from zero: not 0 unless x is.
double away(const Real& x) { return mpfr_get_d(x.backend().data(), MPFR_RNDA); }

}  // namespace

Precise precise_of(const Real& x, const LastRounding& last) {
  // Let m be a number at which the rounding changes; it has at most 25 bits. If high + low is m then x - m = rest, and the
  // third double has its sign; otherwise |rest| is less than a 2^-53rd of |low| and cannot reach m.
  const double high = nearest(x);
  if (high == 0 && x != 0) return precise_of(Real(away(x)), last);  // all numbers that small round alike
  const Real after_high = x - high;
  const double low = nearest(after_high);
  const Real rest = after_high - low;
  emu::ExactSum sum;
  sum.add(high);
  sum.add(low);
  if (rest != 0) sum.add(away(rest));
  return {high, low, sum.rounded(last.out, last.options).value};
}

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// How far functions of double are from MPFR's, in ulps.
#pragma once

#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace ulpscope::laws {

inline constexpr double infinite = std::numeric_limits<double>::infinity(),
                        not_a_number = std::numeric_limits<double>::quiet_NaN();

class Real {
 public:
  Real() { mpfr_init2(value, 240); }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;
  ~Real() { mpfr_clear(value); }

  mpfr_t value;
};

/// |computed - exact| in units of the double spacing at exact (the subnormal spacing at least).
inline double error_in_ulp(double computed, const Real& exact) {
  Real difference;
  mpfr_sub_d(difference.value, exact.value, computed, MPFR_RNDN);
  const long exponent = mpfr_zero_p(exact.value) != 0 ? -1021 : static_cast<long>(mpfr_get_exp(exact.value));
  const long spacing = std::max(exponent - 53, -1074L);
  mpfr_mul_2si(difference.value, difference.value, -spacing, MPFR_RNDN);
  return std::fabs(mpfr_get_d(difference.value, MPFR_RNDA));
}

using Exact = void (*)(Real& out, double x);
using Computed = double (*)(double);

struct Worst {
  double error_ulp = 0, at = 0;
};
inline Worst worst_error(Computed computed, Exact exact, const std::vector<double>& inputs) {
  Worst worst;
  Real truth;
  for (const double x : inputs) {
    exact(truth, x);
    const double error = error_in_ulp(computed(x), truth);
    if (!(error <= worst.error_ulp)) worst = {error, x};
  }
  return worst;
}

}  // namespace ulpscope::laws

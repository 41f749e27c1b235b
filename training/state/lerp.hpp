// SPDX-License-Identifier: Apache-2.0
// A step from one number towards another, as torch takes it (ATen/native/Lerp.h): moments and averages are made of these.
#pragma once

namespace ulpscope::training {

/// a + share (b - a), from b where that is nearer; each operation is rounded to nearest even in Real.
template <class Real>
constexpr Real lerp(Real a, Real b, Real share) noexcept {
  const bool near_a = share < Real{0.5} && share > Real{-0.5};
  return near_a ? a + share * (b - a) : b - (b - a) * (Real{1} - share);
}

}  // namespace ulpscope::training

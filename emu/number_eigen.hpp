// SPDX-License-Identifier: Apache-2.0
// Number as a scalar of Eigen 3.4. Needs Eigen, which nothing else in emu does.
#pragma once

#include <Eigen/Core>
#include <limits>

#include "emu/config.hpp"
#include "emu/number.hpp"  // IWYU pragma: export

/// Costs stay those of the built-in types, so that Eigen sums in the same order as for them.
template <ulpscope::emu::Format F, ulpscope::emu::RoundingOptions O>
struct Eigen::NumTraits<ulpscope::emu::Number<F, O>> : Eigen::GenericNumTraits<ulpscope::emu::Number<F, O>> {
  using Number = ulpscope::emu::Number<F, O>;
  enum { RequireInitialization = 0 };

  /// What isApprox and its kin take for equal by default: eight units in the last place of 1.
  ULPSCOPE_HD static constexpr Number dummy_precision() noexcept { return ldexp(std::numeric_limits<Number>::epsilon(), 3); }
};

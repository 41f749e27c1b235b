// SPDX-License-Identifier: Apache-2.0
// What a t is held to: Student's distribution (Student, "The probable error of a mean", Biometrika 6 (1908)).
#pragma once

namespace ulpscope::training {

/// The t that a t of so many degrees of freedom is beyond, on either side of 0, with this probability where nothing differs.
/// @pre 0 < probability < 1, at least one degree of freedom
double critical_t(int degrees_of_freedom, double probability);

}  // namespace ulpscope::training

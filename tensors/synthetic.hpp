// SPDX-License-Identifier: Apache-2.0
// Tensors drawn from a distribution: float32 values that depend on the words, the seed and the index alone.
//
// Element i under seed s takes the block w0 w1 w2 w3 = Philox4x32-10 of counter (i, 1) and key s, and from it two numbers
//   u = (k + 1/2) 2^-52, k the upper 52 bits of w1 w0,    v likewise from w3 w2;    both inside (0, 1) and exact.
//   uniform:A,B         A + (B - A) u
//   normal:MEAN,SD      MEAN + SD z, z = sqrt(-2 ln u) cos(2 pi v)                       (Box and Muller 1958)
//   lognormal:MU,SIGMA  exp(MU + SIGMA z)
//   laplace:MU,B        MU + B ln(2u) for u < 1/2, MU - B ln(2(1 - u)) above             (inverse distribution function)
//   integers:A,B        min(A + floor((B - A + 1) u), B)                                   (A and B included)
//   studentt:DOF        sqrt(DOF (u^(-2/DOF) - 1)) cos(2 pi v)                            (Bailey 1994)
// in double with emu/math.hpp, rounded once to float32 (nearest even; infinite beyond the largest). docs/synthetic-tensors.md.
#pragma once

#include <cstdint>
#include <string>

#include "tensors/tensor.hpp"

namespace ulpscope::tensors {

/// Whether `input` begins with a distribution's word and a colon.
bool is_synthetic(const std::string& input);

/// The tensor that `input` describes; its elements are computed when read. @throws ulpscope::Error in one line
Tensor synthetic(const std::string& input, std::uint64_t seed);

/// The forms known, for messages.
std::string synthetic_forms();

}  // namespace ulpscope::tensors

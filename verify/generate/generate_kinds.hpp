// SPDX-License-Identifier: Apache-2.0
// The kinds of cases, one function each, and what they share. Each makes operands and facts; generate_case() does the rest.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "verify/generate/generate.hpp"

namespace ulpscope::verify {

/// Operands of the kinds with these names (case_kinds()).
///@{
MatmulCase generate_ties(const CaseRequest& request);
MatmulCase generate_thresholds(const CaseRequest& request);
MatmulCase generate_cancellation(const CaseRequest& request);
MatmulCase generate_overflow_partial(const CaseRequest& request);
MatmulCase generate_large_k_bias(const CaseRequest& request);
MatmulCase generate_alignment(const CaseRequest& request);
MatmulCase generate_order(const CaseRequest& request);
MatmulCase generate_outliers(const CaseRequest& request);
MatmulCase generate_zero_blocks(const CaseRequest& request);
MatmulCase generate_tiny_amax(const CaseRequest& request);
MatmulCase generate_subnormals(const CaseRequest& request);
MatmulCase generate_one_nan(const CaseRequest& request);
MatmulCase generate_permutation(const CaseRequest& request);
MatmulCase generate_signed_zero(const CaseRequest& request);
///@}

namespace detail {

/// Zeros of the shapes of a request.
MatmulCase blank_case(const CaseRequest& request);

/// 2^e. Any e of a double, subnormal ones included.
double power(int e);

/// Whether x is a number of the format.
bool holds(emu::Format format, double x);

/// Exponents of the powers of two that a format holds as normal numbers.
struct Exponents {
  int least, greatest;
};
Exponents normal_powers(emu::Format format);

/// 2^(a + b) as a product of a power of two of each operand.
struct Factors {
  int a, b;
};
/// Exponents a + b = e within both ranges; b is as near `wanted_b` as it can be. `fits` is false where there are none.
struct Split {
  Factors factors;
  bool fits;
};
Split split_exponent(int e, Exponents a, Exponents b, int wanted_b);

/// @throws Error where the request's K is less: `KIND: K = k is too small: ...`.
void need_k(std::string_view kind, const CaseRequest& request, std::size_t least, std::string_view why);

}  // namespace detail

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// Functions of one element, and conversions, which are the function x. docs/verify-operations.md.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "verify/operations/kernel_arithmetic.hpp"
#include "verify/operations/rows.hpp"

namespace ulpscope::verify {

/// Names of functions, as in emu/elementary.hpp: exp, log, gelu, ..., and sqrt, rcp (1/x), relu.
std::vector<std::string> elementwise_words();

/// A function of each element.
struct Elementwise {
  std::string_view function;         ///< one of elementwise_words()
  Values x;                          ///< the argument
  KernelArithmetic arithmetic = {};  ///< function_ulp: of the function, or of the exponential, tanh or erf in it
  LastRounding last;                 ///< of the output
};
/// @throws Error naming the closest functions.
std::unique_ptr<Expectation> expect_elementwise(Elementwise operation);

/// Each element rounded to another format.
struct Conversion {
  Values x;           ///< what is converted
  LastRounding last;  ///< to the format of the output
};
/// Nothing is allowed but the one rounding that `last` names.
std::unique_ptr<Expectation> expect_conversion(Conversion operation);

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// A formula as what an output is held to. docs/expressions.md.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "verify/expressions/formula.hpp"
#include "verify/operations/rows.hpp"

namespace ulpscope::verify {

/// A formula, what its names stand for, and how a kernel computes it.
struct Expression {
  std::string formula;                                      ///< docs/expressions.md
  std::vector<std::pair<std::string, Values>> inputs = {};  ///< by name
  std::vector<FormulaNumber> numbers = {};                  ///< by name
  KernelArithmetic arithmetic = {};                         ///< of what the formula does not round itself
  LastRounding last;                                        ///< of the output
  int threads = 0;                                          ///< 0: all
};
/// @throws Error in one line where the formula is malformed, or does not fit the inputs.
std::unique_ptr<Expectation> expect_expression(Expression expression);

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// What D = A.B + C should have been: enclosures of all elements by float64 sums, and exact sums where those do not decide.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "products/product.hpp"
#include "verify/expected.hpp"

namespace ulpscope::verify {

/// |a correct kernel's element before its last rounding - the exact one| <= relative * magnitude + absolute, the magnitude
/// being the sum of |a||b| and |c| of the element, scales and alpha included.
struct Allowance {
  double relative = 0, absolute = 0;  ///< factor of the magnitude, and what is allowed beside it
  /// Where `relative` holds but for a probability: the factor that holds for certain, for products whose roundings agree
  /// (roundings_agree()); else 0.
  double certain = 0;
  std::string words = {};    ///< where it comes from
  std::string refusal = {};  ///< why it is worth nothing; empty where it is worth something
  /// What is declared to multiply; nothing where no engine is. What it makes itself of sums that may leave its range is right.
  std::optional<products::ChosenEngine> engine = {};
  /// It makes infinities and NaN of greater operands, too, as split products do whose first part is infinite.
  double largest_operand = std::numeric_limits<double>::max();
};

/// D of `problem` (its own engine plays no part): inputs rounded to their formats, then exact. `problem` may go away.
/// @throws ulpscope::Error where shapes, formats or scales do not fit.
std::unique_ptr<Expectation> expect_matmul(const products::Product& problem, const Allowance& allowance);

}  // namespace ulpscope::verify

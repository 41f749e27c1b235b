// SPDX-License-Identifier: Apache-2.0
// How large the sum of |a||b| of an element of a product is at most, by its row of A and its column of B: which elements need
// no second look, without a second pass over their products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "products/product.hpp"

namespace ulpscope::verify {

/// Magnitudes of the lines of both operands.
class LineSizes {
 public:
  /// `a` and `b` are the loaded operands of `problem`. What is beyond `largest_operand` in magnitude, infinite or NaN counts as
  /// infinite.
  template <class Float>
  LineSizes(const products::Product& problem, const products::LoadedOperand<Float>& a, const products::LoadedOperand<Float>& b,
            double largest_operand);

  /// What the sum of |a||b| of an element of D is at most, whether its products are scaled or not, in float64 with K + 2
  /// roundings: (K + 3) 2^-53 of it may be missing, and 2^-50 where it underflows. NaN where a row of zeros meets an infinite
  /// column or scale.
  double most(std::uint64_t index) const;

 private:
  products::MatmulShape shape_;
  std::size_t lines_a_, lines_b_;
  std::vector<double> rows_, columns_;  ///< of a row of A the sum of magnitudes, of a column of B the greatest
  double scale_;                        ///< the greatest of all products of scales, 1 at least
};

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// How far a correct kernel's D = A.B + C may be from the exact one, from what is declared of its arithmetic.
#pragma once

#include <cstddef>
#include <optional>

#include "products/product.hpp"
#include "verify/matmul.hpp"

namespace ulpscope::verify {

/// What is declared beside the formats, K, promotion and split of the problem.
struct Arithmetic {
  /// The engine, in any order of its products; without one: additions in the accumulator's format, in any order.
  std::optional<products::ChosenEngine> engine;
  emu::Rounding rounding = emu::Rounding::nearest_even;  ///< of those additions: nearest_even or toward_zero
  /// The probability that any element of a correct output is rejected; without it none is.
  std::optional<double> false_alarm;
  /// Whether subnormal results become zero. Products and sums may then, too, as they may where the inputs' subnormals are
  /// zeros.
  bool flushes_results = false;
};

/// For how many products of the `k` of a sum the scales of both operands stay the same.
std::size_t shared_scales(const products::Product& product, std::size_t k);

/// @throws ulpscope::Error where no bound is derived, saying what works instead.
Allowance matmul_allowance(const products::Product& problem, const Arithmetic& arithmetic);

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// What float32 makes of exact integer sums: D = alpha * scale_a[i] * scale_b[j] * sum + beta * C, rounded once to the output.
#pragma once

#include <memory>

#include "products/product.hpp"
#include "verify/expected.hpp"
#include "verify/integer_sums.hpp"

namespace ulpscope::verify {

/// Sums are converted to float32 and multiplied by all scales that are there, in any order; those of stretches of K are added,
/// and C, in any order. With scales or `beta` C joins in float32; else the sums start from it, in int32.
/// @throws ulpscope::Error as IntegerSums does
std::unique_ptr<Expectation> expect_scaled_integers(const products::Product& product, IntegerOverflow overflow);

}  // namespace ulpscope::verify

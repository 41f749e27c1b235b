// SPDX-License-Identifier: Apache-2.0
// What an emulated engine returns for D = A.B + C, to the bit: the expectation of kernels whose schedule is known.
#pragma once

#include <memory>
#include <string>

#include "products/product.hpp"
#include "verify/expected.hpp"

namespace ulpscope::verify {

/// In which order the parts of a split K are added.
enum class ReductionOrder : std::uint8_t {
  ascending,
  any,  ///< as atomic additions do: an element is right if some order gives it
};

/// The greatest split whose orders are all tried: 720.
inline constexpr std::size_t most_split_in_any_order = 6;

/// D of `problem` on its engine, with its promotion and split; `overflow` is that of the last rounding. Nothing but these bits
/// is right, the sign of a zero included; NaNs are not told apart.
/// @throws ulpscope::Error as products::multiply; where ReductionOrder::any meets scales or more parts than
/// most_split_in_any_order.
std::unique_ptr<Expectation> expect_engine(const products::Product& problem, ReductionOrder order,
                                           emu::Policy overflow = emu::Policy::nonsaturating);

}  // namespace ulpscope::verify

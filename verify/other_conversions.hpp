// SPDX-License-Identifier: Apache-2.0
// Of a conversion that is wrong: what was not declared, and would make every element right.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "verify/expected.hpp"

namespace ulpscope::verify {

/// Whether every element of the output is right by an expectation and a last rounding.
using AllRight = std::function<bool(const Expectation&, const LastRounding&)>;

/// Another policy, rounding or flush, two roundings, or another largest number: the one by which wrong elements are right, and
/// by `all_right`, which is asked of that alone, all others too. Empty where there is none, or the operation is no conversion.
std::string right_by_other_conversion(const Expectation& expectation, std::span<const std::uint64_t> indices,
                                      std::span<const double> outputs, const LastRounding& last, const AllRight& all_right);

/// Where signs of zeros count: how many wrong elements are zeros of the other sign, of `all_wrong` of which these are some.
/// Empty: none.
std::string zeros_of_other_sign(const Expectation& expectation, std::span<const std::uint64_t> indices,
                                std::span<const double> outputs, const LastRounding& last, std::uint64_t all_wrong);

}  // namespace ulpscope::verify

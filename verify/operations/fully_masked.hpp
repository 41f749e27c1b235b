// SPDX-License-Identifier: Apache-2.0
// Rows of attention and softmax in which nothing is left.
#pragma once

#include <cstdint>
#include <string>

namespace ulpscope::verify {

/// What a query returns that sees no key, and a softmax of nothing but -inf: the formula is 0/0, and many kernels return zeros.
enum class FullyMasked : std::uint8_t { undeclared, nan, zero };

/// `nan` or `zero`; an empty word is undeclared. @throws Error for any other, with the option's name
FullyMasked parse_fully_masked(const std::string& word);

}  // namespace ulpscope::verify

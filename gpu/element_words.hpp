// SPDX-License-Identifier: Apache-2.0
// What an element operation computes, as one line of words, and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gpu/elementwise.hpp"

namespace ulpscope::gpu {

/// `convert float32 float8_e4m3fn nearest_even saturating nan=canonical:7f`: the kind, the formats of operands and result, the
/// rounding, what of `saturating before_rounding flush_subnormals subnormals_are_zero nans_are_cut ignores_sign relu` holds,
/// where the random bits are, the highest first, `random=8:15,24:31`, and the NaN in hexadecimal, after
/// `nan=` and the name of the NanResult.
std::string model_words(const ElementModel& model);

/// Nothing where model_words() would not write this, or of a rounding whose random bits are nowhere.
std::optional<ElementModel> parse_model(std::string_view words);

}  // namespace ulpscope::gpu

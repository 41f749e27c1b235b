// SPDX-License-Identifier: Apache-2.0
// Differences that were measured before, as lines of text.
#pragma once

#include <string>

#include "studies/diff/diff.hpp"

namespace ulpscope::studies {

/// What was found of two tensors, to the bit: what they themselves and the format of ulps do not say.
std::string diff_line(const DiffResult& result);
/// Puts it into an unmeasured() difference. @throws ulpscope::Error where it is no such line
void read_diff_line(const std::string& line, DiffResult& result);

}  // namespace ulpscope::studies

// SPDX-License-Identifier: Apache-2.0
// Rows of tensors that were measured before, as lines of text.
#pragma once

#include <string>

#include "studies/quantization/quantization.hpp"

namespace ulpscope::studies {

/// The measured numbers of a row, to the bit: what its tensor, format and scale do not say. Without quantiles of errors.
std::string row_line(const Quantized& row);
/// Puts them into a row. @throws ulpscope::Error where it is no such line
void read_row_line(const std::string& line, Quantized& row);

}  // namespace ulpscope::studies

// SPDX-License-Identifier: Apache-2.0
// By what a shard tells that others have read the same numbers, without reading what is theirs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// Of each tensor 16 hexadecimal digits: a digest (FNV-1a) of the codes of its first, middle and last 256 elements, or of as
/// many bytes where its dtype is not known. The same wherever the file lies. Another input differs in them almost surely; one
/// that differs elsewhere alone is not noticed.
std::vector<std::string> samples_of(const std::vector<tensors::Tensor>& tensors, int threads);

/// What tensors are and hold, a line each: label, dtype, shape and sample.
std::string sample_lines(const std::vector<tensors::Tensor>& tensors, int threads);

/// 16 hexadecimal digits of a text.
std::string digest_of(std::string_view text);

/// Whether a word may be a sample.
bool is_sample(std::string_view word);

}  // namespace ulpscope::studies

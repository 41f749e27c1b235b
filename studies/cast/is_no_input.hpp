// SPDX-License-Identifier: Apache-2.0
// What is read is not written over.
#pragma once

#include <string>

namespace ulpscope::studies {

/// Whether a file that will be written is, under whatever name, one that is read of `input`: a file, FILE:NAME or a checkpoint.
/// @throws ulpscope::Error naming both
void check_is_no_input(const std::string& input, const std::string& output);

}  // namespace ulpscope::studies

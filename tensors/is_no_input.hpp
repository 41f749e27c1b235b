// SPDX-License-Identifier: Apache-2.0
// What is read is not written over.
#pragma once

#include <string>
#include <vector>

namespace ulpscope::tensors {

/// Whether a file that will be written is, under whatever name, one that is read of these inputs: files, FILE:NAME, or
/// checkpoints. @throws ulpscope::Error naming both
void check_is_no_input(const std::vector<std::string>& inputs, const std::string& output);
/// The same of many outputs: what is read is looked up once. @throws ulpscope::Error naming the first that is
void check_are_no_inputs(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);
/// Whether a folder in which work is kept for --resume holds a file that is read of them. @throws ulpscope::Error naming both
void check_holds_no_input(const std::vector<std::string>& inputs, const std::string& folder);

}  // namespace ulpscope::tensors

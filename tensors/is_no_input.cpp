// SPDX-License-Identifier: Apache-2.0
// Compares files, not their names: links lead to the same one.
#include "tensors/is_no_input.hpp"

#include <filesystem>
#include <optional>

#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "tensors/checkpoint.hpp"

namespace ulpscope::tensors {
namespace {

/// The files of a checkpoint, and its index; none where it is no checkpoint.
std::vector<std::string> files_of(const std::string& input) {
  try {
    const std::optional<Checkpoint> checkpoint = checkpoint_of(input);
    if (!checkpoint) return {};
    std::vector<std::string> files = checkpoint->files;
    if (!checkpoint->index.empty()) files.push_back(checkpoint->index);
    return files;
  } catch (const Error&) {
    return {};  // what is wrong with it is said where it is read
  }
}

}  // namespace

void check_is_no_input(const std::vector<std::string>& inputs, const std::string& output) {
  std::vector<std::string> read;
  for (const std::string& input : inputs)
    for (const std::string& name : {input, input.substr(0, input.find(':'))}) {
      read.push_back(name);
      for (std::string& file : files_of(name)) read.push_back(std::move(file));
    }
  std::error_code ignored;
  for (const std::string& in : read)
    if (std::filesystem::equivalent(in, output, ignored))
      throw Error(emu::visible(output + ": is the input itself" + (in == output ? "" : ", " + in) + "; choose another name"));
}

}  // namespace ulpscope::tensors

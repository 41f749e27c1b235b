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

/// All names that may be those of files that are read of these inputs.
std::vector<std::string> read_of(const std::vector<std::string>& inputs) {
  std::vector<std::string> read;
  for (const std::string& input : inputs)
    for (const std::string& name : {input, input.substr(0, input.find(':'))}) {
      read.push_back(name);
      for (std::string& file : files_of(name)) read.push_back(std::move(file));
    }
  return read;
}

}  // namespace

void check_is_no_input(const std::vector<std::string>& inputs, const std::string& output) {
  std::error_code ignored;
  for (const std::string& in : read_of(inputs))
    if (std::filesystem::equivalent(in, output, ignored))
      throw Error(emu::visible(output + ": is the input itself" + (in == output ? "" : ", " + in) + "; choose another name"));
}

void check_holds_no_input(const std::vector<std::string>& inputs, const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (const std::string& in : read_of(inputs))
    for (const fs::path& file : {fs::absolute(in, ignored), fs::canonical(in, ignored)})  // the link, and what it leads to
      if (fs::is_regular_file(file, ignored) && fs::equivalent(file.parent_path(), folder, ignored))
        throw Error(
            emu::visible("--resume: keeps its work in " + folder + ", which holds the input " + in + "; name another folder"));
}

}  // namespace ulpscope::tensors

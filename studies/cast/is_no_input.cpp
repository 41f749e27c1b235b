// SPDX-License-Identifier: Apache-2.0
// Compares files, not their names: links lead to the same one.
#include "studies/cast/is_no_input.hpp"

#include <filesystem>
#include <optional>
#include <vector>

#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "tensors/checkpoint.hpp"

namespace ulpscope::studies {

void check_is_no_input(const std::string& input, const std::string& output) {
  std::vector<std::string> read;
  for (const std::string& name : {input, input.substr(0, input.find(':'))}) {
    read.push_back(name);
    const std::optional<tensors::Checkpoint> checkpoint = tensors::checkpoint_of(name);
    if (!checkpoint) continue;
    read.insert(read.end(), checkpoint->files.begin(), checkpoint->files.end());
    if (!checkpoint->index.empty()) read.push_back(checkpoint->index);
  }
  std::error_code ignored;
  for (const std::string& in : read)
    if (std::filesystem::equivalent(in, output, ignored))
      throw Error(emu::visible(output + ": is the input itself" + (in == output ? "" : ", " + in) + "; choose another name"));
}

}  // namespace ulpscope::studies

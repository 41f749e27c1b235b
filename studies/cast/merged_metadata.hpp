// SPDX-License-Identifier: Apache-2.0
// What the files of a checkpoint say of themselves, for one file of their tensors.
#pragma once

#include <string>
#include <vector>

#include "tensors/inputs.hpp"

namespace ulpscope::studies {

/// `__metadata__` of several files.
struct MergedMetadata {
  std::string json;                   ///< the entries of all of them that do not contradict each other; empty for none
  std::vector<std::string> disputed;  ///< the keys of the others
};
/// Of the files of inputs; where an input names some of their tensors, of those files alone that hold one that is `opened`.
/// @throws ulpscope::Error
MergedMetadata merged_metadata(const std::vector<std::string>& inputs, const tensors::Inputs& opened);

/// A line that names the disputed entries that `written`, the new file's `__metadata__`, has not; empty where it has all.
std::string disputed_words(const MergedMetadata& merged, const std::string& written);

}  // namespace ulpscope::studies

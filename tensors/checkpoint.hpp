// SPDX-License-Identifier: Apache-2.0
// Files of tensors that belong together: the shards of a checkpoint.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensors/tensor.hpp"

namespace ulpscope::tensors {

/// How the names of indices end.
inline constexpr std::string_view index_ending = ".safetensors.index.json";

/// What one input names, where that is no single file.
struct Checkpoint {
  std::vector<std::string> files;                ///< to be read, by name
  std::map<std::string, std::string> file_of{};  ///< of each tensor of an index; empty where all tensors of the files are meant
  std::string index{};                           ///< the index, for messages; empty where there is none
  std::string index_entries{};                   ///< JSON of what else it says: all but `weight_map`; empty where there is none
};

/// The files and tensors that the text of an index names; whether they are there is not asked. `path` is where it lies, for
/// messages.
/// @throws ulpscope::Error where it is no index, or names a file that does not lie beside it
Checkpoint index_of(std::string_view text, const std::string& path);

/// A folder (its index, if it has one; else its `.safetensors`, else its `.gguf`, else its `.npz` and `.npy`), an index
/// (`*.safetensors.index.json`, as transformers writes it: `weight_map` from tensors to files beside it), or a pattern of file
/// names (POSIX.1, glob()). Nothing where `path` is none of these. @throws ulpscope::Error naming what is wrong with it
std::optional<Checkpoint> checkpoint_of(const std::string& path);
/// The same of inputs; several are the files of one. @throws ulpscope::Error also where one of several is a checkpoint
std::optional<Checkpoint> checkpoint_of(const std::vector<std::string>& inputs);

/// What an input holds, and what is left out of it.
struct Opened {
  std::vector<Tensor> tensors;   ///< as open() has them
  std::vector<Tensor> unlisted;  ///< in files of an index that does not list them; of FILE:GLOB those that match
};
/// open(), and what it leaves out. @throws ulpscope::Error
Opened open_listed(const std::string& input, const OpenOptions& options = {});
/// A line that names them: `left out: ...`.
std::string unlisted_words(const std::vector<Tensor>& unlisted);

}  // namespace ulpscope::tensors

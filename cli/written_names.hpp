// SPDX-License-Identifier: Apache-2.0
// What a command writes is nothing that it reads, and nothing else that it writes.
#pragma once

#include <string>
#include <vector>

namespace ulpscope::cli {

/// A file or folder that a command line says to write.
struct WrittenName {
  std::string option;      ///< `--junit`
  std::string name;        ///< as typed
  bool is_folder = false;  ///< whether what is there may become another
};

/// Refuses, before any work, a file in a place where none can be written, one name for two outputs, a file in a folder that is
/// written too, and an output that is, under whatever name, one of the words of the command that name inputs: FILE, FILE:NAME,
/// NAME=FILE, checkpoints. @throws ulpscope::Error
void check_written(const std::vector<WrittenName>& written, const std::vector<std::string>& other_words);

}  // namespace ulpscope::cli

// SPDX-License-Identifier: Apache-2.0
// Files that come with the program, in the program itself: what its built-in studies and the examples of its help read,
// wherever it is started.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/read_file.hpp"

namespace ulpscope::files {

/// A file of the source tree that was compiled in.
struct OwnFile {
  std::string_view path;   ///< from the root of the source tree: `studies/data/digits.safetensors`
  std::string_view bytes;  ///< all of it, aligned as any type
};

/// All of them, by path.
const std::vector<OwnFile>& own_files();

/// The bytes of the own file of this path, where no file lies there; else nothing, and the file is to be read.
std::optional<std::string_view> own_file(const std::string& path);

/// What is at the path: of an own file, or by read_file(). @throws ulpscope::Error
std::string read_file_or_own(const std::string& path, std::size_t most = most_text);

}  // namespace ulpscope::files

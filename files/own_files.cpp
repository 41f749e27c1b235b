// SPDX-License-Identifier: Apache-2.0
// Finds them by path; where a file of the same path lies, that one is meant.
#include "files/own_files.hpp"

#include <algorithm>
#include <filesystem>

namespace ulpscope::files {

std::optional<std::string_view> own_file(const std::string& path) {
  const std::vector<OwnFile>& all = own_files();
  const auto found = std::find_if(all.begin(), all.end(), [&](const OwnFile& own) { return own.path == path; });
  std::error_code ignored;
  if (found == all.end() || std::filesystem::exists(path, ignored)) return std::nullopt;
  return found->bytes;
}

std::string read_file_or_own(const std::string& path, std::size_t most) {
  if (const auto own = own_file(path)) return std::string(*own);
  return read_file(path, most);
}

}  // namespace ulpscope::files

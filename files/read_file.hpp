// SPDX-License-Identifier: Apache-2.0
// Whole files into memory, and only files: a pipe would be waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "files/descriptor.hpp"
#include "files/folder.hpp"

namespace ulpscope::files {

/// A file that is open for reading.
struct OpenFile {
  Descriptor descriptor;  ///< closes it
  std::size_t bytes;      ///< its size when it was opened
};

/// A regular file, by a path whose links are followed. @throws ulpscope::Error
OpenFile open_file(const std::string& path);
/// One in a folder, and no link. @throws ulpscope::Error
OpenFile open_file(const Folder& folder, const std::string& name);

/// Whether it belongs to the user of this process: what another one wrote may be anything. @throws ulpscope::Error
void check_is_own(const OpenFile& file, const std::string& path);

/// Up to `size` bytes of a file into `to`; how many there were, 0 at its end. `path` is for messages. @throws ulpscope::Error
std::size_t read_some(const OpenFile& file, char* to, std::size_t size, const std::string& path);
/// The same from a byte on.
std::size_t read_at(const OpenFile& file, std::uint64_t first, char* to, std::size_t size, const std::string& path);
/// All of them. @throws ulpscope::Error also where there are more than `most`
std::string read_whole(const OpenFile& file, const std::string& path, std::size_t most = std::numeric_limits<std::size_t>::max());
/// Bytes read at most of a text that becomes values in memory (ledgers, manifests), which are some thirty times as long.
inline constexpr std::size_t most_of_values = std::size_t{1} << 26;
/// Bytes read at most of any other text.
inline constexpr std::size_t most_text = std::size_t{1} << 30;
/// open_file() and read_whole().
std::string read_file(const std::string& path, std::size_t most = most_text);

}  // namespace ulpscope::files

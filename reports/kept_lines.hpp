// SPDX-License-Identifier: Apache-2.0
// What long work has found so far, a line each, each with its own SHA-256: one that is torn or damaged is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "files/folder.hpp"
#include "files/growing_file.hpp"

namespace ulpscope::reports {

/// The lines of a file of a work folder. All members throw ulpscope::Error where it cannot be read or written.
class KeptLines {
 public:
  /// Reads the file, or makes it. Of lines before the first that is not whole, and none behind it.
  KeptLines(const files::Folder& folder, const std::string& name);

  /// How many there are.
  std::size_t count() const noexcept { return places_.size(); }
  /// One of them.
  std::string at(std::size_t line) const;
  /// One more, of any bytes but the end of a line.
  void add(std::string_view text);

 private:
  /// Of a text in the file.
  struct Place {
    std::uint64_t first;
    std::size_t size;
  };
  void find_lines();

  files::GrowingFile file_;
  std::vector<Place> places_;
};

}  // namespace ulpscope::reports

// SPDX-License-Identifier: Apache-2.0
// The lines of a part.json one after the other: a part of many tensors is longer than memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "reports/seal.hpp"

namespace ulpscope::reports {

/// Of one file, which is open only while it is read: there may be more parts than a process may have files.
class PartLines {
 public:
  /// Reads all of it once, to hold it to its seal. @throws ulpscope::Error where it is damaged
  explicit PartLines(std::string path);
  /// The next line, without its end; nothing behind the last. @throws ulpscope::Error also where the lines are not those of a
  /// sealed file: it was changed meanwhile
  std::optional<std::string> next();

 private:
  std::size_t read_more();

  std::string path_;
  std::uint64_t read_ = 0;  ///< bytes
  std::string ahead_;       ///< of which those from here_ on belong to lines to come
  std::size_t here_ = 0;
  SealCheck check_;
};

}  // namespace ulpscope::reports

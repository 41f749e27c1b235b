// SPDX-License-Identifier: Apache-2.0
// SHA-256 of files of any size.
#pragma once

#include <string>

#include "files/read_file.hpp"

namespace ulpscope::reports {

/// SHA-256 in lower-case hex of what has not been read yet, in portions. `path` is for messages. @throws ulpscope::Error
std::string sha256_of_file(const files::OpenFile& file, const std::string& path);

}  // namespace ulpscope::reports

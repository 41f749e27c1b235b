// SPDX-License-Identifier: Apache-2.0
// Reads the comment at the top of a file.
#include "requests/built_in_file.hpp"

#include <algorithm>

namespace ulpscope::requests {

std::string leading_comment(std::string_view text) {
  std::string comment;
  while (text.starts_with('#')) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(1, end - 1);
    while (line.starts_with(' ')) line.remove_prefix(1);
    comment += (comment.empty() ? "" : " ") + std::string(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return comment;
}

}  // namespace ulpscope::requests

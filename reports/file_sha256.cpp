// SPDX-License-Identifier: Apache-2.0
// Holds one portion of a file at a time.
#include "reports/file_sha256.hpp"

#include <cstddef>
#include <string_view>

#include "reports/sha256.hpp"

namespace ulpscope::reports {

std::string sha256_of_file(const files::OpenFile& file, const std::string& path) {
  std::string portion(std::size_t{1} << 16, '\0');
  Sha256 digest;
  while (const std::size_t got = files::read_some(file, portion.data(), portion.size(), path))
    digest.add(std::string_view(portion).substr(0, got));
  return digest.hex();
}

}  // namespace ulpscope::reports

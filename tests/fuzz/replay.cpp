// SPDX-License-Identifier: Apache-2.0
// Gives every file below a folder to every reader, for machines without libFuzzer.   usage: replay CORPUS
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/fuzz/targets.hpp"

int main(int count, char** words) {
  if (count != 2) return 2;
  const std::filesystem::path corpus = words[1];
  for (const ulpscope::fuzz::Target& target : ulpscope::fuzz::targets)
    if (!std::filesystem::is_directory(corpus / target.name)) {
      std::printf("%s: has no corpus\n", std::string(target.name).c_str());
      return 1;
    }
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(corpus)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), {});
    for (const ulpscope::fuzz::Target& target : ulpscope::fuzz::targets)
      target.read(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    ++files;
  }
  std::printf("%d files\n", files);
  return files == 0 ? 1 : 0;
}

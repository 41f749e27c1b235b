// SPDX-License-Identifier: Apache-2.0
// Gives every file below a folder to every reader, for machines without libFuzzer.   usage: replay CORPUS
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/fuzz/read_everything.hpp"
#include "tests/fuzz/read_recording.hpp"

int main(int count, char** words) {
  using namespace ulpscope::tensors;
  if (count != 2) return 2;
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(words[1])) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), {});
    const auto* const data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    read_everything(data, bytes.size(), [](const FileBytes& file) { return read_npy(file, {}); });
    read_everything(data, bytes.size(), [](const FileBytes& file) { return read_npz(file, {}); });
    read_everything(data, bytes.size(), read_safetensors_whole);
    read_everything(data, bytes.size(), [](const FileBytes& file) { return read_csv(file); });
    read_recording_input(data, bytes.size());
    ++files;
  }
  std::printf("%d files\n", files);
  return files == 0 ? 1 : 0;
}

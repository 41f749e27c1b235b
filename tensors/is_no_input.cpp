// SPDX-License-Identifier: Apache-2.0
// Compares files, not their names: links lead to the same one.
#include "tensors/is_no_input.hpp"

#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "tensors/checkpoint.hpp"

namespace ulpscope::tensors {
namespace {

/// The files of a checkpoint, and its index; none where it is no checkpoint.
std::vector<std::string> files_of(const std::string& input) {
  try {
    const std::optional<Checkpoint> checkpoint = checkpoint_of(input);
    if (!checkpoint) return {};
    std::vector<std::string> files = checkpoint->files;
    if (!checkpoint->index.empty()) files.push_back(checkpoint->index);
    return files;
  } catch (const Error&) {
    return {};  // what is wrong with it is said where it is read
  }
}

/// All names that may be those of files that are read of these inputs.
std::vector<std::string> read_of(const std::vector<std::string>& inputs) {
  std::vector<std::string> read;
  const auto add = [&](const std::string& name) {
    read.push_back(name);
    for (std::string& file : files_of(name)) read.push_back(std::move(file));
  };
  for (const std::string& input : inputs) {
    add(input);
    if (const std::size_t colon = input.find(':'); colon != std::string::npos) add(input.substr(0, colon));
  }
  return read;
}

/// What all names of a file have in common; nothing where it is not there.
std::optional<std::pair<dev_t, ino_t>> file_at(const std::string& name) {
  struct stat found {};
  if (::stat(name.c_str(), &found) != 0) return std::nullopt;
  return std::pair(found.st_dev, found.st_ino);
}

}  // namespace

void check_is_no_input(const std::vector<std::string>& inputs, const std::string& output) {
  check_are_no_inputs(inputs, {output});
}

void check_are_no_inputs(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  std::map<std::pair<dev_t, ino_t>, std::string> read;
  for (std::string& name : read_of(inputs))
    if (const auto file = file_at(name)) read.emplace(*file, std::move(name));
  for (const std::string& output : outputs)
    if (const auto file = file_at(output)) {
      const auto found = read.find(*file);
      if (found == read.end()) continue;
      const std::string& in = found->second;
      throw Error(emu::visible(output + ": is the input itself" + (in == output ? "" : ", " + in) + "; choose another name"));
    }
}

void check_holds_no_input(const std::vector<std::string>& inputs, const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (const std::string& in : read_of(inputs))
    for (const fs::path& file : {fs::absolute(in, ignored), fs::canonical(in, ignored)})  // the link, and what it leads to
      if (fs::is_regular_file(file, ignored) && fs::equivalent(file.parent_path(), folder, ignored))
        throw Error(
            emu::visible("--resume: keeps its work in " + folder + ", which holds the input " + in + "; name another folder"));
}

}  // namespace ulpscope::tensors

// SPDX-License-Identifier: Apache-2.0
// Compares names of outputs with each other, and the files with those that are read.
#include "cli/written_names.hpp"

#include <filesystem>

#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "tensors/is_no_input.hpp"

namespace ulpscope::cli {
namespace {

namespace fs = std::filesystem;

/// One spelling for each place, whether something is there or not.
fs::path place_of(const std::string& name) {
  std::error_code ignored;
  fs::path place = fs::weakly_canonical(fs::absolute(name, ignored), ignored);
  if (!place.has_filename()) place = place.parent_path();  // `report/`
  return place;
}

[[noreturn]] void refuse(const WrittenName& written, const std::string& why) {
  throw Error(emu::visible(written.option + " " + written.name + ": " + why));
}

void check_place(const WrittenName& written) {
  std::error_code ignored;
  if (fs::is_directory(written.name, ignored)) refuse(written, "is a folder; give a file");
  const fs::path folder = fs::path(written.name).parent_path();
  if (!folder.empty() && !fs::is_directory(folder, ignored)) refuse(written, "cannot be written: there is no folder " + folder.string());
}

void check_apart(const WrittenName& one, const WrittenName& other) {
  const fs::path place = place_of(one.name);
  if (place == place_of(other.name)) refuse(one, "is what " + other.option + " writes, too; choose another name");
  if (!other.is_folder) return;
  for (fs::path above = place.parent_path(); above.has_relative_path(); above = above.parent_path())
    if (above == place_of(other.name)) refuse(one, "lies in the folder that " + other.option + " writes; choose another name");
}

}  // namespace

void check_written(const std::vector<WrittenName>& written, const std::vector<std::string>& other_words) {
  std::vector<std::string> inputs;
  for (const std::string& word : other_words) {
    inputs.push_back(word);
    if (const auto named = word.find('='); named != std::string::npos) inputs.push_back(word.substr(named + 1));
  }
  for (std::size_t i = 0; i < written.size(); ++i) {
    for (std::size_t j = 0; j < written.size(); ++j)
      if (i != j) check_apart(written[i], written[j]);
    tensors::check_is_no_input(inputs, written[i].name);
    if (!written[i].is_folder) check_place(written[i]);
  }
}

}  // namespace ulpscope::cli

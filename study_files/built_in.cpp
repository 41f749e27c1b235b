// SPDX-License-Identifier: Apache-2.0
// Finds a study by its file or its name.
#include "study_files/built_in.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "files/read_file.hpp"
#include "requests/toml.hpp"
#include "training/train/train_request.hpp"

namespace ulpscope::study_files {
namespace {

/// Whether it is what `ulpscope train` takes.
bool is_train_file(const std::string& text, const std::string& name) {
  const requests::TomlValue file = requests::parse_toml(text, name);
  return file.table().find("model") != nullptr && file.table().find("study") == nullptr;
}

/// A study file with that one study, named as the file.
std::string study_of_train_file(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string();
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-') c = '_';
  training::TrainRequest request, standard;
  request.study = path;
  return "[[study]]\nkind = \"train\"\nname = \"" + name + "\"\n" +
         requests::to_toml(requests::fields_of(request), requests::fields_of(standard));
}

}  // namespace

StudyText open_study(const std::string& word) {
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(word, ignored);  // a report may have the name of a built-in study
  if (!is_folder && std::filesystem::exists(word, ignored)) {
    std::string text = files::read_file(word, requests::most_toml);
    return {word, is_train_file(text, word) ? study_of_train_file(word) : std::move(text)};
  }
  std::vector<std::string> names;
  for (const requests::BuiltInFile& built_in : built_in_studies()) {
    if (built_in.name == word) return {"studies/" + word + ".toml", std::string(built_in.text)};
    names.emplace_back(built_in.name);
  }
  if (is_folder) throw Error(word + ": is a folder; give a study file");
  throw Error(word + ": there is no such file, and no built-in study of this name; nearest: " +
              emu::comma_separated(emu::closest_words(word, names)));
}

}  // namespace ulpscope::study_files

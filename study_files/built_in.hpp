// SPDX-License-Identifier: Apache-2.0
// The studies that come with the program: the files studies/*.toml, compiled in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ulpscope::study_files {

struct BuiltIn {
  std::string_view name;  ///< the file's, without .toml
  std::string_view text;
};

const std::vector<BuiltIn>& built_in_studies();

/// What a study file answers: the comment that it begins with, in one line.
std::string question_of(std::string_view text);

struct StudyText {
  std::string name;  ///< of the file, for what is said of its errors
  std::string text;
};

/// A file, or the built-in study of that name. @throws ulpscope::Error naming the nearest
StudyText open_study(const std::string& word);

}  // namespace ulpscope::study_files

// SPDX-License-Identifier: Apache-2.0
// The studies that come with the program: the files studies/*.toml, compiled in.
#pragma once

#include <string>
#include <vector>

#include "requests/built_in_file.hpp"

namespace ulpscope::study_files {

/// Their names and texts.
const std::vector<requests::BuiltInFile>& built_in_studies();

struct StudyText {
  std::string name;  ///< of the file, for what is said of its errors
  std::string text;
};

/// A file, or the built-in study of that name. @throws ulpscope::Error naming the nearest
StudyText open_study(const std::string& word);

}  // namespace ulpscope::study_files

// SPDX-License-Identifier: Apache-2.0
// The JSON schema of study files, of all kinds.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "requests/field.hpp"

namespace ulpscope::study_files {

/// `choices` has the words that may stand for a field's value, none where any may.
std::string schema(const std::function<std::vector<std::string>(const requests::Field&)>& choices);

}  // namespace ulpscope::study_files

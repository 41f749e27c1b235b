// SPDX-License-Identifier: Apache-2.0
// Kinds and their fields as a schema.
#include "study_files/schema.hpp"

#include <deque>

#include "requests/json_schema.hpp"
#include "study_files/kinds.hpp"

namespace ulpscope::study_files {

std::string schema(const std::function<std::vector<std::string>(const requests::Field&)>& choices) {
  std::vector<std::unique_ptr<Study>> studies;
  std::deque<requests::Fields> fields;
  std::vector<requests::SchemaKind> described;
  for (const Kind& kind : kinds()) {
    studies.push_back(kind.make());
    fields.push_back(studies.back()->fields());
    described.push_back({kind.name, kind.help, &fields.back()});
  }
  return requests::json_schema(described, choices);
}

}  // namespace ulpscope::study_files

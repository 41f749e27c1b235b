// SPDX-License-Identifier: Apache-2.0
// The JSON schema of study files, by which editors complete and check them (Taplo; VS Code's Even Better TOML).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "requests/field.hpp"

namespace ulpscope::requests {

/// One kind of `[[study]]` table.
struct SchemaKind {
  std::string name, help;          ///< its word, and a sentence
  const Fields* fields = nullptr;  ///< its keys; not owned
};

/// JSON Schema, draft 7, of files of [[study]] tables of these kinds. `choices` has the words that may stand for a field's
/// value, none where any may.
std::string json_schema(const std::vector<SchemaKind>& kinds,
                        const std::function<std::vector<std::string>(const Field&)>& choices);

}  // namespace ulpscope::requests

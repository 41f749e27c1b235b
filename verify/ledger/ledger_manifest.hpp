// SPDX-License-Identifier: Apache-2.0
// The cases of one run, as a CSV file names them: which output belongs to which case of a ledger.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ulpscope::verify {

/// A line of a manifest: a case to record.
struct ManifestCase {
  std::size_t row;                            ///< of the file, the header being row 1
  std::string name, output;                   ///< the case; the file of its output
  std::map<std::string, std::string> inputs;  ///< by role (`A`, `scale_b`): those that are not where they were recorded
};

/// RFC 4180: a header with the columns `case` and `output`, all others being roles of inputs, whose cells may be empty.
/// @throws ulpscope::Error with the row where it is none, and where a case is there twice.
std::vector<ManifestCase> parse_manifest(std::string_view text, const std::string& file);

}  // namespace ulpscope::verify

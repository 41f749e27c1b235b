// SPDX-License-Identifier: Apache-2.0
// What this build was made from.
#pragma once

#include <string>

namespace ulpscope::reports {

std::string version();  ///< of the project
std::string commit();   ///< 40 hex digits, `-dirty` behind them when tracked files differed; `unknown` without git

/// What tells a file of another program from those of this one, in words that follow its name; empty where nothing does.
inline std::string unlike_this_program(const std::string& its_version, const std::string& its_commit) {
  if (its_version == version() && its_commit == commit()) return {};
  return "is of version " + its_version + " (" + its_commit + "), this is " + version() + " (" + commit() + ")";
}

}  // namespace ulpscope::reports

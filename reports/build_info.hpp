// SPDX-License-Identifier: Apache-2.0
// What this build was made from.
#pragma once

#include <string>

namespace ulpscope::reports {

std::string version();  ///< of the project
std::string commit();   ///< 40 hex digits, `-dirty` behind them when tracked files differed; `unknown` without git

}  // namespace ulpscope::reports

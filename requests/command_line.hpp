// SPDX-License-Identifier: Apache-2.0
// Words of the command line as a line that a shell reads as these words.
#pragma once

#include <string>
#include <vector>

namespace ulpscope::requests {

/// The command as it could be typed into a shell; `arguments` are without the program's name.
std::string command_line(const std::vector<std::string>& arguments);

}  // namespace ulpscope::requests

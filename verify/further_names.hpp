// SPDX-License-Identifier: Apache-2.0
// What kernels may return beside their output, by the names of the options that take it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ulpscope::verify {

/// `lse` of `attention`; of most operations nothing. `operation`: a name of check_operations(), or any word, which has nothing.
std::vector<std::string> further_names(std::string_view operation);

}  // namespace ulpscope::verify

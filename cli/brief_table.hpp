// SPDX-License-Identifier: Apache-2.0
// Tables of many tensors as text that fits a terminal: a few columns, and names without what all of them begin with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/table.hpp"

namespace ulpscope::cli {

/// What all of the names begin with, up to the last `:` in it, or else `/`; empty where there is no such.
std::string common_file(const std::vector<std::string>& names);

/// The columns of these names, in this order, those of text without what all of its cells begin with.
reports::Table brief(const reports::Table& table, const std::vector<std::string_view>& columns);

}  // namespace ulpscope::cli

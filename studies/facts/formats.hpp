// SPDX-License-Identifier: Apache-2.0
// What is to be known of formats, computed: the table of `ulpscope formats`.
#pragma once

#include <vector>

#include "emu/format.hpp"
#include "reports/table.hpp"

namespace ulpscope::studies {

/// formats.csv: a row a format, in this order.
reports::Table formats_table(const std::vector<emu::Format>& formats);

}  // namespace ulpscope::studies

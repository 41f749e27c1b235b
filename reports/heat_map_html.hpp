// SPDX-License-Identifier: Apache-2.0
// A heat map as tables that stand beside each other where there is room.
#pragma once

#include <string>

#include "reports/figure.hpp"

namespace ulpscope::reports {

/// The map as a table of HTML: each cell coloured, its whole words as a tooltip.
std::string heat_map_html(const HeatMap& map);

/// A name that may be broken after its separators.
std::string breakable(const std::string& name);

}  // namespace ulpscope::reports

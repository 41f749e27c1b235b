// SPDX-License-Identifier: Apache-2.0
// A page with the content of a real one: three tensors, four formats, a sweep over loss scales.
#pragma once

#include "reports/page.hpp"

namespace ulpscope::reports {

/// A gradient lost in the 8-bit formats, an activation with outliers, a weight that every format holds.
Page sample_page();

}  // namespace ulpscope::reports

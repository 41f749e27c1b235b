// SPDX-License-Identifier: Apache-2.0
// What devices have, as a table.
#pragma once

#include <span>

#include "gpu/device.hpp"
#include "reports/table.hpp"

namespace ulpscope::studies {

/// One row for each operation of each device; one without an operation for a device that has none. Of an element operation `b`
/// is empty where it takes one operand, `accumulator` is the result's format, and `engine` says what is computed.
reports::Table device_list(std::span<const gpu::Device> devices);

}  // namespace ulpscope::studies

// SPDX-License-Identifier: Apache-2.0
// How often this program has asked for memory.
#pragma once

#include <cstddef>

namespace ulpscope::test {

/// Calls of operator new since the program started, of all threads.
std::size_t allocations_so_far();

}  // namespace ulpscope::test

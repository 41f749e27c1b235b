// SPDX-License-Identifier: Apache-2.0
// Threads shared by all that a command does: a parallel loop inside another one takes threads that the other leaves idle.
#pragma once

#include <cstddef>
#include <functional>

namespace ulpscope::tensors {

/// Calls act(i) once for every i < count, on `threads` threads (0: all) and in any order. What it throws is thrown here.
/// It ends between two of them where this thread is asked to stop (emu/stop.hpp).
void for_each_index(std::size_t count, int threads, const std::function<void(std::size_t)>& act);

}  // namespace ulpscope::tensors

// SPDX-License-Identifier: Apache-2.0
// Highway's library measures the resolution of the clock whenever it is loaded (hwy/nanobenchmark.h, for its benchmarks), which
// takes more than half of the time in which a command starts. A program's own function is what the library calls instead;
// nothing here reads it.
#include <cstdint>

namespace hwy::platform {

std::uint64_t TimerResolution();
std::uint64_t TimerResolution() { return 1; }

}  // namespace hwy::platform

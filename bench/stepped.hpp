// SPDX-License-Identifier: Apache-2.0
// How many instructions on vectors a call executes: a figure of the program, whatever the machine does meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace ulpscope::bench {

/// Of one call of `work`, in a child of this process that is stepped through: the instructions with a VEX or EVEX prefix, which
/// are those on vectors of AVX and AVX-512, their loads and stores, and a few on words (BMI). Nothing on other processors than
/// x86-64, or where processes may not be traced. Precondition: the process has no other thread.
std::optional<std::uint64_t> vector_instructions(const std::function<void()>& work);

/// How many more `work` executes than `less`. Nothing unless the environment variable ULPSCOPE_BENCH_COUNT is set, for it takes
/// tens of microseconds an instruction.
std::optional<double> more_vector_instructions(const std::function<void()>& work, const std::function<void()>& less);

}  // namespace ulpscope::bench

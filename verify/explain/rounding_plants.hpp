// SPDX-License-Identifier: Apache-2.0
// How well `explain expr` finds where a kernel rounds: fused kernels, written as plain loops that share nothing with the
// evaluation of formulas, with roundings of some of their intermediate results, on random numbers.
#pragma once

#include <cstdint>
#include <functional>

#include "reports/table.hpp"

namespace ulpscope::verify {

/// explain_roundings.csv, a row for each formula and number of roundings that were planted: `trials`, and how many of them
/// ended as
///   named    the formula with these roundings is the likeliest
///   grouped  it is among those that the output does not tell from the likeliest
///   wrong    another one is named; of kernels without roundings: any
///   none     none is named, which is right of kernels without roundings
/// Kernels compute in float32 and round what is planted to bfloat16 or float16; both are looked for. A plant that leaves no
/// trace in its output is drawn anew. The same rows for the same trials and seed on every machine.
reports::Table explain_roundings_table(std::size_t trials, std::uint64_t seed,
                                       const std::function<void(std::uint64_t done, std::uint64_t total)>& progress = {});

}  // namespace ulpscope::verify

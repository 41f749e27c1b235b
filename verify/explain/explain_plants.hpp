// SPDX-License-Identifier: Apache-2.0
// How well explain() finds what is known to be there: kernels with a planted cause, written as plain loops that share nothing
// with the replay, on random shapes, formats and numbers.
#pragma once

#include <cstdint>
#include <functional>

#include "reports/table.hpp"

namespace ulpscope::verify {

/// explain_plants.csv, one row for each kind of cause: `trials`, and how many of them ended as
///   named      the planted cause is the first one named
///   grouped    it is among those that cannot be told apart, or a simpler cause has the same output
///   undecided  too little differs to tell a cause from chance
///   wrong      something else is named
///   none       none of the hypotheses; right for causes that explain() does not know, whose names begin with `unknown:`
/// A plant that leaves no trace in its output is drawn anew. The same rows for the same trials and seed on every machine.
reports::Table explain_plants_table(std::size_t trials, std::uint64_t seed,
                                    const std::function<void(std::uint64_t done, std::uint64_t total)>& progress = {});

}  // namespace ulpscope::verify

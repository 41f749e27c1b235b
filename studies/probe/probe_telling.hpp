// SPDX-License-Identifier: Apache-2.0
// Inner products that tell two engines apart whose alignments cut at different places: terms with a bit on either side of
// the one cut or the other, at all exponents where something else begins.
#pragma once

#include <vector>

#include "emu/engine.hpp"
#include "studies/probe/probe_bench.hpp"
#include "studies/probe/probe_layout.hpp"

namespace ulpscope::studies {

/// Inner products on which the answers of the engines differ, one for each exponent, without asking the unit; the same for
/// every seed.
std::vector<ProbeCase> telling_cases(const ProbeBench& bench, const ProbeLayout& layout, const emu::Engine& x,
                                     const emu::Engine& y);

}  // namespace ulpscope::studies

// SPDX-License-Identifier: Apache-2.0
// What the accumulation study found, and its page: 8-bit inputs first, then what promotion gives back, then the others.
#pragma once

#include <string>
#include <vector>

#include "reports/page.hpp"
#include "studies/accumulation/accumulation.hpp"

namespace ulpscope::studies {

/// `sm_90 on float8_e4m3fn, promoted every 128`: an engine and its formats in prose; a float32 accumulator goes without saying.
std::string words_of(const Accumulation& accumulation);

/// What is seen in the rows, which are those of `config`: of all distributions at once, with the value of the worst.
std::vector<reports::Finding> accumulation_findings(const std::vector<AccumulationRow>& rows, const AccumulationConfig& config);

/// From accumulation.csv, or a table with more columns in front. A colour is an engine, a marker an input format, dashes are
/// promotion, the same in all of them.
std::vector<reports::Figure> accumulation_figures(const reports::Table& table);

/// Without the command that reproduces it.
reports::Page accumulation_page(const std::vector<AccumulationRow>& rows, const AccumulationConfig& config);

}  // namespace ulpscope::studies

// SPDX-License-Identifier: Apache-2.0
// A verdict as plain text: what `ulpscope verify` prints, and what a failing test of a kernel shows.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "products/product.hpp"
#include "reports/table.hpp"
#include "verify/baseline.hpp"
#include "verify/verdict.hpp"

namespace ulpscope::verify {

/// What was multiplied by what: a line each for A, B, C and D, which end with LF.
std::string heading_of(const products::Product& problem);

/// The tables of a verdict.
struct VerdictTables {
  reports::Table counts, histogram, worst;  ///< one row; buckets; elements
};
/// The tables that `ulpscope verify --text` prints.
VerdictTables tables_of(const Verdict& verdict);

/// The heading, the verdict in a sentence, the counts, the histogram and the worst elements. Tables wider than `width` columns
/// are folded; without it they are as wide as the reports'.
std::string verdict_text(const std::string& heading, const Verdict& verdict, std::optional<std::size_t> width = {});
/// The same with some of the rows only.
std::string verdict_text(const std::string& heading, const Verdict& verdict, const VerdictTables& tables,
                         std::optional<std::size_t> width = {});
/// The heading, the verdict in a sentence, and the errors of both side by side, which are `table`.
std::string verdict_text(const std::string& heading, const BaselineVerdict& verdict, const reports::Table& table,
                         std::optional<std::size_t> width = {});

}  // namespace ulpscope::verify

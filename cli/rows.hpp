// SPDX-License-Identifier: Apache-2.0
// Which rows of a table are printed: --where, --sort, --rows. What their words mean: reports/selection.hpp.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "reports/selection.hpp"
#include "reports/table.hpp"

namespace ulpscope::cli {

/// Rows that text on a terminal, or of many tensors, has unless --rows says another number.
inline constexpr std::size_t default_rows = 40;

/// A number of rows, 0 for `all`. @throws ulpscope::Error
std::size_t parse_rows(const std::string& word);

/// What --rows says; `otherwise` where it is not given.
std::size_t most_rows(const CommonOptions& options, std::size_t otherwise);

/// The first `most` rows, 0 for all; a remark says how many are left out.
reports::Table first_rows(const reports::Table& table, std::size_t most);

/// Indices of the rows that --where keeps, in the order of --sort, or of `order` where that is not given.
/// @throws ulpscope::Error naming the nearest columns where one is not there
std::vector<std::size_t> chosen_rows(const reports::Table& table, const CommonOptions& options,
                                     const std::vector<reports::Order>& order = {});

/// The table of these rows.
reports::Table chosen(const reports::Table& table, const CommonOptions& options);

/// What --where leaves of a part of a table, silently.
reports::Table kept_of(const reports::Table& part, const CommonOptions& options);

/// Says that --where leaves none of so many rows, where there are any.
void remark_none(std::size_t rows);

/// Of tables that are shown together: each is asked for the columns that it has, one of them must have each.
std::vector<reports::Table> chosen_together(const std::vector<reports::Table>& tables, const CommonOptions& options);

/// For what writes every row to files; `instead` says so, as `-o DIR: a report holds`. @throws ulpscope::Error if one of the
/// options is given that choose rows; a remark if one says how a table is printed
void refuse_choice(const CommonOptions& options, const std::string& instead);

}  // namespace ulpscope::cli

// SPDX-License-Identifier: Apache-2.0
// Tables by names of columns.
#include "reports/table.hpp"

#include <catch2/catch_test_macros.hpp>
#include <stdexcept>

using namespace ulpscope::reports;

TEST_CASE("rows of named cells name the columns, once and in one order", "[table]") {
  Table table{"t", {}, {}};
  table.add({{"a", "x"}, {"b", whole(3)}});
  table.add({{"a", "y"}, {"b", 0.5}});
  CHECK(table.columns == std::vector<std::string>{"a", "b"});
  CHECK(table.rows == std::vector<std::vector<Cell>>{{"x", std::int64_t{3}}, {"y", 0.5}});
  CHECK_THROWS_AS(table.add({{"b", "x"}, {"a", "y"}}), std::logic_error);
  CHECK_THROWS_AS(table.add({{"a", "x"}}), std::logic_error);
  CHECK_THROWS_AS(table.add({{"a", "x"}, {"b", "y"}, {"c", "z"}}), std::logic_error);
  CHECK(table.rows.size() == 2);
}

TEST_CASE("columns are found by name, tables appended", "[table]") {
  const Table more{"m", {"a", "b"}, {{"x", "y"}}};
  Table table{"t", {}, {}};
  table.append(more);
  table.append(more);
  CHECK(table.columns == more.columns);
  CHECK(table.rows.size() == 2);
  CHECK(table.column("b") == 1);
  CHECK(table.has("a"));
  CHECK_FALSE(table.has("c"));
  CHECK_THROWS_AS(table.column("c"), std::out_of_range);
}

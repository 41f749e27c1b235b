// SPDX-License-Identifier: Apache-2.0
// Tables as text of a given width.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <limits>
#include <sstream>

#include "reports/render.hpp"

using namespace ulpscope::reports;

namespace {

Table census() {
  Table table{.name = "census",
              .columns = {"tensor", "format", "rounding", "policy", "count", "to_zero", "overflow", "max_rel_error", "sqnr_db"},
              .rows = {}};
  const auto add = [&](const char* tensor, const char* format, std::int64_t to_zero, double error, double sqnr) {
    table.rows.push_back(
        {tensor, format, "nearest_even", "nonsaturating", std::int64_t{1048576}, to_zero, std::int64_t{0}, error, sqnr});
  };
  add("grad", "float16", 1234567, 1, 38.123456);
  add("grad", "bfloat16", 0, 0.00390625, 55.5);
  add("weight", "float16", 0, 1.0 / 3, std::numeric_limits<double>::infinity());
  return table;
}

std::size_t longest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

}  // namespace

TEST_CASE("what is the same in every row is stated once, numbers are right-aligned with five digits") {
  CHECK(to_text(census(), {.width = 80, .key_columns = 2}) ==
        "rounding nearest_even, policy nonsaturating, count 1048576, overflow 0\n"
        "\n"
        "tensor  format    to_zero  max_rel_error  sqnr_db\n"
        "grad    float16   1234567              1   38.123\n"
        "grad    bfloat16        0      0.0039062     55.5\n"
        "weight  float16         0        0.33333      inf\n");
}

TEST_CASE("a table wider than the terminal is folded into blocks that repeat the key columns") {
  CHECK(to_text(census(), {.width = 40, .key_columns = 2}) ==
        "rounding nearest_even,\n"
        "policy nonsaturating, count 1048576,\n"
        "overflow 0\n"
        "\n"
        "tensor  format    to_zero  max_rel_error\n"
        "grad    float16   1234567              1\n"
        "grad    bfloat16        0      0.0039062\n"
        "weight  float16         0        0.33333\n"
        "\n"
        "tensor  format    sqnr_db\n"
        "grad    float16    38.123\n"
        "grad    bfloat16     55.5\n"
        "weight  float16       inf\n");
}

TEST_CASE("no line is wider than the terminal, and no column is lost") {
  const std::size_t width = GENERATE(range<std::size_t>(40, 140));
  const auto table = census();

  const auto text = to_text(table, {.width = width, .key_columns = 2});

  CHECK(longest_line(text) <= width);
  for (const auto& column : table.columns) CHECK(text.find(column) != std::string::npos);
}

TEST_CASE("rows left out are counted, and constant still means all rows") {
  const auto text = to_text(census(), {.width = 120, .max_rows = 2, .key_columns = 2});

  CHECK(text.find("weight") == std::string::npos);
  CHECK(text.find("tensor grad,") == std::string::npos);
  CHECK(text.ends_with("... 1 more row; --rows all prints it\n"));
}

TEST_CASE("numbers that differ beyond the fifth digit do not count as constant") {
  const Table table{.name = "t", .columns = {"k", "x"}, .rows = {{"a", 1.0}, {"b", 1.0000001}}};

  CHECK(to_text(table) == "k  x\na  1\nb  1\n");
}

TEST_CASE("a lone row states its words and tables its numbers") {
  auto table = census();
  table.rows.resize(1);

  CHECK(to_text(table, {.width = 80, .key_columns = 2}) ==
        "rounding nearest_even, policy nonsaturating\n"
        "\n"
        "tensor  format     count  to_zero  overflow  max_rel_error  sqnr_db\n"
        "grad    float16  1048576  1234567         0              1   38.123\n");
}

TEST_CASE("a column without a cell that says anything is not stated") {
  const Table table{.name = "t",
                    .columns = {"k", "none", "x", "same"},
                    .rows = {{"a", "", std::int64_t{1}, "s"}, {"b", "", std::int64_t{2}, "s"}}};
  CHECK(to_text(table) == "same s\n\nk  x\na  1\nb  2\n");
}

TEST_CASE("a key column that is constant is stated and the next one takes its place") {
  auto table = census();
  table.rows.resize(2);

  CHECK(to_text(table, {.width = 40, .key_columns = 1}).find("tensor grad") == 0);
}

TEST_CASE("control characters of a name do not reach the terminal") {
  const auto text = to_text({.name = "t", .columns = {"x", "y"}, .rows = {{"a\x1b[2J\nb", std::int64_t{1}}}});

  CHECK(text.find("a\\x1b[2J\\x0ab") != std::string::npos);
}

TEST_CASE("with a line for each row columns that do not fit are left out and counted") {
  CHECK(to_text(census(), {.width = 45, .key_columns = 2, .fit = Fit::one_line}) ==
        "rounding nearest_even, policy nonsaturating,\n"
        "count 1048576, overflow 0\n"
        "\n"
        "tensor  format    to_zero  max_rel_error\n"
        "grad    float16   1234567              1\n"
        "grad    bfloat16        0      0.0039062\n"
        "weight  float16         0        0.33333\n"
        "... 1 more column by --csv or on a wider terminal\n");
}

TEST_CASE("with a line for each row names give way before key columns, their parts from the left, and keep both ends") {
  auto table = census();
  table.rows[0][0] = "encoder.layer.11.attention.output.LayerNorm.weight";
  const auto line = [&](std::size_t width) {
    const auto text = to_text(table, {.width = width, .max_rows = 1, .key_columns = 2, .fit = Fit::one_line});
    const auto start = text.find("float16\n");
    const auto name = text.substr(text.rfind('\n', start) + 1, start - text.rfind('\n', start) - 1);
    return name.substr(0, name.find(' '));
  };

  CHECK(line(59) == "encoder.layer.11.attention.output.LayerNorm.weight");
  CHECK(line(58) == "e.layer.11.attention.output.LayerNorm.weight");
  CHECK(line(50) == "e.l.11.attention.output.LayerNorm.weight");
  CHECK(line(40) == "e.l.11.a.o.LayerNorm.weight");
  CHECK(line(33) == "e.l.11.a.o.L.weight");
  CHECK(line(26) == "e.l.11.....weight");
  CHECK(to_text(table, {.width = 40, .max_rows = 1, .key_columns = 2, .fit = Fit::one_line})
            .ends_with("... 2 more rows; --rows all prints them\n"
                       "... 3 more columns and whole names by --csv or on a wider terminal\n"));
}

TEST_CASE("with a line for each row no line is wider than the terminal") {
  const std::size_t width = GENERATE(range<std::size_t>(70, 180));
  auto table = census();
  table.rows[1][0] = std::string(70, 'n');
  table.rows[2][0] = "\u00fcber" + std::string(40, 'm') + "\u00e4\u00e4\u00e4";

  const auto text = to_text(table, {.width = width, .key_columns = 2, .fit = Fit::one_line});

  CHECK(longest_line(text) <= width + 4);  // bytes of the four names beyond one a letter
  CHECK(std::count(text.begin(), text.end(), '\n') <= 3 + 4 + 1);
}

TEST_CASE("percentages are never 0 of what is there nor 100 of what is not all") {
  const Table table{
      .name = "t", .columns = {"x", "lost%"}, .rows = {{"a", 1e-9}, {"b", 99.9999999}, {"c", 0.0}, {"d", 12.3456}}};

  CHECK(to_text(table) == "x    lost%\na  <0.0001\nb   >99.99\nc        0\nd     12.3\n");
}

TEST_CASE("a table without rows is its header") {
  CHECK(to_text({.name = "t", .columns = {"x", "y"}, .rows = {}}) == "x  y\n");
}

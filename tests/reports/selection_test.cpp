// SPDX-License-Identifier: Apache-2.0
// Conditions and orders on the rows of tables.
#include "reports/selection.hpp"

#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <string>

#include "emu/error.hpp"

using namespace ulpscope::reports;

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
constexpr std::int64_t two_to_53 = std::int64_t{1} << 53;

Cell count(std::int64_t value) { return value; }

Table sample() {
  return {.name = "t",
          .columns = {"name", "count", "to_zero", "sqnr_db", "bits"},
          .rows = {{"a", count(100), count(30), 31.5, "8"},
                   {"b", count(1000), count(40), nan, "16"},
                   {"c", count(0), count(0), -inf, ""},
                   {"d", count(10), count(5), inf, "none"},
                   {"e", count(10), count(5), 31.5, "4"}}};
}

/// The first cells of the rows that are left, in their order.
std::string names(const Table& table, const Selection& selection) {
  std::string text;
  for (const std::size_t row : selected(table, selection)) text += std::get<std::string>(table.rows[row][0]);
  return text;
}
std::string where(const Table& table, const std::string& words) { return names(table, {{parse_condition(words)}, {}}); }
std::string sorted(const Table& table, const std::string& words) { return names(table, {{}, {parse_order(words)}}); }

template <class Read>
std::string refusal(Read read) {
  try {
    read();
  } catch (const ulpscope::Error& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("numbers compare by value") {
  CHECK(where(sample(), "sqnr_db > 31.5") == "d");
  CHECK(where(sample(), "sqnr_db >= 31.5") == "ade");
  CHECK(where(sample(), "sqnr_db<31.5") == "c");
  CHECK(where(sample(), "sqnr_db <=3.15e1") == "ace");
  CHECK(where(sample(), "sqnr_db == 31.50") == "ae");
  CHECK(where(sample(), "sqnr_db == -inf") == "c");
  CHECK(where(sample(), "count > 10") == "ab");
  CHECK(where(sample(), " count  !=  +10 ") == "abc");
  CHECK(where(sample(), "count < 10.5") == "cde");
}

TEST_CASE("counts and numbers compare exactly") {
  const Table table{
      .name = "t",
      .columns = {"name", "count"},
      .rows = {{"a", count(two_to_53)}, {"b", count(two_to_53 + 1)}, {"c", count(std::numeric_limits<std::int64_t>::max())}}};

  CHECK(where(table, "count == 9007199254740993") == "b");
  CHECK(where(table, "count > 9007199254740992.0") == "bc");
  CHECK(where(table, "count < 9223372036854775808") == "abc");  // 2^63, no count
  CHECK(where(table, "count > -1e300") == "abc");
  CHECK(where(table, "count >= 9223372036854775807") == "c");
}

TEST_CASE("comparisons with nan are false but for !=, and == nan asks for it") {
  for (const char* const op : {"<", "<=", ">", ">=", "=="})
    CHECK(where(sample(), std::string("sqnr_db ") + op + " 0").find('b') == std::string::npos);
  CHECK(where(sample(), "sqnr_db != 0") == "abcde");
  CHECK(where(sample(), "sqnr_db == nan") == "b");
  CHECK(where(sample(), "sqnr_db != nan") == "acde");
}

TEST_CASE("words compare byte for byte, quoted or not, and an empty cell is two quotes") {
  CHECK(where(sample(), "name == a") == "a");
  CHECK(where(sample(), "name == A").empty());
  CHECK(where(sample(), "name != 'a'") == "bcde");
  CHECK(where(sample(), "bits == \"none\"") == "d");
  CHECK(where(sample(), "bits == ''") == "c");
  CHECK(where(sample(), "count == a").empty());
  CHECK(where(sample(), "name == 8").empty());
}

TEST_CASE("text that reads as a number is one, words beside it are not") {
  CHECK(where(sample(), "bits >= 8") == "ab");
  CHECK(where(sample(), "bits == 8.0") == "a");
  CHECK(sorted(sample(), "bits") == "eabdc");
}

TEST_CASE("all conditions hold, and rows keep their order") {
  CHECK(names(sample(), {{parse_condition("count >= 10"), parse_condition("sqnr_db == 31.5")}, {}}) == "ae");
  CHECK(names(sample(), {{parse_condition("count > 5"), parse_condition("count < 5")}, {}}).empty());
}

TEST_CASE("an order is stable, and nan and empty cells come last in both directions") {
  CHECK(sorted(sample(), "sqnr_db") == "caedb");
  CHECK(sorted(sample(), "sqnr_db:asc") == "caedb");
  CHECK(sorted(sample(), "sqnr_db:desc") == "daecb");
  CHECK(sorted(sample(), "bits:desc") == "dbaec");
  CHECK(sorted(sample(), "name:desc") == "edcba");
  CHECK(names(sample(), {{}, {parse_order("count"), parse_order("name:desc")}}) == "cedab");
}

TEST_CASE("to_zero% is the share of what is neither zero before nor infinite or NaN") {
  const Table table{.name = "census",
                    .columns = {"name", "count", "nan", "infinite", "zero", "to_zero", "overflow"},
                    .rows = {{"a", count(100), count(1), count(2), count(95), count(2), count(0)},
                             {"b", count(100), count(0), count(0), count(100), count(0), count(0)}}};
  CHECK(where(table, "to_zero% == 100") == "a");
  CHECK(where(table, "to_zero% == 0") == "b");
  CHECK(where(table, "zero% == 95") == "a");
}

TEST_CASE("NAME% is the share of the column count") {
  CHECK(where(sample(), "to_zero% >= 30") == "ade");
  CHECK(sorted(sample(), "to_zero%:desc") == "deabc");                                    // 50 50 30 4 and 0 of 0
  CHECK(missing_columns(sample(), {{parse_condition("sqnr_db% > 1")}, {}}).size() == 1);  // no count
  CHECK(missing_columns({.name = "t", .columns = {"to_zero"}, .rows = {}}, {{}, {parse_order("to_zero%")}}).size() == 1);
}

TEST_CASE("columns are named in any case, - and _ alike; what a table does not have acts on nothing") {
  CHECK(where(sample(), "SQNR-dB > 31.5") == "d");
  const Selection unknown{{parse_condition("sqnr > 1"), parse_condition("count > 10")}, {parse_order("nmae")}};
  CHECK(missing_columns(sample(), unknown) == std::vector<std::string>{"sqnr", "nmae"});
  CHECK(names(sample(), unknown) == "ab");
}

TEST_CASE("words that are no condition or order are refused with what is right") {
  const auto condition = [](const std::string& words) { return refusal([&] { parse_condition(words); }); };
  const auto order = [](const std::string& words) { return refusal([&] { parse_order(words); }); };
  CHECK(condition("sqnr_db = 3") == "--where 'sqnr_db = 3': equal is ==; COLUMN OP NUMBER, e.g. 'sqnr_db < 30'");
  CHECK(condition("sqnr_db").find("has none of < <= > >= == !=") != std::string::npos);
  CHECK(condition("! 3").find("names no column") != std::string::npos);
  CHECK(condition("x ! 3").find("not equal is !=") != std::string::npos);
  CHECK(condition("> 3").find("names no column") != std::string::npos);
  CHECK(condition("x >").find("has no value") != std::string::npos);
  CHECK(condition("x > big").find("'big' is not a number") != std::string::npos);
  CHECK(condition("x > 1 and y < 2").find("'1 and y < 2' is not a number") != std::string::npos);
  CHECK(condition("x < nan").find("nan has no order") != std::string::npos);
  CHECK(condition("").find("has none of") != std::string::npos);
  CHECK(order("").find("give COLUMN") != std::string::npos);
  CHECK(order(":desc").find("give COLUMN") != std::string::npos);
  CHECK(order("x:down").find("give COLUMN, COLUMN:asc or COLUMN:desc") != std::string::npos);
  CHECK(refusal([] { where(sample(), "name > 3"); }) == "--where: column 'name' holds words, which compare by == and != only");
  CHECK(where({.name = "t", .columns = {"name"}, .rows = {}}, "name > 3").empty());
}

TEST_CASE("a column holds words where one of its cells is neither a number nor empty") {
  CHECK(holds_words(sample(), "name"));
  CHECK(holds_words(sample(), "bits"));
  CHECK_FALSE(holds_words(sample(), "count"));
  CHECK_FALSE(holds_words(sample(), "no such column"));
  CHECK_FALSE(holds_words({.name = "t", .columns = {"name"}, .rows = {{""}}}, "name"));
}

TEST_CASE("rows are copied whole") {
  const Table all = sample();

  const Table some = rows_of(all, {3, 0});

  CHECK(some.name == all.name);
  CHECK(some.columns == all.columns);
  CHECK(some.rows == std::vector{all.rows[3], all.rows[0]});
}

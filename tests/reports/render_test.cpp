// SPDX-License-Identifier: Apache-2.0
// CSV and JSON read back by readers of their own.
#include "reports/render.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

using namespace ulpscope::reports;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// A reader of RFC 4180 that shares nothing with the writer.
std::vector<std::vector<std::string>> read_csv(const std::string& csv) {
  std::vector<std::vector<std::string>> records{{""}};
  bool quoted = false;
  for (std::size_t i = 0; i < csv.size(); ++i) {
    if (quoted && csv[i] == '"' && i + 1 < csv.size() && csv[i + 1] == '"') {
      records.back().back() += csv[++i];
    } else if (csv[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && csv[i] == ',') {
      records.back().emplace_back();
    } else if (!quoted && csv[i] == '\n') {
      records.push_back({""});
    } else {
      records.back().back() += csv[i];
    }
  }
  records.pop_back();
  return records;
}

Table one_cell(Cell cell) { return {.name = "t", .columns = {"x"}, .rows = {{std::move(cell)}}}; }

}  // namespace

TEST_CASE("shortest decimals read back as the same double") {
  std::mt19937_64 random(0);
  for (int i = 0; i < 100000; ++i) {
    const double x = std::bit_cast<double>(random());
    if (std::isnan(x)) continue;
    const auto text = shortest(x);
    if (std::bit_cast<std::uint64_t>(std::strtod(text.c_str(), nullptr)) != std::bit_cast<std::uint64_t>(x)) FAIL(text);
  }
}

TEST_CASE("special numbers have one spelling each") {
  CHECK(shortest(not_a_number) == "nan");
  CHECK(shortest(-not_a_number) == "nan");
  CHECK(shortest(infinity) == "inf");
  CHECK(shortest(-infinity) == "-inf");
  CHECK(shortest(-0.0) == "-0");
  CHECK(shortest(0.1) == "0.1");
  CHECK(shortest(65504) == "65504");
  CHECK(shortest(-std::numeric_limits<double>::denorm_min()) == "-5e-324");
  CHECK(shortest(-std::numeric_limits<double>::max()) == "-1.7976931348623157e+308");
}

TEST_CASE("CSV is header and rows with line feeds, and quotes only what needs it") {
  const Table table{.name = "t",
                    .columns = {"tensor", "count", "a,b"},
                    .rows = {{"plain text", std::int64_t{-3}, 0.5}, {"say \"hi\", you\n", std::int64_t{0}, not_a_number}}};

  CHECK(to_csv(table) == "tensor,count,\"a,b\"\nplain text,-3,0.5\n\"say \"\"hi\"\", you\\x0a\",0,nan\n");
}

TEST_CASE("CSV fields read back as they were") {
  const std::string text = GENERATE("", " ", ",", "\"", "\"\"", "\xc3\xa9", "'", "=1+1", "::error ::x", "a\\nb");
  CAPTURE(text);

  const auto records = read_csv(to_csv({.name = "t", .columns = {"x", text}, .rows = {{text, std::int64_t{1}}}}));

  CHECK(records == std::vector<std::vector<std::string>>{{"x", text}, {text, "1"}});
}

TEST_CASE("a record is one line, and what GitHub would take for a command at its beginning is quoted") {
  CHECK(to_csv(one_cell("a\rb\nc")) == "x\na\\x0db\\x0ac\n");
  CHECK(to_csv(one_cell(" ::error ::x")) == "x\n\" ::error ::x\"\n");
}

TEST_CASE("what readers leave out of a field, a byte order mark or blanks at its ends, is quoted") {
  CHECK(to_csv({.name = "t", .columns = {"\xef\xbb\xbfx"}, .rows = {}}) == "\"\xef\xbb\xbfx\"\n");
  CHECK(to_csv(one_cell("y ")) == "x\n\"y \"\n");
  CHECK(to_csv(one_cell(" y")) == "x\n\" y\"\n");
}

TEST_CASE("a CSV record of one empty field is not an empty line") { CHECK(to_csv(one_cell("")) == "x\n\"\"\n"); }

TEST_CASE("JSON reads back with its types, in column order, one object a line") {
  const Table table{.name = "t",
                    .columns = {"z", "a", "n"},
                    .rows = {{"q\"\\\n</script>", std::int64_t{9007199254740993}, 0.1}, {"", std::int64_t{-1}, -infinity}}};

  const auto text = to_json(table);
  const auto json = nlohmann::ordered_json::parse(text);

  CHECK(std::count(text.begin(), text.end(), '\n') == 4);
  CHECK(json[0].items().begin().key() == "z");
  CHECK(json[0]["z"] == "q\"\\\\x0a</script>");
  CHECK(json[0]["a"] == 9007199254740993);
  CHECK(json[0]["n"] == 0.1);
  CHECK(json[1]["n"] == "-inf");
}

TEST_CASE("JSON keeps the sign of zero and stays valid for text that is not UTF-8") {
  CHECK(std::signbit(nlohmann::json::parse(to_json(one_cell(-0.0)))[0]["x"].get<double>()));
  CHECK(nlohmann::json::parse(to_json(one_cell("\xff\x1b")))[0]["x"] == "\\xff\\x1b");
  CHECK(to_json({.name = "t", .columns = {"x"}, .rows = {}}) == "[]\n");
}

// SPDX-License-Identifier: Apache-2.0
// Differences of two reports: how their rows are named.
#include "reports/compare/compare.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "emu/error.hpp"
#include "reports/escape.hpp"
#include "tests/reports/temporary_directory.hpp"

using namespace ulpscope::reports;

namespace {

/// Of two reports that have one table each.
Table difference(const std::string& a, const std::string& b) {
  const TemporaryDirectory folder;
  for (const auto& [name, csv] : {std::pair("a", a), std::pair("b", b)}) {
    std::filesystem::create_directory(folder.file(name));
    std::ofstream(folder.file(name) + "/x.csv") << csv;
    std::ofstream(folder.file(name) + "/manifest.json") << R"({"program":"ulpscope","arguments":[],"files":{"x.csv":""}})";
  }
  return compare_reports(folder.file("a"), folder.file("b"), {});
}

/// File, row, column and both values of a row of it.
std::vector<std::string> words_of(const std::vector<Cell>& row) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < 5; ++i) words.push_back(std::get<std::string>(row[i]));
  return words;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("a row is named by the fewest columns at the left that tell all rows of both reports apart") {
  // One column tells those of the first apart; of the second it takes two.
  const Table two = difference("a,b,c,d\nx,1,2,3\ny,1,2,3\n", "a,b,c,d\nx,1,2,4\nx,2,2,3\n");
  REQUIRE(two.rows.size() == 3);
  CHECK(words_of(two.rows[0]) == Words{"x.csv", "x | 1", "d", "3", "4"});
  CHECK(words_of(two.rows[1]) == Words{"x.csv", "y | 1", "", "present", ""});
  CHECK(words_of(two.rows[2]) == Words{"x.csv", "x | 2", "", "", "present"});

  const Table one = difference("a,b\nx,1\n", "a,b\nx,2\n");
  REQUIRE(one.rows.size() == 1);
  CHECK(words_of(one.rows[0]) == Words{"x.csv", "x", "b", "1", "2"});

  // Rows that are alike to the end have all columns that both reports have, and are told apart by their order.
  const Table all = difference("a,b,c\nx,1,2\nx,1,2\n", "a,b,z\nx,1,2\nx,1,3\n");
  REQUIRE(all.rows.size() == 2);
  CHECK(words_of(all.rows[0]) == Words{"x.csv", "", "c", "present", ""});
  CHECK(words_of(all.rows[1]) == Words{"x.csv", "", "z", "", "present"});

  CHECK(difference("a,b\n", "a,b\n").rows.empty());
  CHECK(difference("a\nx\nx\n", "a\nx\nx\n").rows.empty());
}

TEST_CASE("a table with two columns of one name is refused") {
  CHECK_THROWS_WITH(difference("a,b\nx,1\n", "a,b,b\nx,1,1\n"),
                    Catch::Matchers::EndsWith("b/x.csv: has two columns 'b'; those of a report have names of their own"));
  CHECK_THROWS_AS(difference("b,b\nx,1\n", "a,b\nx,1\n"), ulpscope::Error);
}

TEST_CASE("a name that is as long as a page is there without its middle") {
  const std::string begin(500, 'x'), end(500, 'y'), row = begin + "z" + end, column = begin + "zz" + end;
  const Table table = difference("a," + column + "\n" + row + ",1\n", "a," + column + "\n" + row + ",2\n");
  const std::string shortened = std::string(375, 'x') + " ... " + std::string(375, 'y');
  REQUIRE(table.rows.size() == 1);
  CHECK(words_of(table.rows[0]) == Words{"x.csv", shortened, shortened, "1", "2"});

  const Table whole = difference("a,b\n" + begin + end + ",1\n", "a,b\n" + begin + end + ",2\n");
  CHECK(words_of(whole.rows.at(0)) == Words{"x.csv", begin + end, "b", "1", "2"});
}

TEST_CASE("what is left of a text without its middle are whole characters") {
  CHECK(without_middle("abcdefgh", 8) == "abcdefgh");
  CHECK(without_middle("abcdefghi", 8) == "abc ... ghi");
  CHECK(without_middle("ab\u00e4efg\u00e4ii", 8) == "ab ... ii");  // \u00e4 is two bytes
  CHECK(without_middle(std::string(9, '\x80'), 8) == " ... ");     // no character at all
}

// SPDX-License-Identifier: Apache-2.0
// Plans of casts: sets of fused tensors, how many rules may have wildcards, and what is no plan.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <fstream>
#include <string>

#include "emu/error.hpp"
#include "studies/cast/plan.hpp"
#include "tests/reports/temporary_directory.hpp"

using namespace ulpscope;
using studies::FusedSets;

TEST_CASE("a fused set is of names that differ in one part alone", "[cast]") {
  const FusedSets sets({"q,k,v", "up,gate"});

  CHECK(sets.words_of("layer.0.q.weight") == "layer.0.q,k,v.weight");
  CHECK(sets.words_of("gate") == "up,gate");
  for (const char* const of_none : {"", "layer.0.o.weight", "layer.0.q_proj.weight", "q,k,v"}) {
    CHECK(sets.key_of(of_none).empty());
    CHECK(sets.words_of(of_none).empty());
  }
  CHECK(sets.key_of("layer.0.q.weight") == sets.key_of("layer.0.v.weight"));
  CHECK(sets.key_of("layer.0.q.weight") != sets.key_of("layer.1.q.weight"));
  CHECK(sets.key_of("layer.0.q.weight") != sets.key_of("layer.0.up.weight"));
  CHECK(FusedSets({}).key_of("q").empty());
}

TEST_CASE("of several parts of fused sets in a name the first entry decides, and in it the first part", "[cast]") {
  const FusedSets sets({"b,a", "a,c", "c,d"});

  CHECK(sets.words_of("c.a") == "c.b,a");  // the entry before, not the part before
  CHECK(sets.words_of("a.b") == "a.b,a");  // b is the first in the entry
  CHECK(sets.words_of("a.a") == "b,a.a");  // of one part the first place
  CHECK(sets.words_of("d.c") == "d.a,c");
  CHECK(sets.words_of("d") == "c,d");
  CHECK(sets.key_of("a.b") != sets.key_of("b.a"));
}

TEST_CASE("a plan has a rule for each tensor, and few with wildcards", "[cast]") {
  const TemporaryDirectory folder;
  const auto plan_of = [&](std::size_t plain, std::size_t wild) {
    std::ofstream file(folder.file("p.toml"));
    for (std::size_t i = 0; i < plain; ++i) file << "[[tensors]]\nmatch = 't" << i << "'\nto = 'e4m3'\n";
    for (std::size_t i = 0; i < wild; ++i) file << "[[tensors]]\nmatch = '*.t" << i << "'\nto = 'e4m3'\n";
    file.close();
    return studies::read_plan(folder.file("p.toml"));
  };

  CHECK(plan_of(2000, 1000).rules.size() == 3000);
  CHECK_THROWS_WITH(plan_of(2, 1001), folder.file("p.toml") +
                                          ":3007: a plan has at most 1000 rules with wildcards (* ? [); name "
                                          "tensors as they are in the others");
}

TEST_CASE("a plan is read from text as from a file, and one without a table casts nothing", "[cast]") {
  const studies::CastPlan plan =
      studies::parse_plan("layout = 'modelopt'\ntensors = [{match = 'w*', to = 'e4m3', scale = 'amax'}]\n", "p.toml");
  CHECK(plan.layout == "modelopt");
  REQUIRE(plan.rules.size() == 1);
  CHECK(plan.rules.front().matches("weight"));
  CHECK(studies::plan_text(studies::parse_plan(studies::plan_text(plan), "again")) == studies::plan_text(plan));

  for (const char* const none : {"", "layout = 'modelopt'\n", "tensors = []\n"})
    CHECK_THROWS_WITH(studies::parse_plan(none, "p.toml"), "p.toml: has no table [[tensors]]: nothing is to be cast");
}

// SPDX-License-Identifier: Apache-2.0
// What the page of a census holds, from tensors small enough to be read here.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "studies/census/census_page.hpp"
#include "studies/census/census_report.hpp"

using namespace ulpscope;
using reports::Table;
using studies::TensorFate;

namespace {

studies::TensorResults results_of(const std::vector<double>& values, const std::string& name = "x") {
  studies::TensorResults results{
      .tensor = tensors::from_values(name, {values.size()}, values), .census = {}, .sweep = {}, .exponents = {}};
  const studies::CensusConfig config{.formats = {emu::e4m3}, .options = {}, .progress = {}};
  results.census = studies::census(results.tensor, {}, config);
  results.sweep = studies::sweep(results.tensor, {.low = -10, .high = 24}, config);
  results.exponents = studies::count_exponents(results.tensor, config);
  return results;
}

TensorFate fate_of(const std::vector<double>& values) {
  const studies::TensorResults results = results_of(values);
  return studies::judge(results.census, results.sweep).front().fate;
}

}  // namespace

TEST_CASE("a tensor fits, is mended by a scale, keeps few bits, or stays lossy", "[studies][pages]") {
  CHECK(fate_of({1, 2, 3}) == TensorFate::fits);
  CHECK(fate_of({0x1p-15, 0x1p-14}) == TensorFate::mended);
  CHECK(fate_of({1000, 2000}) == TensorFate::mended);
  CHECK(fate_of({0x1p8, 0x1p-9, 0x1p-8}) == TensorFate::few_bits);
  CHECK(fate_of({0x1p8, 0x1p-30}) == TensorFate::lossy);
}

TEST_CASE("a cell of the heat map names the scale that mends, or the share lost at the best", "[studies][pages]") {
  const reports::Page page = studies::census_page({results_of({0x1p-15, 0x1p-14}, "a"), results_of({0x1p8, 0x1p-30}, "b")}, {});
  const reports::HeatMap* map = nullptr;
  for (const reports::Block& block : page.blocks)
    if (const auto* const figure = std::get_if<reports::Figure>(&block)) map = &std::get<reports::HeatMap>(figure->data);

  REQUIRE(map != nullptr);
  const auto& rows = map->groups.at(0).rows;
  CHECK(rows.at(0).cells.at(0).text == "2^9");  // 2^-15 becomes 2^-6, the least normal number
  CHECK(rows.at(0).cells.at(0).shade == reports::HeatMap::Shade::mended);
  CHECK(rows.at(1).cells.at(0).text == "50%");
  CHECK(rows.at(1).cells.at(0).shade == reports::HeatMap::Shade::severe);
}

TEST_CASE("zeros are nothing to lose: the cell and the list have the share of the others", "[studies][pages]") {
  const reports::Page page = studies::census_page({results_of({0x1p8, 0x1p-30, 0, 0, 0, 0})}, {});
  const reports::HeatMap* map = nullptr;
  for (const reports::Block& block : page.blocks)
    if (const auto* const figure = std::get_if<reports::Figure>(&block)) map = &std::get<reports::HeatMap>(figure->data);

  REQUIRE(map != nullptr);
  CHECK(map->groups.at(0).rows.at(0).cells.at(0).text == "50%");
  const auto& list = std::get<Table>(page.sections.at(0).blocks.at(0));
  CHECK(list.rows.at(0).at(2) == reports::Cell(50.0));
}

TEST_CASE("a cell that loses nothing has the share that is subnormal, and the caption says so", "[studies][pages]") {
  const reports::Page page = studies::census_page({results_of({0x1p8, 0x1p-9, 0x1p-8})}, {});

  const auto& figure = std::get<reports::Figure>(page.blocks.at(1));
  CHECK(std::get<reports::HeatMap>(figure.data).groups.at(0).rows.at(0).cells.at(0).text == "67%");
  CHECK(figure.caption.find("lost at the best scale or, where nothing is, what is subnormal there.") != std::string::npos);
}

TEST_CASE("what is infinite or NaN is lost to a format without them", "[studies][pages]") {
  constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const reports::Page page =
      studies::census_page({results_of({infinity, -infinity, 1, 2}, "a"), results_of({nan, 1, 2}, "b")}, {});

  const auto& map = std::get<reports::HeatMap>(std::get<reports::Figure>(page.blocks.at(2)).data);
  const auto& rows = map.groups.at(0).rows;
  CHECK(rows.at(0).cells.at(0).text == "50%");  // e4m3fn has no infinity
  CHECK(rows.at(0).cells.at(0).shade == reports::HeatMap::Shade::severe);
  CHECK(rows.at(1).cells.at(0).text == "fits");  // but a NaN
  const auto lossy = std::ranges::find(page.sections, "lossy", &reports::Section::id);
  REQUIRE(lossy != page.sections.end());
  const auto& pairs = std::get<Table>(lossy->blocks.at(0));
  REQUIRE(pairs.rows.size() == 1);
  CHECK(pairs.rows[0].at(2) == reports::Cell(50.0));
  CHECK(pairs.rows[0].at(4) == reports::Cell(50.0));
}

TEST_CASE("what stays lossy does so at the scales that were tried", "[studies][pages]") {
  // The least number of e4m3 is 2^-9: 2^-40 is held from scale 2^31 on, and 2^24 is the largest tried.
  const reports::Page page = studies::census_page({results_of({0x1p-40})}, {});

  CHECK(std::get<reports::Prose>(page.blocks.at(0)).paragraphs.at(0) ==
        "1 tensor in 1 format: 1 stays lossy at every scale tried.");
  const auto& map = std::get<reports::HeatMap>(std::get<reports::Figure>(page.blocks.at(1)).data);
  CHECK(map.legend.at(0).words == "stays lossy at every scale tried: 10% or more");
  CHECK(page.sections.at(0).title == "Stays lossy at every scale tried");
}

TEST_CASE("of many tensors the page shows those that lose most, and counts all; tables have all", "[studies][pages]") {
  constexpr std::size_t good = studies::CensusReport::most_shown;
  const studies::TensorResults fits = results_of({1, 2, 3}), lossy = results_of({0x1p8, 0x1p-30}, "lossy");
  std::map<std::string, std::size_t> rows_of;
  studies::CensusReport report({}, {{"all", {0, good + 1}}},
                               [&](const Table& rows) { rows_of[rows.name] += rows.rows.size(); });
  for (std::size_t i = 0; i < good; ++i) report.add(fits);
  report.add(lossy);
  report.add(lossy);
  report.add_groups();

  const reports::Page page = report.page();
  CHECK(std::get<reports::Prose>(page.blocks.at(0)).paragraphs.at(0) ==
        "1002 tensors in 1 format: of 1002 pairs, 2 stay lossy at every scale tried; 1000 fit at scale 1.");
  CHECK(std::get<reports::Prose>(page.blocks.at(2)).paragraphs.at(0) ==
        "This page shows the 1000 tensors that lose most; census.csv and findings.csv have all 1002.");
  const auto& rows = std::get<reports::HeatMap>(std::get<reports::Figure>(page.blocks.at(3)).data).groups.at(0).rows;
  REQUIRE(rows.size() == good);
  CHECK(rows.at(good - 3).name == "x");
  CHECK(rows.at(good - 2).name == "lossy");
  CHECK(rows.at(good - 1).name == "lossy");
  CHECK(page.sections.at(0).note == "2 pairs");
  CHECK(rows_of["census"] == 1002 + 1);
  CHECK(rows_of["loss_scales"] == 1002 + 1);
  CHECK(rows_of["findings"] == 1002 + 2 + 1);  // of each, of the scale of each that does not fit, and of the scale of the group
  CHECK(rows_of["exponents"] == good * 2 + std::size_t{2} * 2 + 4);  // 1, 2 and 3 lie in two binades, 2^8 and 2^-30 in two others
  const auto groups = std::ranges::find(page.sections, "groups", &reports::Section::id);
  REQUIRE(groups != page.sections.end());
  REQUIRE(groups->sections.size() == 1);
  CHECK(groups->sections.at(0).title == "all");
  const auto& where = std::get<reports::Figure>(groups->sections.at(0).blocks.at(2));
  CHECK(std::get<reports::ExponentHistogram>(where.data).counts.size() == 8 + 30 + 1);
  CHECK(report.sweeps_of_groups().at(0).at(0).sums.count() == 5);
  CHECK(report.sweeps_of_groups().at(0).at(0).smallest_in == "lossy");
}

TEST_CASE("of tensors that a scale mends those are shown that lose most as they are given", "[studies][pages]") {
  const studies::TensorResults third = results_of({0x1p-12, 0.25, 0.25}), whole = results_of({0x1p-12}, "whole");
  studies::CensusReport report({}, {}, [](const Table&) {});
  for (std::size_t i = 0; i < studies::CensusReport::most_shown; ++i) report.add(third);
  report.add(whole);

  const reports::Page page = report.page();
  const auto& rows = std::get<reports::HeatMap>(std::get<reports::Figure>(page.blocks.at(3)).data).groups.at(0).rows;
  CHECK(rows.size() == studies::CensusReport::most_shown);
  CHECK(rows.back().name == "whole");
}

TEST_CASE("a finding is the first threshold that a census exceeds, with its source", "[studies][pages]") {
  const auto finding = [](const std::vector<double>& values) {
    return studies::finding_of(results_of(values).census.front(), {}, "x");
  };

  CHECK(finding({1000, 1}).what == "overflow%");
  CHECK(finding({1000, 1}).value == reports::Cell(50.0));
  CHECK(finding({1000, 1}).threshold == reports::Cell(0.0));
  CHECK(finding({1000, 1}).severity == reports::Severity::bad);
  CHECK(finding({0x1p-20, 1}).what == "to_zero%");
  CHECK(finding({0x1p-20, 1}).threshold == reports::Cell(1.0));
  std::vector<double> one_of_200(200, 1.0);
  one_of_200[7] = 0x1p-20;
  CHECK(finding(one_of_200).severity == reports::Severity::warning);
  one_of_200.assign(200, 0.0);  // a gradient of which most rows are zeros
  one_of_200[7] = 0x1p-20;
  CHECK(finding(one_of_200).severity == reports::Severity::bad);
  CHECK(finding(one_of_200).value == reports::Cell(100.0));
  CHECK(finding(one_of_200).sentence == "float8_e4m3fn: 100% of the numbers other than 0 in x becomes 0 at scale 1.");
  CHECK(finding({0, 0}).severity == reports::Severity::good);
  CHECK(finding({0x1p-8, 1}).what == "subnormal%");
  CHECK(finding({0x1p-8, 1}).threshold == reports::Cell(5.0));
  CHECK(finding({1, 2}).severity == reports::Severity::good);
  for (const auto& values : {std::vector<double>{1000, 1}, {0x1p-20, 1}, {0x1p-8, 1}, {1, 2}})
    CHECK_FALSE(finding(values).source.empty());
}

TEST_CASE("a tensor's name has a file, a layer up to the first part that ends in a digit, and the rest", "[studies][pages]") {
  const auto parts = [](const std::string& name) {
    tensors::Tensor tensor = tensors::from_values("f:" + name, {1}, std::vector<double>{1.0});
    tensor.name = name;
    const studies::NameParts p = studies::parts_of(tensor);
    return p.file + "|" + p.layer + "|" + p.leaf;
  };

  CHECK(parts("start.layer1.weight") == "f|start.layer1|weight");
  CHECK(parts("model.layers.11.mlp.w1.weight") == "f|model.layers.11|mlp.w1.weight");
  CHECK(parts("block/3/bias") == "f|block/3|bias");
  CHECK(parts("lm_head.weight") == "f||lm_head.weight");
  CHECK(parts("w1") == "f||w1");
  tensors::Tensor alone = tensors::from_values("normal:0,1:3", {1}, std::vector<double>{1.0});
  CHECK(studies::parts_of(alone).leaf == "normal:0,1:3");
}

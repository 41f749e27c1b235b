// SPDX-License-Identifier: Apache-2.0
// What the figures and pages of other studies hold, from tables and tensors small enough to be read here.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/names.hpp"
#include "studies/accumulation/accumulation_page.hpp"
#include "studies/attention/attention.hpp"
#include "studies/breaks/breaks.hpp"
#include "studies/census/sqnr_heat_map.hpp"
#include "studies/census/sweep_figures.hpp"
#include "studies/product_sizes/product_sizes.hpp"
#include "tensors/synthetic.hpp"

using namespace ulpscope;
using reports::Table;

namespace {

Table accumulation_rows() {
  Table table{"accumulation",
              {"seed", "engine", "evidence", "in", "acc", "promote", "distribution", "k", "rel_frobenius_error",
               "input_rel_frobenius_error"},
              {}};
  const auto add = [&](const char* engine, const char* in, const char* acc, std::int64_t promote, double error) {
    for (const std::int64_t k : {64, 128})
      table.rows.push_back(
          {std::int64_t{0}, engine, "recordings", in, acc, promote, "normal:0,1", k, error * static_cast<double>(k), 0.25});
  };
  add("sm_90", "float8_e4m3fn", "float32", 0, 0.5);
  add("sm_90", "float8_e4m3fn", "float32", 128, 0.125);
  add("sm_90", "float16", "float16", 0, 0.01);
  add("sm_90", "float16", "float32", 0, 0.75);
  add("fma", "float16", "float32", 0, 0.25);
  return table;
}

}  // namespace

TEST_CASE("float32 accumulators are drawn over the error of fma, others as they are", "[studies][pages]") {
  const auto figures = studies::accumulation_figures(accumulation_rows());

  REQUIRE(figures.size() == 3);
  const auto& narrow = std::get<reports::Growth>(figures[0].data);
  const auto& half = std::get<reports::Growth>(figures[1].data);
  const auto& wide = std::get<reports::Growth>(figures[2].data);
  CHECK(narrow.x == std::vector<double>{64, 128});
  CHECK(narrow.lines.at(0).y == std::vector<std::vector<double>>{{32, 64}});
  CHECK(narrow.lines.at(1).dash == reports::Growth::Dash::dashed);
  CHECK(narrow.lines.at(2).y == std::vector<std::vector<double>>{{0.25, 0.25}});
  CHECK(half.lines.at(0).y == std::vector<std::vector<double>>{{0.64, 1.28}});
  CHECK(wide.lines.at(0).y == std::vector<std::vector<double>>{{3, 3}});
  CHECK(wide.lines.at(1).y == std::vector<std::vector<double>>{{1, 1}});
}

TEST_CASE("a colour is an engine and a marker an input format in all figures of the study", "[studies][pages]") {
  const auto figures = studies::accumulation_figures(accumulation_rows());
  const auto line = [&](std::size_t figure, std::size_t i) {
    return std::get<reports::Growth>(figures[figure].data).lines.at(i);
  };

  CHECK(line(0, 0).colour == line(1, 0).colour);
  CHECK(line(0, 0).colour == line(2, 0).colour);
  CHECK(line(2, 0).colour != line(2, 1).colour);
  CHECK(line(0, 0).marker != line(2, 0).marker);
  CHECK(line(1, 0).marker == line(2, 1).marker);
}

TEST_CASE("findings of accumulation lead with fp8 on Hopper and what promotion gives back", "[studies][pages]") {
  studies::AccumulationConfig config;
  config.lengths = {256, 4096};
  config.shape = {8, 8};
  const auto rows = studies::accumulate(config);
  const auto findings = studies::accumulation_findings(rows, config);

  REQUIRE(findings.size() > 5);
  CHECK(findings[0].what == "error_over_input_rounding");
  CHECK(findings[0].where.starts_with("sm_90 on float8_e4m3fn, uniform:0,1, K = 4096"));
  CHECK(findings[0].severity == reports::Severity::bad);
  CHECK(findings[3].what == "promotion_divides_error_by");
  // The value is that of the rows.
  double most = 0;
  for (const studies::AccumulationRow& row : rows)
    if (row.accumulation.name == "sm_90" && row.accumulation.in == emu::e4m3 && row.accumulation.promote == 0 &&
        row.length == 4096)
      most = std::max(most, row.errors.frobenius / row.errors.rounding);
  CHECK(findings[0].value == reports::Cell(most));
}

TEST_CASE("each interval of promotion has dashes of its own, and marks that are missing are told", "[studies][pages]") {
  Table table{
      "accumulation",
      {"engine", "evidence", "in", "acc", "promote", "distribution", "k", "rel_frobenius_error", "input_rel_frobenius_error"},
      {}};
  for (const std::int64_t promote : {0, 128, 256, 512})
    table.rows.push_back({"sm_90", "device", "float8_e4m3fn", "float32", promote, "normal:0,1", std::int64_t{64}, 0.5, 0.25});
  const auto figure = [&] { return studies::accumulation_figures(table).at(0); };

  std::set<reports::Growth::Dash> dashes;
  const auto lines = std::get<reports::Growth>(figure().data).lines;
  for (const auto& line : lines) dashes.insert(line.dash);
  CHECK(lines.size() == 5);
  CHECK(dashes.size() == 5);
  const std::string missing = "Where a mark is missing, a product is exact or not finite.";
  CHECK(figure().caption.find(missing) == std::string::npos);
  for (const double error : {0.0, std::numeric_limits<double>::infinity()}) {
    table.rows[1][7] = error;
    CHECK(figure().caption.ends_with(missing));
  }
}

TEST_CASE("the largest error is one of the products that are finite, and others are counted", "[studies][pages]") {
  studies::AccumulationConfig config;
  config.accumulations = {studies::find_accumulation("fp16_chain", emu::fp16, emu::fp16, 0)};
  config.distributions = {"uniform:1000,1000", "normal:0,1"};
  config.lengths = {64};
  config.shape = {4, 4};
  const auto largest = [&] {
    const auto findings = studies::accumulation_findings(studies::accumulate(config), config);
    const auto found =
        std::find_if(findings.begin(), findings.end(), [](const auto& f) { return f.what == "largest_rel_frobenius_error"; });
    REQUIRE(found != findings.end());
    return *found;
  };

  CHECK(largest().severity == reports::Severity::warning);
  CHECK(largest().sentence.starts_with("At K = 64 the largest relative Frobenius error of the products that are finite is "));
  CHECK(largest().sentence.ends_with("fp16_chain on float16 into float16, normal:0,1; 1 of 2 are not."));
  config.distributions = {"normal:0,1"};
  CHECK(largest().severity == reports::Severity::good);
  CHECK(largest().sentence.ends_with("fp16_chain on float16 into float16, normal:0,1."));
}

TEST_CASE("what holds from the smallest K on holds at every K", "[studies][pages]") {
  studies::AccumulationConfig config;
  config.accumulations = {studies::find_accumulation("sm_90", emu::e4m3, emu::fp32, 0)};
  config.distributions = {"uniform:0,1"};
  config.shape = {8, 8};
  const auto ends_with = [&](const std::string& words) {
    return studies::accumulation_findings(studies::accumulate(config), config).front().sentence.ends_with(words);
  };

  config.lengths = {64, 1024, 2048};
  CHECK(ends_with("more than rounding the inputs did from K = 1024 on with uniform:0,1."));
  config.lengths = {1024, 2048};
  CHECK(ends_with("more than rounding the inputs did at every K with uniform:0,1."));
}

TEST_CASE("the strips of the breaks are runs of one outcome to nearest even, and sums how near they come", "[studies][pages]") {
  studies::BreaksRequest request;
  request.formats.to = {"fp16", "e5m2"};
  request.function = {"sum_of_squares"};
  request.rounding = {"nearest_even", "upward", "stochastic"};
  request.log2_scale = "-20:20:2";
  request.sums.terms = 4096;
  request.sums.lengths = {64};
  const studies::BreaksResult result = studies::measure(request);
  const auto figures = studies::breaks_figures(studies::breaks_tables(result));

  REQUIRE(figures.size() == 2);
  const auto& strips = std::get<reports::Ranges>(figures[0].data);
  REQUIRE(strips.panels.size() == 2);
  for (const auto& panel : strips.panels) {
    REQUIRE(panel.rows.size() == 1);
    for (const studies::Curve& curve : result.curves) {
      if (emu::format_name(curve.of.format) != panel.title || curve.of.options.rounding != emu::Rounding::nearest_even)
        continue;
      const bool thin = curve.of.arithmetic != curve.of.format;
      for (const studies::ScalePoint& point : curve.points) {
        std::size_t covered = 0, right = 0;
        for (const auto& span : panel.rows[0].spans) {
          if ((span.height == reports::Ranges::Span::Height::thin) != thin) continue;
          if (span.low > point.log2_scale || span.high < point.log2_scale) continue;
          ++covered, right += span.tone == reports::Tone::normal ? 1 : 0;
        }
        CAPTURE(panel.title, point.log2_scale);
        CHECK(right == (point.outcome == studies::ScaleOutcome::right ? 1 : 0));
        if (!thin) CHECK(covered == 1);
      }
    }
  }
  const auto& sums = std::get<reports::Ranges>(figures[1].data);
  for (const auto& panel : sums.panels)
    for (const auto& row : panel.rows) CHECK(row.dots.size() == 2);  // to nearest even, and stochastic
  CHECK(sums.x_label == "1 - error / sum of the magnitudes of all terms");
  CHECK(sums.legend.at(1).words == "stochastic, by the root mean square of its runs' errors");
  CHECK(figures[1].caption.find("no dot") == std::string::npos);
  CHECK(sums.panels.at(0).rows.at(1).name == "ones 4096");
  CHECK(sums.panels.at(0).rows.at(1).dots.at(0).at == 0.5);  // float16 stops at 2048

  // By chance ones leave 448, half of whose spacing stops them to nearest.
  request.formats.to = {"e4m3"}, request.function = {};
  const auto beyond = studies::breaks_figures(studies::breaks_tables(studies::measure(request)));
  CHECK(beyond.at(1).caption.find("Sums that overflow have no dot: 1.") != std::string::npos);
}

TEST_CASE("a sweep's table is a window for each tensor and rounding", "[studies][pages]") {
  Table table{"sweep", {"seed", "tensor", "format", "rounding", "log2_scale", "count", "to_zero", "overflow"}, {}};
  for (const char* const rounding : {"nearest_even", "stochastic"})
    for (const char* const format : {"float16", "bfloat16"})
      for (const std::int64_t k : {0, 1})
        table.rows.push_back({std::int64_t{0}, "t", format, rounding, k, std::int64_t{4}, 1 - k, k});

  const auto figures = studies::sweep_figures(table);

  REQUIRE(figures.size() == 2);
  CHECK(figures[1].title == "t, stochastic.");
  const auto& window = std::get<reports::ScaleWindow>(figures[0].data);
  CHECK(window.log2_scale == std::vector<double>{0, 1});
  REQUIRE(window.lines.size() == 2);
  CHECK(window.lines[1].to_zero_percent == std::vector<double>{25, 0});
  CHECK(window.lines[1].overflow_percent == std::vector<double>{0, 25});

  const std::vector<std::vector<reports::Cell>> again(table.rows.begin(), table.rows.begin() + 4);
  table.rows.insert(table.rows.end(), again.begin(), again.end());  // a scale twice, of another cell
  CHECK(studies::sweep_figures(table).size() == 1);
}

TEST_CASE("a heat map of decibels has a row for each tensor and scale, and the best of each format", "[pages]") {
  constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  using Shade = reports::HeatMap::Shade;
  const Table table{"census",
                    {"axis", "tensor", "format", "scale", "sqnr_db"},
                    {{"a", "dir/x", "fp16", "none", 73.4},
                     {"a", "dir/x", "e4m3", "none", -infinity},
                     {"a", "dir/x", "fp16", "amax", infinity},
                     {"a", "dir/x", "e4m3", "amax", 29.6},
                     {"b", "dir/x", "e4m3", "amax", 31.4},
                     {"a", "y", "e4m3", "none", nan}}};
  const auto figures = studies::census_figures(table);
  REQUIRE(figures.size() == 1);
  const auto& map = std::get<reports::HeatMap>(figures[0].data);
  CHECK(map.columns == std::vector<std::string>{"fp16", "e4m3"});
  REQUIRE(map.groups.size() == 1);
  const auto& rows = map.groups[0].rows;
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].name == "x, none");
  CHECK(rows[0].title == "dir/x, scale none");
  CHECK(rows[0].cells[0].text == "73");
  CHECK(rows[0].cells[0].shade == Shade::good);
  CHECK(rows[0].cells[1].text == "-");
  CHECK(rows[0].cells[1].shade == Shade::severe);
  CHECK(rows[1].cells[0].text == "exact");
  CHECK(rows[1].cells[1].text == "31");  // of two the better one
  CHECK(rows[1].cells[1].shade == Shade::reduced);
  CHECK(rows[1].cells[1].title == "dir/x, scale amax in e4m3: 31.4 dB");
  CHECK(rows[2].cells[0].shade == Shade::none);
  CHECK(rows[2].cells[1].shade == Shade::none);
  for (const auto& [decibels, shade] : std::vector<std::pair<double, Shade>>{
           {9.99, Shade::severe}, {10, Shade::marked}, {20, Shade::mended}, {39.9, Shade::reduced}, {40, Shade::good}})
    CHECK(studies::sqnr_heat_map({{"r", "r", "f", decibels, ""}}).groups[0].rows[0].cells[0].shade == shade);
}

TEST_CASE("probabilities that become 0 are shares by distance, a panel a scale, a curve an order", "[pages]") {
  const Table distances{"distances",
                        {"scale", "order", "log2_distance", "count", "to_zero"},
                        {{1.0, "drawn", std::int64_t{0}, std::int64_t{4}, std::int64_t{1}},
                         {1.0, "drawn", std::int64_t{3}, std::int64_t{0}, std::int64_t{0}},
                         {256.0, "ascending", std::int64_t{0}, std::int64_t{8}, std::int64_t{6}}}};
  const auto figures = studies::attention_figures({Table{"attention", {"keys"}, {}}, distances});
  REQUIRE(figures.size() == 1);
  const auto& growth = std::get<reports::Growth>(figures[0].data);
  CHECK(growth.x == std::vector<double>{1, 8});
  CHECK(growth.panels == std::vector<std::string>{"times 1", "times 256"});
  REQUIRE(growth.lines.size() == 2);
  CHECK(growth.lines[0].name == "keys drawn");
  CHECK(growth.lines[0].y[0][0] == 0.25);
  CHECK(std::isnan(growth.lines[0].y[0][1]));  // none is so far away
  CHECK(std::isnan(growth.lines[0].y[1][0]));
  CHECK(growth.lines[1].y[1][0] == 0.75);
  CHECK(studies::attention_figures({Table{"attention", {"keys"}, {}}}).empty());
}

TEST_CASE("sizes of products have a curve for each engine and one for the operands' rounding", "[pages]") {
  const Table table{"product_sizes",
                    {"distribution", "in", "engine", "n", "input_rel_frobenius_error", "engine_rel_frobenius_error"},
                    {{"d", "fp16", "fma", std::int64_t{200}, 0.5, 0.25},
                     {"d", "fp16", "fma", std::int64_t{100}, 0.75, 0.125},
                     {"d", "fp16", "sm_90", std::int64_t{100}, 0.75, 0.0625}}};
  const auto figures = studies::product_sizes_figures({table});
  REQUIRE(figures.size() == 1);
  const auto& growth = std::get<reports::Growth>(figures[0].data);
  CHECK(growth.x == std::vector<double>{100, 200});
  REQUIRE(growth.lines.size() == 3);
  CHECK(growth.lines[0].name == "fp16 on fma");
  CHECK(growth.lines[0].y == std::vector<std::vector<double>>{{0.125, 0.25}});
  CHECK(growth.lines[1].name == "rounding the operands to fp16");
  CHECK(growth.lines[1].y == std::vector<std::vector<double>>{{0.75, 0.5}});
  CHECK(growth.lines[1].dash == reports::Growth::Dash::dashed);
  CHECK(growth.lines[2].y[0][0] == 0.0625);
  CHECK(std::isnan(growth.lines[2].y[0][1]));
}

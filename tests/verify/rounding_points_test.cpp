// SPDX-License-Identifier: Apache-2.0
// Where fused kernels round, found from what plain loops return.
#include "verify/expressions/rounding_points.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "reports/columns.hpp"
#include "reports/render.hpp"
#include "tests/verify/operations_data.hpp"
#include "verify/explain/rounding_plants.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::operations;

constexpr emu::Format bf16 = emu::bfloat16;
constexpr std::size_t queries = 48, keys = 40, width = 8;

struct Weighted {
  std::vector<float> x, v;
};

/// e @ v over the sum of e, e = exp(x - max x): a kernel that rounds e before either.
std::vector<float> weighted_sums(const Weighted& in, bool rounds_products, bool rounds_sum) {
  std::vector<float> out;
  for (std::size_t i = 0; i < queries; ++i) {
    const auto row = std::span(in.x).subspan(i * keys, keys);
    const float greatest = *std::max_element(row.begin(), row.end());
    std::vector<double> e;
    for (const float x : row) e.push_back(std::exp(static_cast<double>(x) - static_cast<double>(greatest)));
    const auto rounded = [](double x, bool rounds) { return rounds ? emu::round_to(bf16, x).value : x; };
    double sum = 0;
    for (const double x : e) sum += rounded(x, rounds_sum);
    for (std::size_t c = 0; c < width; ++c) {
      double products = 0;
      for (std::size_t j = 0; j < keys; ++j)
        products += rounded(e[j], rounds_products) * static_cast<double>(in.v[j * width + c]);
      out.push_back(as(bf16, static_cast<float>(products / sum)));
    }
  }
  return out;
}

Weighted inputs() {
  std::mt19937_64 random(7);
  Weighted in{normals(random, queries * keys, 2, bf16), normals(random, keys * width, 1, bf16)};
  return in;
}

verify::RoundingSearch searched(const std::string& formula, const Weighted& in, const std::vector<float>& out) {
  return verify::search_rounding_points({.formula = formula,
                                         .inputs = {{"x", values({queries, keys}, in.x)}, {"v", values({keys, width}, in.v)}},
                                         .last = {bf16}},
                                        tensors::from_values("out", {queries, width}, out), {bf16});
}

const std::string formula = "e = exp(x - max(x, axis=-1, keepdims=true)); e @ v / sum(e, axis=-1, keepdims=true)";

}  // namespace

TEST_CASE("a named part that is rounded for one use and not for the other is told", "[verify][expressions]") {
  const Weighted in = inputs();
  struct Case {
    bool products, sum;
    std::string found;
  };
  const std::string begin = "e = exp(x - max(x, axis=-1, keepdims=true)); ", rest = "axis=-1, keepdims=true)";
  for (const Case& test : {Case{true, false, begin + "bfloat16(e) @ v / sum(e, " + rest},
                           Case{false, true, begin + "e @ v / sum(bfloat16(e), " + rest},
                           Case{true, true, "e = bfloat16(exp(x - max(x, " + rest + ")); e @ v / sum(e, " + rest}}) {
    const auto search = searched(formula, in, weighted_sums(in, test.products, test.sum));

    CAPTURE(test.found, verify::sentence_of(search));
    REQUIRE(search.found() != nullptr);
    CHECK(search.found()->formula == test.found);
    CHECK(!search.holds());
  }
}

TEST_CASE("a use that is rounded is told where there are too many places for all combinations", "[verify][expressions]") {
  const Weighted in = inputs();
  const std::string rest = "axis=-1, keepdims=true)", begin = "s = x * 1; e = exp(s - max(s, " + rest + "); ";
  const auto search = searched(begin + "e @ v / sum(e, " + rest, in, weighted_sums(in, true, false));

  REQUIRE(search.found() != nullptr);
  CHECK(search.found()->formula == begin + "bfloat16(e) @ v / sum(e, " + rest);
  CHECK(search.points.size() > 32);   // of roundings of results all
  CHECK(search.points.size() < 200);  // of those of uses not
}

TEST_CASE("a part that is named and read once is rounded in one place", "[verify][expressions]") {
  const Weighted in = inputs();
  const auto search = searched("e = exp(x); (e + 1) @ v", in, weighted_sums(in, false, false));

  CHECK(search.points.size() == 4);  // exp and the sum, each rounded or not
}

TEST_CASE("of a name whose value is rounded no use is, and all its uses are its definition", "[verify][expressions]") {
  const Weighted in = inputs();
  const auto search = searched("e = exp(x); (e * e) @ v", in, weighted_sums(in, false, false));

  std::set<std::string> formulas;
  for (const verify::RoundingPoints& points : search.points) formulas.insert(points.formula);
  CHECK(formulas.size() == search.points.size());
  CHECK(formulas.count("e = exp(x); bfloat16(e) * e @ v") == 1);
  CHECK(formulas.count("e = bfloat16(exp(x)); e * e @ v") == 1);
  CHECK(formulas.count("e = exp(x); bfloat16(e) * bfloat16(e) @ v") == 0);
  CHECK(formulas.count("e = bfloat16(exp(x)); bfloat16(e) * e @ v") == 0);
}

TEST_CASE("extents and axes are not rounded", "[verify][expressions]") {
  const Weighted in = inputs();
  const auto search =
      searched("y = exp(x) @ v; reshape(y + y * 0, extent(x) * 6 / 5, -1)", in, weighted_sums(in, false, false));

  CHECK(search.points.size() > 1);
  for (const verify::RoundingPoints& points : search.points)
    CHECK(points.formula.find("extent(x) * 6 / 5, -1)") != std::string::npos);
}

TEST_CASE("running sums of float64 are searched without orders in that arithmetic", "[verify][expressions]") {
  std::mt19937_64 random(9);
  const std::vector<float> x = normals(random, std::size_t{4} * 20, 1, emu::float32);
  std::vector<float> out;
  for (std::size_t i = 0; i < x.size(); ++i) out.push_back(i % 20 == 0 ? x[i] : out.back() + x[i]);
  verify::Expression expression{.formula = "cumsum(x)", .inputs = {{"x", values({4, 20}, x)}}, .last = {emu::float32}};
  expression.arithmetic.format = emu::float64;

  const auto search = verify::search_rounding_points(expression, tensors::from_values("out", {4, 20}, out), {emu::float32});

  REQUIRE(search.found() != nullptr);
  CHECK(search.found()->formula.find("sums=\"float32\"") != std::string::npos);
}

TEST_CASE("orders that an output does not tell apart are counted", "[verify][expressions]") {
  std::mt19937_64 random(10);
  const std::vector<float> x = normals(random, std::size_t{8} * 3, 1, bf16);
  std::vector<float> out;
  for (std::size_t i = 0; i < x.size(); ++i) out.push_back(i % 3 == 0 ? x[i] : as(bf16, out.back() + x[i]));
  const auto search =
      verify::search_rounding_points({.formula = "cumsum(x)", .inputs = {{"x", values({8, 3}, x)}}, .last = {bf16}},
                                     tensors::from_values("out", {8, 3}, out), {bf16});

  REQUIRE(search.found() != nullptr);
  CHECK(verify::sentence_of(search).find(" others that this output does not tell from it") != std::string::npos);
}

TEST_CASE("planted roundings are found, and none where there are none") {
  const reports::Table table = verify::explain_roundings_table(90, 5);
  WARN(reports::to_text(table));
  const reports::Columns columns(table);
  double planted = 0, found = 0, wrong = 0, plain = 0, right = 0;
  for (const auto& row : table.rows) {
    const bool rounds = columns.number(row, "roundings") != 0;
    (rounds ? planted : plain) += columns.number(row, "trials");
    if (rounds) found += columns.number(row, "named") + columns.number(row, "grouped");
    wrong += columns.number(row, "wrong");
    if (!rounds) right += columns.number(row, "none");
  }
  CHECK(planted > 30);
  CHECK(plain > 5);
  CHECK(right == plain);
  CHECK(found >= 0.9 * planted);
  CHECK(wrong <= 0.05 * planted);
}

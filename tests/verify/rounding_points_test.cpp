// SPDX-License-Identifier: Apache-2.0
// Where fused kernels round, found from what plain loops return.
#include "verify/expressions/rounding_points.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "emu/error.hpp"
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
                                        tensors::from_values("out", {queries, width}, out), {{.format = bf16}});
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

  const auto search =
      verify::search_rounding_points(expression, tensors::from_values("out", {4, 20}, out), {{.format = emu::float32}});

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
                                     tensors::from_values("out", {8, 3}, out), {{.format = bf16}});

  REQUIRE(search.found() != nullptr);
  CHECK(verify::sentence_of(search).find(" others that this output does not tell from it") != std::string::npos);
}

TEST_CASE("a few elements more speak for no other formula where the one that was given holds", "[verify][expressions]") {
  // A row in float32, one term after the other, and a product that is small beside it: rounding the product moves few elements.
  constexpr std::size_t count = 512, along = 64;
  std::mt19937_64 random(2);
  const std::vector<float> x = normals(random, count * along, 1, emu::float32), t = normals(random, count, 1e-5, emu::float32),
                           u = normals(random, count, 1, emu::float32);
  std::vector<float> plain, truncated;
  for (std::size_t i = 0; i < count; ++i) {
    float sum = 0;
    for (std::size_t k = 0; k < along; ++k) sum += x[i * along + k];
    const float product = t[i] * u[i];
    plain.push_back(sum + product);
    truncated.push_back(as(bf16, sum) + product);
  }
  const verify::Expression expression{
      .formula = "sum(x, axis=-1) + t * u",
      .inputs = {{"x", values({count, along}, x)}, {"t", values({count}, t)}, {"u", values({count}, u)}},
      .last = {emu::float32}};
  const auto search_of = [&](const std::vector<float>& y) {
    return verify::search_rounding_points(expression, tensors::from_values("y", {count}, y), {{.format = bf16}});
  };

  const auto search = search_of(plain);
  CHECK(search.holds());
  CHECK(search.found() == nullptr);
  CHECK(verify::sentence_of(search).starts_with("it rounds where the formula does"));
  const auto other = search_of(truncated);
  REQUIRE(other.found() != nullptr);
  CHECK(other.found()->formula == "bfloat16(sum(x, axis=-1)) + t * u");
}

TEST_CASE("elements that tell two formulas apart are worth bits as coins are", "[verify][expressions]") {
  // 2^-n where all n are of one formula; of 12 heads of 16, 1 - H(3/4) = 0.1887... bits each, and the chance 2517 / 65536.
  const auto bits = [](std::uint64_t gained, std::uint64_t lost) {
    return verify::RoundingPoints{.formula = "", .gained = gained, .lost = lost}.evidence_bits();
  };
  CHECK(bits(1, 0) == 1);
  CHECK(bits(20, 0) == 20);
  CHECK(bits(0, 0) == 0);
  CHECK(bits(5, 5) == 0);
  CHECK(bits(3, 9) == 0);
  CHECK(std::fabs(bits(12, 4) - 16 * 0.18872187554) < 1e-8);
  CHECK(bits(12, 4) < -std::log2(2517.0 / 65536));
}

TEST_CASE("roundings that saturate or go toward zero are found as casts have them", "[verify][expressions]") {
  std::mt19937_64 random(5);
  constexpr std::size_t count = 512;
  std::vector<float> x = normals(random, count, 1, emu::float32);
  const std::vector<float> y = normals(random, count, 1, emu::float32);
  const auto search_of = [&](const std::string& text, const std::vector<float>& out, const char* point) {
    return verify::search_rounding_points(
        {.formula = text, .inputs = {{"x", values({count}, x)}, {"y", values({count}, y)}}, .last = {emu::float32}},
        tensors::from_values("out", {count}, out), {verify::parse_rounding_point(point)});
  };
  std::vector<float> saturated, cut, cut_sum;
  for (std::size_t i = 0; i < count; ++i) {
    const float scaled = std::min(std::max(x[i] * 448, -448.0F), 448.0F);
    saturated.push_back(as(emu::float8_e4m3fn, scaled) * y[i]);
    const auto truncated = [](float v) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(v) & 0xffff0000U); };
    cut.push_back(truncated(x[i]) * y[i]);
    cut_sum.push_back(truncated(x[i] + y[i]) * y[i]);
  }

  const auto of_scaled = search_of("x * 448 * y", saturated, "e4m3:saturating");
  REQUIRE(of_scaled.found() != nullptr);
  CHECK(of_scaled.found()->formula == "float8_e4m3fn(x * 448, policy=\"saturating\") * y");
  CHECK(of_scaled.found()->equal == count);
  CHECK(search_of("x * 448 * y", saturated, "e4m3").found() == nullptr);
  const auto of_sum = search_of("(x + y) * y", cut_sum, "bf16:toward_zero");
  REQUIRE(of_sum.found() != nullptr);
  CHECK(of_sum.found()->formula == "bfloat16(x + y, rounding=\"toward_zero\") * y");
  // A rounding of the formula may be another one.
  const auto of_cast = search_of("bf16(x) * y", cut, "bf16:toward_zero");
  REQUIRE(of_cast.found() != nullptr);
  CHECK(of_cast.found()->formula == "bfloat16(x, rounding=\"toward_zero\") * y");
  CHECK(of_cast.found()->added == 1);
  CHECK(of_cast.found()->removed == 1);
  // What is found is a formula.
  CHECK(search_of(of_cast.found()->formula, cut, "bf16").holds());
}

TEST_CASE("a rounding point is a format and how it rounds", "[verify][expressions]") {
  using verify::parse_rounding_point;
  CHECK(parse_rounding_point("bfloat16") == verify::RoundingPoint{.format = bf16});
  CHECK(parse_rounding_point("e4m3:saturating:rz") ==
        verify::RoundingPoint{emu::float8_e4m3fn, {.rounding = emu::Rounding::toward_zero, .policy = emu::Policy::saturating}});
  for (const char* word : {"", "bf17", "bf16:", "bf16:up", "bf16:stochastic", "float64", ":saturating"})
    CHECK_THROWS_AS(parse_rounding_point(word), ulpscope::Error);
}

TEST_CASE("a rounding point that is given twice is tried once", "[verify][expressions]") {
  const Weighted in = inputs();
  const auto search = verify::search_rounding_points(
      {.formula = "exp(x) * 2", .inputs = {{"x", values({queries, keys}, in.x)}}, .last = {emu::float32}},
      tensors::from_values("out", {queries, keys}, in.x), {{.format = bf16}, {.format = emu::bfloat16}});

  CHECK(search.points.size() == 2);
}

TEST_CASE("the sentence says why a formula that leaves nothing beyond its bound is no explanation", "[verify][expressions]") {
  verify::RoundingSearch search{.count = 100, .total = 100, .points = {}};
  search.points.push_back({.formula = "x + y", .equal = 90, .beyond = 10});
  search.points.push_back({.formula = "bf16(x) + y", .equal = 20, .beyond = 0});
  CHECK(verify::sentence_of(search) ==
        "no roundings of intermediate results explain it: bf16(x) + y leaves 0% of the elements beyond its bound, but 20% of "
        "them "
        "are its value rounded once, and 90% that of the formula as it stands");
  search.points.front().beyond = 0, search.total = 1000;
  CHECK(verify::sentence_of(search) ==
        "it rounds where the formula does: 90 of 100 elements are its value rounded once, the others within its bound; of its "
        "1000 elements these are the first 100");
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

// SPDX-License-Identifier: Apache-2.0
// Attention against loops in long double, element by element; polynomials by the alternation of their errors.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <variant>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "studies/attention/attention.hpp"

using namespace ulpscope;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using studies::AttentionProblem, studies::CacheRow, studies::Granularity, studies::KeyOrder;

namespace {

studies::AttentionStudyRequest small() {
  studies::AttentionStudyRequest request;
  request.queries = 5, request.keys = 70, request.head = 9, request.block = 16;
  request.seed = 3;
  return request;
}

std::vector<long double> reference(const AttentionProblem& problem, const std::vector<float>& k, const std::vector<float>& v) {
  std::vector<long double> out(problem.queries * problem.head);
  for (std::size_t i = 0; i < problem.queries; ++i) {
    std::vector<long double> p(problem.keys);
    for (std::size_t j = 0; j < problem.keys; ++j) {
      long double s = 0;
      for (std::size_t c = 0; c < problem.head; ++c)
        s += static_cast<long double>(problem.q[i * problem.head + c]) * k[j * problem.head + c];
      p[j] = std::exp(s / std::sqrt(static_cast<long double>(problem.head)));
    }
    const long double sum = std::accumulate(p.begin(), p.end(), 0.0L);
    for (std::size_t j = 0; j < problem.keys; ++j)
      for (std::size_t c = 0; c < problem.head; ++c) out[i * problem.head + c] += p[j] / sum * v[j * problem.head + c];
  }
  return out;
}

double distance(const std::vector<long double>& x, const std::vector<long double>& y) {
  long double squares = 0, norm = 0;
  for (std::size_t i = 0; i < x.size(); ++i) squares += (x[i] - y[i]) * (x[i] - y[i]), norm += y[i] * y[i];
  return static_cast<double>(std::sqrt(squares / norm));
}

/// int8, one scale for the elements whose `group` is the same.
template <class Group>
std::vector<float> int8_by(const std::vector<float>& values, std::size_t head, Group group) {
  std::vector<float> out(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    float amax = 0;
    for (std::size_t k = 0; k < values.size(); ++k)
      if (group(k / head, k % head) == group(i / head, i % head)) amax = std::max(amax, std::fabs(values[k]));
    const float scale = 127.0F / amax;
    out[i] = static_cast<float>(std::nearbyint(static_cast<double>(values[i] * scale)) / static_cast<double>(scale));
  }
  return out;
}

}  // namespace

TEST_CASE("attention is that of loops in long double", "[attention_study]") {
  const AttentionProblem problem = studies::draw_attention(small(), true);
  const std::vector<double> p = studies::probabilities_of(problem), o = studies::attention_of(problem, p);
  const std::vector<long double> exact = reference(problem, problem.k, problem.v);
  for (std::size_t i = 0; i < o.size(); ++i) CHECK_THAT(o[i], WithinAbs(static_cast<double>(exact[i]), 1e-13));
  const AttentionProblem plain = studies::draw_attention(small(), false);
  for (std::size_t c = 0; c < problem.head; ++c)
    CHECK(problem.k[problem.head + c] == plain.k[problem.head + c] * (c < 4 ? 8.0F : 1.0F));
}

TEST_CASE("caches in int8, a scale for each token and each channel, element by element", "[attention_study]") {
  const AttentionProblem problem = studies::draw_attention(small(), true);
  const std::vector<long double> exact = reference(problem, problem.k, problem.v);
  const auto rows = studies::cache_rows(problem, "outliers", emu::integer(8));
  CHECK(rows.size() == 9);  // integers have no row without a scale
  for (const CacheRow& row : rows) {
    const auto group = [&](std::size_t token, std::size_t channel) {
      return row.granularity == Granularity::token ? token : row.granularity == Granularity::channel ? channel : 0;
    };
    const std::vector<float> k = row.part == "values" ? problem.k : int8_by(problem.k, problem.head, group);
    const std::vector<float> v = row.part == "keys" ? problem.v : int8_by(problem.v, problem.head, group);
    INFO(row.part << ' ' << static_cast<int>(row.granularity));
    CHECK_THAT(row.error, WithinRel(distance(reference(problem, k, v), exact), 1e-9));
    CHECK((row.total_variation == 0) == (row.part == "values"));
  }
  CHECK(studies::cache_rows(problem, "outliers", emu::e4m3).size() == 12);
}

TEST_CASE("probabilities of at most 2^-10 over the scale become 0 in e4m3, in one block", "[attention_study]") {
  studies::AttentionStudyRequest request = small();
  request.keys = 400, request.outlier_factor = 20;
  const AttentionProblem problem = studies::draw_attention(request, true);
  const std::vector<double> p = studies::probabilities_of(problem);
  for (const double scale : {1.0, 256.0}) {
    std::uint64_t expected = 0, zeros = 0, count = 0;
    double weight = 0;
    for (std::size_t i = 0; i < problem.queries; ++i) {
      const auto row = p.begin() + static_cast<std::ptrdiff_t>(i * problem.keys);
      const double most = *std::max_element(row, row + static_cast<std::ptrdiff_t>(problem.keys));
      for (std::size_t j = 0; j < problem.keys; ++j)
        if (row[static_cast<std::ptrdiff_t>(j)] / most * scale <= 0x1p-10)
          ++expected, weight += row[static_cast<std::ptrdiff_t>(j)] / static_cast<double>(problem.queries);
    }
    for (const KeyOrder order : {KeyOrder::drawn, KeyOrder::ascending}) {
      const auto row = studies::probability_row(problem, scale, order, problem.keys);
      zeros = count = 0;
      for (std::size_t d = 0; d < row.count.size(); ++d) {
        zeros += row.to_zero[d], count += row.count[d];
        if (d < 10) CHECK((scale == 1 || row.to_zero[d] == 0));
        CHECK(row.to_zero[d] <= row.count[d]);
      }
      CHECK(zeros == expected);
      CHECK(count == problem.queries * problem.keys);
      CHECK_THAT(row.lost_weight, WithinAbs(weight, 1e-12));
    }
    CHECK(expected > 0);
  }
}

TEST_CASE("fewer probabilities become 0 where the largest comes last", "[attention_study]") {
  studies::AttentionStudyRequest request = small();
  request.keys = 400, request.outlier_factor = 20;
  const AttentionProblem problem = studies::draw_attention(request, true);
  const auto zeros = [&](KeyOrder order) {
    const auto row = studies::probability_row(problem, 1, order, request.block);
    return std::accumulate(row.to_zero.begin(), row.to_zero.end(), std::uint64_t{0});
  };
  CHECK(zeros(KeyOrder::ascending) < zeros(KeyOrder::drawn));
  CHECK(zeros(KeyOrder::drawn) < zeros(KeyOrder::descending));
}

TEST_CASE("what is said of probabilities that become 0 holds of every distance", "[attention_study]") {
  studies::AttentionStudyRequest request = small();
  request.keys = 400, request.outlier_factor = 20;
  request.probability_scale = {1};
  const studies::StudyResult result = studies::run(request, {});
  const reports::Table& distances = result.tables.at(2);
  const std::string words = " become 0, none of them above 2^-";

  int said = 0;
  for (const reports::Finding& finding : result.findings) {
    const auto at = finding.sentence.find(words);
    if (at == std::string::npos) continue;
    ++said;
    CAPTURE(finding.sentence);
    const int least = std::stoi(finding.sentence.substr(at + words.size()));
    CHECK(least > 0);
    for (const auto& row : distances.rows)
      if (finding.where.ends_with("keys " + std::get<std::string>(row[1])) && std::get<std::int64_t>(row[2]) < least)
        CHECK(row[4] == reports::Cell(std::int64_t{0}));
  }
  CHECK(said == 3);
}

TEST_CASE("what is summed before the maximum grows shrinks with it", "[attention_study]") {
  const AttentionProblem problem = studies::draw_attention(small(), true);
  // A probability is off by a sixteenth of itself at most, and errors of many average out.
  for (const KeyOrder order : {KeyOrder::drawn, KeyOrder::descending, KeyOrder::ascending})
    for (const std::size_t block : {std::size_t{1}, std::size_t{16}, problem.keys})
      CHECK(studies::probability_row(problem, 256, order, block).error < 0x1p-4);
}

TEST_CASE("errors of the polynomials alternate, so that no other of the degree has a smaller largest one",
          "[attention_study]") {
  for (int degree = 2; degree <= 5; ++degree) {
    const std::vector<float> coefficients = studies::exp2_polynomial(degree);
    REQUIRE(coefficients.size() == static_cast<std::size_t>(degree) + 1);
    std::vector<long double> extremes;
    for (int i = 0; i <= 100000; ++i) {
      const long double f = static_cast<long double>(i) / 100000;
      long double value = 0;
      for (std::size_t j = coefficients.size(); j-- > 0;) value = value * f + coefficients[j];
      const long double error = value / std::exp2(f) - 1;
      if (extremes.empty() || (extremes.back() < 0) != (error < 0)) extremes.push_back(error);
      if (std::fabs(error) > std::fabs(extremes.back())) extremes.back() = error;
    }
    INFO(degree);
    REQUIRE(extremes.size() == static_cast<std::size_t>(degree) + 2);
    const auto [least, most] =
        std::minmax_element(extremes.begin(), extremes.end(), [](auto a, auto b) { return std::fabs(a) < std::fabs(b); });
    // Rounding the coefficients to float32 moves the errors by some 2^-24.
    CHECK(std::fabs(*most) - std::fabs(*least) < 0x1p-22L);
  }
}

TEST_CASE("2^x rounded to float32 and by polynomials", "[attention_study]") {
  const AttentionProblem problem = studies::draw_attention(small(), false);
  const auto exact = studies::exp2_row(problem, 0), cubic = studies::exp2_row(problem, 3),
             quintic = studies::exp2_row(problem, 5);
  CHECK(exact.max_rel_error <= 0x1p-24);
  CHECK(exact.max_rel_error_bf16 <= 0x1p-8);
  CHECK(cubic.max_rel_error > quintic.max_rel_error);
  CHECK(cubic.max_rel_error_bf16 < 1.05 * exact.max_rel_error_bf16);
  CHECK(exact.differing_bf16 < quintic.differing_bf16);
  CHECK(quintic.differing_bf16 < cubic.differing_bf16);
}

TEST_CASE("the same tables at any number of threads", "[attention_study]") {
  studies::AttentionStudyRequest request = small();
  request.threads = 1;
  const auto one = studies::run(request, {});
  request.threads = 2;
  const auto two = studies::run(request, {});
  for (std::size_t i = 0; i < one.tables.size(); ++i) CHECK(one.tables[i].rows == two.tables[i].rows);
  CHECK(one.findings.size() == 2 * 4 + 9 + 3);
  request.formats.to = {"e8m0"};
  CHECK_THROWS_AS(studies::run(request, {}), Error);
}

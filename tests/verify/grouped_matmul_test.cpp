// SPDX-License-Identifier: Apache-2.0
// Grouped products against plain loops: ends and group numbers, scales, bias, engines, and the wrong expert.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <functional>
#include <string>

#include "tensors/held.hpp"
#include "tests/verify/operations_data.hpp"
#include "verify/grouped/grouped_request.hpp"
#include "verify/verdict.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::operations;
using Catch::Matchers::ContainsSubstring;
using Shape = std::vector<std::uint64_t>;

/// Rows of A by the matrices of their groups.
struct Experts {
  std::size_t rows = 23, groups = 4, k = 32, n = 6;
  std::vector<int> group_of = {};
  std::vector<float> a = {}, b = {}, c = {};      ///< C: none, (n), (groups, n) or (rows, n)
  std::vector<float> scale_a = {}, scale_b = {};  ///< (rows) or none; (groups) or (groups, n) or none
  bool transposed = false;                        ///< B is (groups, n, k)

  float b_at(std::size_t group, std::size_t i, std::size_t j) const {
    return transposed ? b[(group * n + j) * k + i] : b[(group * k + i) * n + j];
  }
  float c_at(std::size_t row, std::size_t group, std::size_t j) const {
    if (c.empty()) return 0;
    return c.size() == n ? c[j] : c.size() == groups * n ? c[group * n + j] : c[row * n + j];
  }
  float scale(std::size_t row, std::size_t group, std::size_t j) const {
    const float of_b = scale_b.empty() ? 1 : scale_b.size() == groups ? scale_b[group] : scale_b[group * n + j];
    return (scale_a.empty() ? 1 : scale_a[row]) * of_b;
  }
};

/// `expert`: which matrix a row of a group takes. Rows in no group hold NaN, as memory that nobody wrote.
std::vector<float> multiplied(const Experts& in, const std::function<std::size_t(std::size_t row, std::size_t group)>& expert) {
  std::vector<float> out;
  for (std::size_t row = 0; row < in.rows; ++row)
    for (std::size_t j = 0; j < in.n; ++j) {
      if (in.group_of[row] < 0) {
        out.push_back(no_number);
        continue;
      }
      const std::size_t group = expert(row, static_cast<std::size_t>(in.group_of[row]));
      const bool scaled = !in.scale_a.empty() || !in.scale_b.empty();
      float sum = scaled ? 0 : in.c_at(row, group, j);
      for (std::size_t i = 0; i < in.k; ++i) sum = std::fma(in.a[row * in.k + i], in.b_at(group, i, j), sum);
      out.push_back(scaled ? sum * in.scale(row, group, j) + in.c_at(row, group, j) : sum);
    }
  return out;
}
std::size_t own(std::size_t, std::size_t group) { return group; }

Experts drawn(std::uint64_t seed, std::vector<int> group_of) {
  std::mt19937_64 random(seed);
  Experts in;
  in.rows = group_of.size(), in.group_of = std::move(group_of);
  in.a = normals(random, in.rows * in.k, 1, emu::bfloat16);
  in.b = normals(random, in.groups * in.k * in.n, 1, emu::bfloat16);
  return in;
}
/// Of 5, 0, 10 and 6 rows, and two in none.
Experts in_order(std::uint64_t seed) {
  std::vector<int> group_of;
  for (const auto& [group, count] : {std::pair(0, 5), {2, 10}, {3, 6}, {-1, 2}})
    group_of.insert(group_of.end(), static_cast<std::size_t>(count), group);
  return drawn(seed, group_of);
}
const std::vector<float> ends{5, 5, 15, 21};

struct Asked {
  std::vector<std::unique_ptr<tensors::Held>> held = {};
  verify::GroupedMatmulRequest request = {};

  std::string word(Shape shape, std::vector<float> values) {
    held.push_back(std::make_unique<tensors::Held>(tensors::from_values("given", std::move(shape), std::move(values))));
    return held.back()->word();
  }
};

Asked asked(const Experts& in, const std::vector<float>& output, bool by_ends) {
  Asked all;
  verify::GroupedMatmulRequest& request = all.request;
  request.product.a = all.word({in.rows, in.k}, in.a);
  request.product.b = all.word(in.transposed ? Shape{in.groups, in.n, in.k} : Shape{in.groups, in.k, in.n}, in.b);
  request.product.transpose_b = in.transposed;
  if (!in.c.empty()) request.product.c = all.word(in.c.size() == in.n ? Shape{in.n} : Shape{in.c.size() / in.n, in.n}, in.c);
  if (!in.scale_a.empty()) request.product.scale_a = {all.word({in.rows, 1}, in.scale_a)};
  if (!in.scale_b.empty())
    request.product.scale_b = {
        all.word(in.scale_b.size() == in.groups ? Shape{in.groups} : Shape{in.groups, in.n}, in.scale_b)};
  request.product.in = {"bf16"};
  if (by_ends)
    request.offsets = all.word({ends.size()}, ends);
  else
    request.group_of_row = all.word({in.rows}, std::vector<float>(in.group_of.begin(), in.group_of.end()));
  request.output.output = all.word({in.rows, in.n}, output);
  return all;
}

verify::Verdict judged(const Asked& all) {
  const verify::ResolvedCheck check = verify::resolve(all.request);
  return verify::verify(*check.expectation, check.output, {.last = check.last, .threads = 2});
}

std::string said(const verify::Verdict& verdict) { return verdict.patterns.empty() ? "" : verdict.patterns.back(); }

}  // namespace

TEST_CASE("grouped products: each group is its own product, whatever tells the groups", "[verify][grouped]") {
  for (const bool transposed : {false, true})
    for (const int extra : {0, 1, 2, 3, 4, 5}) {
      for (const bool by_ends : {true, false}) {
        Experts in = by_ends ? in_order(1) : drawn(2, {3, 0, -1, 0, 2, 3, 3, -1, 2, 0, 0, 2});
        in.transposed = transposed;
        std::mt19937_64 random(3);
        if (extra == 1) in.c = normals(random, in.n, 1, emu::float32);
        if (extra == 2) in.c = normals(random, in.groups * in.n, 1, emu::float32);
        if (extra == 3) in.c = normals(random, in.rows * in.n, 1, emu::float32);
        if (extra >= 4) in.scale_a = normals(random, in.rows, 1, emu::bfloat16);
        if (extra == 4) in.scale_b = normals(random, in.groups, 1, emu::bfloat16);
        if (extra == 5) in.scale_b = normals(random, in.groups * in.n, 1, emu::bfloat16);
        CAPTURE(transposed, extra, by_ends);
        std::vector<float> output = multiplied(in, own);
        const verify::Verdict verdict = judged(asked(in, output, by_ends));
        CHECK(verdict.outcome() == verify::Outcome::pass);
        CHECK(verdict.count == in.rows * in.n);

        // The exact value, element by element.
        const verify::ResolvedCheck check = verify::resolve(asked(in, output, by_ends).request);
        std::vector<verify::Expected> expected(output.size());
        check.expectation->expect(0, expected);
        for (std::size_t i = 0; i < output.size(); ++i) {
          const std::size_t row = i / in.n, j = i % in.n;
          if (in.group_of[row] < 0) continue;
          const auto group = static_cast<std::size_t>(in.group_of[row]);
          long double sum = 0;
          for (std::size_t t = 0; t < in.k; ++t)
            sum += static_cast<long double>(in.a[row * in.k + t]) * static_cast<long double>(in.b_at(group, t, j));
          sum *= static_cast<long double>(in.scale_a.empty() ? 1 : in.scale_a[row]) *
                 (in.scale_b.empty() ? 1 : in.scale_b[in.scale_b.size() == in.groups ? group : group * in.n + j]);
          sum += static_cast<long double>(in.c_at(row, group, j));
          CHECK(std::fabs(static_cast<long double>(expected[i].value) - sum) <= expected[i].radius + 1e-16L);
          verify::Expected alone;
          check.expectation->expect(i, std::span(&alone, 1));
          CHECK((alone.value == expected[i].value && alone.allowed == expected[i].allowed));
        }
        const auto first_of_a_group = static_cast<std::size_t>(
            std::find_if(in.group_of.begin(), in.group_of.end(), [](int group) { return group > 0; }) - in.group_of.begin());
        output[first_of_a_group * in.n] += 1;
        CHECK(judged(asked(in, output, by_ends)).wrong() == 1);
      }
    }
}

TEST_CASE("grouped products: bit for bit against an engine", "[verify][grouped]") {
  const Experts in = in_order(5);
  std::vector<float> output = multiplied(in, own);
  Asked all = asked(in, output, true);
  all.request.engine = "fma", all.request.output.against = "engine";
  const verify::Verdict verdict = judged(all);
  CHECK(verdict.outcome() == verify::Outcome::pass);
  CHECK(verdict.equal == verdict.count);
  output[7 * in.n] = std::nextafter(output[7 * in.n], infinite);
  Asked wrong = asked(in, output, true);
  wrong.request.engine = "fma", wrong.request.output.against = "engine";
  CHECK(judged(wrong).wrong() == 1);
}

TEST_CASE("grouped products: another group's matrix is found and named", "[verify][grouped]") {
  const Experts in = in_order(6);
  const auto said_with = [&](const std::function<std::size_t(std::size_t, std::size_t)>& expert) {
    const verify::Verdict verdict = judged(asked(in, multiplied(in, expert), true));
    CHECK(verdict.outcome() == verify::Outcome::fail);
    return said(verdict);
  };
  CHECK_THAT(said_with([](auto, auto g) { return g == 2 ? 3 : g; }),
             ContainsSubstring("60 of 60 wrong elements looked at are right with the matrix of group 3, not 2"));
  CHECK_THAT(said_with([](auto, auto g) { return g == 3 ? 0 : g; }), ContainsSubstring("with the matrix of group 0, not 3"));
  CHECK_THAT(said_with([](auto, auto g) { return g == 0 ? 0 : g - 1; }),
             ContainsSubstring("with the matrix of the group before theirs"));
  // The end of a group one row late.
  CHECK_THAT(said_with([](auto row, auto g) { return row == 15 ? 2 : g; }),
             ContainsSubstring("6 of 6 wrong elements looked at are right with the matrix of group 2, not 3"));
}

TEST_CASE("grouped products: what does not fit is refused", "[verify][grouped]") {
  const Experts in = in_order(7);
  const std::vector<float> output = multiplied(in, own);
  const auto refused = [&](const char* words, const std::function<void(Asked&)>& change) {
    Asked all = asked(in, output, true);
    change(all);
    CHECK_THROWS_WITH(verify::resolve(all.request), ContainsSubstring(words));
  };
  const auto by = [](std::vector<float> numbers) {
    return [numbers](Asked& all) { all.request.offsets = all.word({numbers.size()}, numbers); };
  };
  refused("--offsets: group 2 would end at row 4, before it begins at 5", by({5, 5, 4, 21}));
  refused("--offsets: group 3 would end at row 24; A has 23", by({5, 5, 15, 24}));
  refused("--offsets: group 0 would end at row -1, before it begins at 0", by({-1, 5, 15, 21}));
  refused("--offsets of shape 3: give 4 numbers", by({5, 5, 15}));
  refused("whole numbers are needed", by({5, 5.5, 15, 21}));
  const auto rows_by = [&](float last) {
    return [&, last](Asked& all) {
      std::vector<float> numbers(in.rows, 1);
      numbers.back() = last;
      all.request.offsets.clear();
      all.request.group_of_row = all.word({in.rows}, numbers);
    };
  };
  refused("--group-of-row: row 22 is of group 4; there are 0 to 3, and -1 for none", rows_by(4));
  refused("--group-of-row: row 22 is of group -2", rows_by(-2));
  refused("give one of them", [](Asked& all) { all.request.offsets.clear(); });
  refused("give one of them", [](Asked& all) { all.request.group_of_row = all.request.offsets; });
  refused("grouped products are of A (rows, K) and B (groups, K, N)", [](Asked& all) {
    all.request.product.b = all.word({4, 2}, std::vector<float>(8));
  });
  refused("they must be as many", [](Asked& all) { all.request.product.b = all.word({4, 3, 2}, std::vector<float>(24)); });
  refused("C given (5x6): with groups", [](Asked& all) { all.request.product.c = all.word({5, 6}, std::vector<float>(30)); });
  refused("C given (1x5x2): with groups", [](Asked& all) {
    all.request.product.c = all.word({1, 5, 2}, std::vector<float>(10));
  });
  refused("--scale-a given (5): with groups",
          [](Asked& all) { all.request.product.scale_a = {all.word({5}, std::vector<float>(5))}; });
  refused("--acc int32 takes the integers as they are", [](Asked& all) { all.request.product.acc = "int32"; });
  refused("of rows in no group nothing is known", [](Asked& all) { all.request.output.against = all.request.output.output; });
}

TEST_CASE("grouped products: where no row is in a group the check is vacuous", "[verify][grouped]") {
  const Experts in = drawn(8, std::vector<int>(6, -1));
  CHECK(judged(asked(in, multiplied(in, own), false)).outcome() == verify::Outcome::vacuous);
}

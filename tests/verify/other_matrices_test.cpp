// SPDX-License-Identifier: Apache-2.0
// Batches whose operands are taken from other matrices: products written as plain loops, and what is said of them.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/verify/operations_data.hpp"
#include "verify/explain/explain.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::operations;
using verify::ExplainVerdict;
using Map = std::function<std::size_t(std::size_t)>;

constexpr std::size_t m = 12, n = 10, k = 48;

/// Which matrices a kernel takes for each of the batch.
struct Taken {
  Map a, b, scale_b = b;
};

/// A batch of A, and as many matrices of B or fewer, each for several of the batch.
struct Batch {
  std::size_t count, each_b = 1;
  std::vector<float> a, b, scale_b = {}, c = {};  ///< a scale for each matrix and column of B

  Map own() const {
    return [](std::size_t i) { return i; };
  }
  Map own_b() const {
    return [each = each_b](std::size_t i) { return i / each; };
  }
  products::Product claim() const {
    const std::size_t matrices = count / each_b;
    products::Product claim{.engine = "fma",
                            .a = {{tensors::from_values("A", {matrices, each_b, m, k}, a)}, {emu::bfloat16}, {}},
                            .b = {{tensors::from_values("B", {matrices, 1, k, n}, b)}, {emu::bfloat16}, {}},
                            .acc = emu::float32,
                            .out = emu::float32,
                            .beta = {}};
    if (!scale_b.empty())
      claim.b.scales = products::fit_scales(tensors::from_values("scales", {matrices, 1, 1, n}, scale_b), claim.b.input,
                                            products::MatmulSide::b);
    if (!c.empty()) claim.c = tensors::from_values("C", {matrices, each_b, m, n}, c);
    return claim;
  }
  /// Products of two bfloat16 are float32 numbers: a chain of fma, in ascending order or the other.
  std::vector<float> product(const Taken& taken, bool descending = false) const {
    std::vector<float> d;
    for (std::size_t x = 0; x < count; ++x)
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < n; ++j) {
          float sum = c.empty() || !scale_b.empty() ? 0 : c[(x * m + i) * n + j];
          for (std::size_t step = 0; step < k; ++step) {
            const std::size_t at = descending ? k - 1 - step : step;
            sum += a[(taken.a(x) * m + i) * k + at] * b[(taken.b(x) * k + at) * n + j];
          }
          d.push_back(scale_b.empty() ? sum : sum * scale_b[taken.scale_b(x) * n + j]);
        }
    return d;
  }
  std::string named(const std::vector<float>& d) const {
    const auto result =
        verify::explain({.product = claim(), .d = tensors::from_values("D", {count / each_b, each_b, m, n}, d)});
    if (result.verdict != ExplainVerdict::explained) return std::string(name_of(result.verdict));
    CHECK(result.findings.front().matched == d.size());
    return result.findings.front().hypothesis.word();
  }
};

Batch batch_of(std::size_t count, std::size_t each_b = 1) {
  std::mt19937_64 random(23);
  return {.count = count,
          .each_b = each_b,
          .a = normals(random, count * m * k, 1, emu::bfloat16),
          .b = normals(random, count / each_b * k * n, 1, emu::bfloat16)};
}

Map always(std::size_t matrix) {
  return [matrix](std::size_t) { return matrix; };
}

}  // namespace

TEST_CASE("matrices that are read in the place of others are told, by operand and rule", "[verify][explain]") {
  const Batch in = batch_of(6);
  const Map own = in.own();
  const Map before = [](std::size_t i) { return i == 0 ? i : i - 1; };
  const Map after = [](std::size_t i) { return std::min<std::size_t>(i + 1, 5); };
  CHECK(in.named(in.product({own, own})) == "holds");
  CHECK(in.named(in.product({own, always(0)})) == "B=matrix:0");
  CHECK(in.named(in.product({always(0), own})) == "A=matrix:0");
  CHECK(in.named(in.product({own, always(4)})) == "B=matrix:4");
  CHECK(in.named(in.product({before, own})) == "A=matrix:previous");
  CHECK(in.named(in.product({own, after})) == "B=matrix:next");
  CHECK(in.named(in.product({own, [](std::size_t i) { return i == 3 ? 5 : i; }})) == "B=matrix:other");
  // With another order of the sums; both operands, as where a whole matrix of D is another's.
  CHECK(in.named(in.product({own, always(0)}, true)) == "order=descending + B=matrix:0");
  CHECK(in.named(in.product({before, before}, true)) == "order=descending + inputs=matrix:previous");
}

TEST_CASE("other matrices are told where no order of the sums gives D", "[verify][explain]") {
  const Batch in = batch_of(4);
  std::vector<float> d = in.product({in.own(), always(1)});
  for (float& x : d) x = std::nextafter(x, 0.0F);
  const auto result = verify::explain({.product = in.claim(), .d = tensors::from_values("D", {4, 1, m, n}, d)});
  CHECK(result.verdict == ExplainVerdict::unexplained);
  CHECK(result.matrices == "B read from matrix 1 for all of the batch");
  const std::vector<std::string> remarks = verify::remarks(result);
  CHECK(std::ranges::count(remarks, "D is as of " + result.matrices + ", but for how its sums are rounded") == 1);
}

TEST_CASE("heads that share a matrix of B, and take another's", "[verify][explain]") {
  const Batch in = batch_of(8, 2);  // heads 0 and 1 share matrix 0
  CHECK(in.named(in.product({in.own(), in.own_b()})) == "holds");
  CHECK(in.named(in.product({in.own(), [](std::size_t i) { return i % 4; }})) == "B=matrix:modulo");
  CHECK(in.named(in.product({in.own(), always(1)})) == "B=matrix:1");
}

TEST_CASE("scales of another matrix are told from elements of one", "[verify][explain]") {
  Batch in = batch_of(4);
  std::mt19937_64 random(5);
  in.scale_b = normals(random, 4 * n, 1, emu::bfloat16);
  const Map own = in.own();
  CHECK(in.named(in.product({own, own})) == "holds");
  CHECK(in.named(in.product({own, own, always(0)})) == "scales/b=matrix:0");
  CHECK(in.named(in.product({own, always(0), own})) == "B=matrix:0");
  CHECK(in.named(in.product({own, always(0), always(0)})) == "B=matrix-scaled:0");
}

TEST_CASE("C stays its own matrix's where B does not", "[verify][explain]") {
  Batch in = batch_of(4);
  std::mt19937_64 random(6);
  in.c = normals(random, 4 * m * n, 8, emu::bfloat16);
  CHECK(in.named(in.product({in.own(), in.own()})) == "holds");
  CHECK(in.named(in.product({in.own(), always(0)})) == "B=matrix:0");
}

TEST_CASE("a whole matrix of zeros is one, and other wrong matrices have no name", "[verify][explain]") {
  const Batch in = batch_of(4);
  const std::vector<float> right = in.product({in.own(), in.own()});
  std::vector<float> zero = right, random_bits = right, wrong_sums = right;
  std::fill(zero.begin() + 2 * m * n, zero.begin() + 3 * m * n, 0.0F);
  CHECK(in.named(zero) == "D=zero-matrix");
  std::mt19937_64 random(9);
  const std::vector<float> others = normals(random, m * n, 7, emu::float32);
  std::copy(others.begin(), others.end(), random_bits.begin() + m * n);
  CHECK(in.named(random_bits) == "unexplained");
  // One wrong element, which is near to what some other matrices would give.
  const Batch large = batch_of(60);
  std::vector<float> one = large.product({large.own(), large.own()});
  one[7 * m * n + 5] += 3;
  const auto result = verify::explain({.product = large.claim(), .d = tensors::from_values("D", {60, 1, m, n}, one)});
  CHECK(result.verdict == ExplainVerdict::unexplained);
  CHECK(result.matrices.empty());
  // Half of B's matrix is another's: no matrix by itself.
  Batch mixed = in;
  std::copy(in.b.begin(), in.b.begin() + k * n / 2, mixed.b.begin() + k * n);
  CHECK(in.named(mixed.product({in.own(), in.own()})) == "unexplained");
}

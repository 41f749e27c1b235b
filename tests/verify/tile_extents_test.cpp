// SPDX-License-Identifier: Apache-2.0
// By which extents tiles of D are named: those that are seen, and no larger ones where D ends.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "tests/verify/operations_data.hpp"
#include "verify/explain/explain.hpp"
#include "verify/explain/tile_placements.hpp"

namespace {

using namespace ulpscope;

struct Rectangle {
  std::size_t matrix, row, column, rows, columns;
};

products::MatmulShape shape_of(std::size_t batch, std::size_t m, std::size_t n) {
  const std::vector<std::size_t> each(batch, 0);
  return {.m = m, .n = n, .k = 1, .d = {batch, m, n}, .a_of = each, .b_of = each, .a_matrices = 1, .b_matrices = 1};
}

/// The tiles that are named where these elements are wrong.
verify::WrongTiles tiles_of(std::size_t batch, std::size_t m, std::size_t n, const std::vector<Rectangle>& wrong) {
  std::vector<char> is_wrong(batch * m * n, 0);
  for (const Rectangle& of : wrong)
    for (std::size_t i = of.row; i < of.row + of.rows; ++i)
      for (std::size_t j = of.column; j < of.column + of.columns; ++j) is_wrong[(of.matrix * m + i) * n + j] = 1;
  const auto all = verify::wrong_tiles(shape_of(batch, m, n), [&](std::size_t i) { return is_wrong[i] != 0; });
  REQUIRE(!all.empty());
  return verify::narrowest(all);
}
using Words = std::vector<std::string>;
/// Their word and sentence.
Words named(std::size_t batch, std::size_t m, std::size_t n, const std::vector<Rectangle>& wrong) {
  const verify::WrongTiles seen = tiles_of(batch, m, n, wrong).as_seen();
  return {seen.word(), seen.sentence() + " (" + verify::places_of(seen, batch) + ")"};
}

/// D of three matrices by plain loops, and its claim.
struct Batch {
  static constexpr std::size_t m = 24, n = 40, k = 16, batch = 3;
  std::vector<float> a, b, d = std::vector<float>(batch * m * n);

  Batch() {
    std::mt19937_64 random(5);
    a = operations::normals(random, batch * m * k, 1, emu::bfloat16);
    b = operations::normals(random, batch * k * n, 1, emu::bfloat16);
    for (std::size_t x = 0; x < d.size(); ++x)
      for (std::size_t at = 0; at < k; ++at) d[x] += a[x / n * k + at] * b[(x / (m * n) * k + at) * n + x % n];
  }
  verify::ExplainResult explained() const {
    return verify::explain({.product = {.engine = "fma",
                                        .a = {{tensors::from_values("A", {batch, m, k}, a)}, {emu::bfloat16}, {}},
                                        .b = {{tensors::from_values("B", {batch, k, n}, b)}, {emu::bfloat16}, {}},
                                        .acc = emu::float32,
                                        .out = emu::float32,
                                        .beta = {}},
                            .d = tensors::from_values("D", {batch, m, n}, d)});
  }
};

}  // namespace

TEST_CASE("a size whose extents are seen comes before a square that ends with D", "[verify][explain]") {
  const auto size = [](const std::vector<Rectangle>& wrong) { return tiles_of(1, 96, 160, wrong).sentence(); };
  CHECK(size({{0, 64, 64, 32, 64}}) == "one 32x64 tile");
  CHECK(size({{0, 32, 128, 32, 32}}) == "one 32x32 tile");
  CHECK(size({{0, 64, 0, 32, 64}, {0, 64, 128, 32, 32}}) == "2 tiles of 32x64");
  // One of the two shows that there are 64 rows.
  CHECK(size({{0, 0, 0, 64, 64}, {0, 64, 64, 32, 64}}) == "2 tiles of 64x64");
}

TEST_CASE("no extent is named that is larger than all tiles", "[verify][explain]") {
  CHECK(named(1, 96, 160, {{0, 64, 64, 32, 64}}) == Words{"32x64", "one 32x64 tile (rows 64..95, columns 64..127)"});
  CHECK(named(1, 64, 1, {{0, 16, 0, 16, 1}}) == Words{"16x1", "one 16x1 tile (rows 16..31, columns 0..0)"});
  CHECK(named(1, 3, 64, {{0, 0, 32, 3, 32}}) == Words{"3x32", "one 3x32 tile (rows 0..2, columns 32..63)"});
  CHECK(named(1, 200, 600, {{0, 192, 512, 8, 88}}) == Words{"8x88", "one 8x88 tile (rows 192..199, columns 512..599)"});
}

TEST_CASE("whole matrices of a batch are named as such", "[verify][explain]") {
  CHECK(named(2, 96, 160, {{0, 0, 0, 96, 160}}) == Words{"96x160", "one whole matrix (matrix 0)"});
  CHECK(named(4, 3, 50, {{1, 0, 0, 3, 50}, {3, 0, 0, 3, 50}}) ==
        Words{"3x50,tiles:2", "2 whole matrices (matrix 1; matrix 3)"});
  CHECK(named(2, 64, 64, {{1, 0, 0, 32, 64}}) == Words{"32x64", "one 32x64 tile (rows 0..31, columns 0..63 of matrix 1)"});
}

TEST_CASE("a matrix of a batch that is another one is named with both", "[verify][explain]") {
  Batch in;
  std::copy_n(in.d.begin(), Batch::m * Batch::n, in.d.begin() + Batch::m * Batch::n);

  const verify::ExplainResult result = in.explained();

  REQUIRE(result.verdict == verify::ExplainVerdict::explained);
  REQUIRE(result.findings.size() == 1);
  CHECK(result.findings.front().hypothesis.word() == "D=tile-stale:24x40");
  CHECK(result.findings.front().hypothesis.sentence() ==
        "one whole matrix of another place (matrix 1: that at (0, 0) of matrix 0)");
}

TEST_CASE("what gains nothing in the tiles that are wrong is not listed", "[verify][explain]") {
  Batch in;
  std::mt19937_64 random(3);
  const std::vector<float> noise = operations::normals(random, Batch::m * Batch::n, 1, emu::float32);
  std::copy(noise.begin(), noise.end(), in.d.begin() + Batch::m * Batch::n);

  const verify::ExplainResult result = in.explained();

  REQUIRE(result.verdict == verify::ExplainVerdict::unexplained);
  CHECK(result.tiles == "one whole matrix (matrix 1)");
  REQUIRE(!result.findings.empty());
  for (const verify::Finding& finding : result.findings) {
    CAPTURE(finding.hypothesis.word());
    CHECK((finding.matched > result.equal() || finding.hypothesis.word().find("D=tile:") == std::string::npos));
  }
}

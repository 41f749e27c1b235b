// SPDX-License-Identifier: Apache-2.0
// Last tiles with another leading dimension: operands are read through pointers here, and D is written through one.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "tensors/synthetic.hpp"
#include "verify/explain/explain.hpp"

namespace {

using namespace ulpscope;

constexpr std::size_t m = 100, n = 72;

products::Product product(bool transposed) {
  const auto operand = [&](const std::string& words, std::uint64_t seed) {
    return products::MatmulOperand{{tensors::open_one(words, {.dtype = {}, .seed = seed}), transposed}, {emu::bfloat16}, {}};
  };
  return {.engine = "sm_90",
          .a = operand(transposed ? "normal:0,1:144x100" : "normal:0,1:100x144", 1),
          .b = operand(transposed ? "normal:0,1:72x144" : "normal:0,1:144x72", 2),
          .c = {},
          .acc = emu::float32,
          .out = emu::float32,
          .beta = {}};
}

std::vector<double> values(const tensors::Tensor& tensor) {
  std::vector<double> out(static_cast<std::size_t>(tensor.count()));
  tensor.source->read(0, std::span(out));
  return out;
}

/// Tiles at the end of a stored matrix, of so many rows.
struct Tiles {
  std::size_t row, column, height, stride;
};

/// What is read of a stored matrix, a tile after the other: `pointer` goes by rows of the tile.
tensors::Tensor misread(const tensors::Tensor& stored, const Tiles& tiles) {
  const std::vector<double> buffer = values(stored);
  const auto rows = static_cast<std::size_t>(stored.shape[0]), columns = static_cast<std::size_t>(stored.shape[1]);
  std::vector<double> read = buffer;
  for (std::size_t tile = tiles.row; tile < rows; tile += tiles.height) {
    std::size_t pointer = tile * columns;
    for (std::size_t row = tile; row < std::min(rows, tile + tiles.height); ++row, pointer += tiles.stride)
      for (std::size_t column = tiles.column; column < columns; ++column)
        read[row * columns + column] = pointer + column < buffer.size() ? buffer[pointer + column] : 0;
  }
  return tensors::from_values("misread", stored.shape, read);
}

std::vector<std::string> explaining(const verify::ExplainResult& result) {
  std::vector<std::string> words;
  for (const verify::Finding& finding : result.findings)
    if (finding.explains && finding.matched == result.count) words.push_back(finding.hypothesis.word());
  return words;
}

}  // namespace

TEST_CASE("tiles at the end of an operand that are read with another leading dimension are named", "[verify]") {
  struct Case {
    char operand;
    bool transposed;
    Tiles tiles;
    const char *word, *sentence;
  };
  const Case x = GENERATE(Case{'a',
                               false,
                               {64, 0, 64, 136},
                               "A=last-rows:36,stride:136",
                               "the last 36 rows of A read with a leading dimension of 136, not 144"},
                          Case{'a',
                               false,
                               {64, 0, 64, 152},
                               "A=last-rows:36,stride:152",
                               "the last 36 rows of A read with a leading dimension of 152, not 144"},
                          Case{'a',
                               false,
                               {96, 128, 32, 100},
                               "A=last-tile:4x16,stride:100",
                               "the last 4x16 tile of A read with a leading dimension of 100, not 144"},
                          Case{'a',
                               false,
                               {0, 128, 64, 128},
                               "A=last-columns:16,stride:128,every:64",
                               "the last 16 columns of A read with a leading dimension of 128, not 144, anew every 64 rows"},
                          Case{'a', false, {0, 0, 100, 160}, "A=stride:160", "A read with a leading dimension of 160, not 144"},
                          Case{'a',
                               true,
                               {128, 0, 16, 96},
                               "A=last-rows:16,stride:96",
                               "the last 16 rows of A, as it is stored, read with a leading dimension of 96, not 100"},
                          Case{'b',
                               false,
                               {0, 64, 32, 64},
                               "B=last-columns:8,stride:64,every:32",
                               "the last 8 columns of B read with a leading dimension of 64, not 72, anew every 32 rows"},
                          Case{'b',
                               false,
                               {128, 0, 64, 80},
                               "B=last-rows:16,stride:80",
                               "the last 16 rows of B read with a leading dimension of 80, not 72"},
                          Case{'b',
                               true,
                               {64, 0, 32, 143},
                               "B=last-rows:8,stride:143",
                               "the last 8 rows of B, as it is stored, read with a leading dimension of 143, not 144"});
  CAPTURE(x.word);
  const products::Product claimed = product(x.transposed);
  products::Product computed = claimed;
  tensors::Tensor& operand = (x.operand == 'a' ? computed.a : computed.b).input.tensor;
  operand = misread(operand, x.tiles);

  const verify::ExplainResult result = verify::explain({claimed, products::multiply(computed)});

  REQUIRE(result.verdict == verify::ExplainVerdict::explained);
  CHECK(explaining(result) == std::vector<std::string>{x.word});
  CHECK(result.findings.front().hypothesis.sentence() == x.sentence);
}

TEST_CASE("tiles at the end of D that are written with another leading dimension are named", "[verify]") {
  const Tiles tiles = GENERATE(Tiles{64, 0, 64, n - 8}, Tiles{96, 0, 32, n + 8}, Tiles{96, 64, 8, m}, Tiles{0, 64, 16, n - 16});
  const bool filled = GENERATE(false, true);
  const products::Product claimed = product(false);
  const std::vector<double> right = values(products::multiply(claimed));
  std::vector<float> d(right.size(), filled ? -1.0F : 0.0F);
  const auto write = [&](bool last) {
    for (std::size_t tile = tiles.row % tiles.height; tile < m; tile += tiles.height)
      for (std::size_t row = tile; row < std::min(m, tile + tiles.height); ++row)
        for (std::size_t column = 0; column < n; ++column) {
          if ((row >= tiles.row && column >= tiles.column) != last) continue;
          const std::size_t place = last ? tile * n + (row - tile) * tiles.stride + column : row * n + column;
          if (place < d.size()) d[place] = static_cast<float>(right[row * n + column]);
        }
  };
  write(false), write(true);
  const std::string part = tiles.row != 0 && tiles.column != 0 ? "last-tile:4x8,"
                           : tiles.row != 0                    ? "last-rows:" + std::to_string(m - tiles.row) + ","
                                                               : "last-columns:8,";
  const std::string every = tiles.row == 0 ? ",every:16" : "";

  const verify::ExplainResult result = verify::explain({claimed, tensors::from_values("D", {m, n}, d)});

  REQUIRE(result.verdict == verify::ExplainVerdict::explained);
  CHECK(explaining(result) == std::vector<std::string>{"D=" + part + "stride:" + std::to_string(tiles.stride) + every});

  if (tiles.row != 64 || filled) return;  // once is enough: it looks for everything else
  d[3 * n + 5] += 1;                      // which no tile has done
  CHECK(verify::explain({claimed, tensors::from_values("D", {m, n}, d)}).verdict != verify::ExplainVerdict::explained);
}

TEST_CASE("rows of D that are not written, or hold one other number, are no leading dimension", "[verify]") {
  constexpr std::size_t rows = 66;  // the last tile has two, of which a leading dimension moves one
  const auto [last, value] = GENERATE(table<std::size_t, float>({{n, std::numeric_limits<float>::quiet_NaN()},
                                                                 {n, 1e30F},
                                                                 {n / 4, std::numeric_limits<float>::quiet_NaN()},
                                                                 {1, 20.5F}}));
  products::Product claimed = product(false);
  claimed.a.input.tensor = tensors::open_one("normal:0,1:66x144", {.dtype = {}, .seed = 1});
  const std::vector<double> right = values(products::multiply(claimed));
  std::vector<float> d(right.begin(), right.end());
  std::fill(d.end() - static_cast<std::ptrdiff_t>(last), d.end(), value);

  const verify::ExplainResult result = verify::explain({claimed, tensors::from_values("D", {rows, n}, d)});

  CHECK(result.verdict == verify::ExplainVerdict::unexplained);
  CHECK(explaining(result).empty());
}

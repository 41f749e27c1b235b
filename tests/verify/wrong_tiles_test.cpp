// SPDX-License-Identifier: Apache-2.0
// Faulty tiles of D, of any size, one or several: the products and the faults are plain loops.
#include "verify/explain/wrong_tiles.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/names.hpp"
#include "tests/verify/operations_data.hpp"
#include "verify/explain/explain.hpp"

namespace {

using namespace ulpscope;
using operations::normals;
using verify::ExplainVerdict;

/// Extents of tiles and of where one begins; the tile ends where D does.
struct Place {
  std::size_t row, column;
};

struct TiledProblem {
  std::size_t m = 200, n = 600, k = 32;
  emu::Format out = emu::float32;
  std::vector<float> a, b;

  TiledProblem(std::size_t rows, std::size_t columns, std::size_t products, emu::Format format = emu::float32)
      : m(rows), n(columns), k(products), out(format) {
    std::mt19937_64 random(17);
    a = normals(random, m * k, 1, emu::bfloat16), b = normals(random, k * n, 1, emu::bfloat16);
  }

  products::Product claim() const {
    return {.engine = "fma",
            .a = {{tensors::from_values("A", {m, k}, a)}, {emu::bfloat16}, {}},
            .b = {{tensors::from_values("B", {k, n}, b)}, {emu::bfloat16}, {}},
            .acc = emu::float32,
            .out = out,
            .beta = {}};
  }
  /// Without the products from `begin` to `end`; a product of two bfloat16 is a number of float32.
  float element(std::size_t i, std::size_t j, std::size_t begin = 0, std::size_t end = 0) const {
    float sum = 0;
    for (std::size_t at = 0; at < k; ++at)
      if (at < begin || at >= end) sum += a[i * k + at] * b[at * n + j];
    return operations::as(out, sum);
  }
  std::vector<float> right() const {
    std::vector<float> d;
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) d.push_back(element(i, j));
    return d;
  }
  verify::ExplainResult explained(const std::vector<float>& d) const {
    return verify::explain({.product = claim(), .d = tensors::from_values("D", {m, n}, d)});
  }
};

/// Words that explain all of D.
std::vector<std::string> words(const verify::ExplainResult& result) {
  std::vector<std::string> all;
  if (result.verdict != ExplainVerdict::explained) return {std::string(name_of(result.verdict))};
  for (const verify::Finding& finding : result.findings)
    if (finding.explains && finding.matched == result.count) all.push_back(finding.hypothesis.word());
  return all;
}
using Words = std::vector<std::string>;

/// Calls `change` with the elements of tiles of D.
void in_tiles(const TiledProblem& in, std::size_t rows, std::size_t columns, const std::vector<Place>& places,
              const std::function<void(const Place&, std::size_t, std::size_t)>& change) {
  for (const Place& place : places)
    for (std::size_t i = 0; i < rows && place.row + i < in.m; ++i)
      for (std::size_t j = 0; j < columns && place.column + j < in.n; ++j) change(place, i, j);
}

struct Tiling {
  std::size_t rows, columns;
  std::vector<Place> places;
  std::string word, sentence;  // of the size and the number, and of the places
};

std::vector<Tiling> tilings() {
  return {
      {64, 128, {{64, 256}}, "64x128", "one 64x128 tile / (rows 64..127, columns 256..383)"},
      {128, 32, {{0, 96}}, "128x32", "one 128x32 tile / (rows 0..127, columns 96..127)"},
      {16, 256, {{176, 256}}, "16x256", "one 16x256 tile / (rows 176..191, columns 256..511)"},
      {48, 80, {{48, 160}}, "48x80", "one 48x80 tile / (rows 48..95, columns 160..239)"},
      {64, 128, {{192, 512}}, "64x128", "one 64x128 tile / (rows 192..199, columns 512..599)"},
      {64,
       128,
       {{0, 384}, {128, 0}},
       "64x128,tiles:2",
       "2 tiles of 64x128 / (rows 0..63, columns 384..511; rows 128..191, columns 0..127)"},
      {128,
       32,
       {{0, 32}, {0, 352}, {128, 576}},
       "128x32,tiles:3",
       "3 tiles of 128x32 / (rows 0..127, columns 32..63; rows 0..127, columns 352..383; rows 128..199, columns 576..599)"},
      {64,
       64,
       {{64, 64}, {64, 192}, {64, 320}, {64, 448}, {64, 576}},
       "64,tiles:5",
       "5 tiles of 64x64 / (rows 64..127, columns 64..127; rows 64..127, columns 192..255; rows 64..127, columns 320..383; "
       "rows 64..127, columns 448..511; and 1 more)"},
  };
}

/// The sentence of a tiling with what is wrong of it.
std::string with(const std::string& sentence, const std::string& what) {
  const std::size_t at = sentence.find('/');
  return sentence.substr(0, at) + what + sentence.substr(at + 1);
}

}  // namespace

TEST_CASE("tiles of zeros and doubled ones are named with their size, their number and their places", "[verify][explain]") {
  const TiledProblem in(200, 600, 32);
  const std::vector<float> right = in.right();
  for (const Tiling& tiling : tilings())
    for (const bool doubled : {false, true}) {
      // Of what ends where D does, no size is told but by where it begins.
      const bool is_cut = tiling.word == "64x128" && tiling.places.front().row == 192;
      std::vector<float> d = right;
      in_tiles(in, tiling.rows, tiling.columns, tiling.places, [&](const Place& at, std::size_t i, std::size_t j) {
        float& x = d[(at.row + i) * in.n + at.column + j];
        x = doubled ? x + x : 0;
      });
      CAPTURE(tiling.word, doubled);

      const verify::ExplainResult result = in.explained(d);

      REQUIRE(result.verdict == ExplainVerdict::explained);
      const std::string kind = doubled ? "D=tile-doubled:" : "D=tile-zero:";
      if (is_cut) {
        CHECK(words(result).size() == 1);
        CHECK(result.findings.front().hypothesis.sentence().ends_with("(rows 192..199, columns 512..599)"));
        continue;
      }
      CHECK(words(result) == Words{kind + tiling.word});
      CHECK(result.findings.front().hypothesis.sentence() == with(tiling.sentence, doubled ? "twice what is claimed" : "zero"));
    }
}

TEST_CASE("tiles that hold others, or what others add to them, are named with where these are", "[verify][explain]") {
  const TiledProblem in(200, 600, 32);
  const std::vector<float> right = in.right();
  for (const bool added : {false, true}) {
    std::vector<float> d = right;
    // Each from the tile to its left.
    in_tiles(in, 64, 128, {{0, 128}, {64, 384}, {128, 512}}, [&](const Place& at, std::size_t i, std::size_t j) {
      const std::size_t here = (at.row + i) * in.n + at.column + j;
      d[here] = added ? right[here] + right[here - 128] : right[here - 128];
    });
    const verify::ExplainResult result = in.explained(d);
    REQUIRE(words(result) == Words{added ? "D=tile-added:64x128,tiles:3" : "D=tile-stale:64x128,tiles:3"});
    CHECK(result.findings.front().hypothesis.sentence() ==
          std::string("3 tiles of 64x128 ") + (added ? "with another place's added" : "of another place") +
              " (rows 0..63, columns 128..255: that at (0, 0); rows 64..127, columns 384..511: that at (64, 256); rows "
              "128..191, columns 512..599: that at (128, 384))");
  }
  std::vector<float> swapped = right;
  in_tiles(in, 16, 256, {{32, 0}}, [&](const Place& at, std::size_t i, std::size_t j) {
    std::swap(swapped[(at.row + i) * in.n + j], swapped[(160 + i) * in.n + 256 + j]);
  });
  CHECK(words(in.explained(swapped)) == Words{"D=tile-stale:16x256,tiles:2"});
  in_tiles(in, 16, 256, {{32, 0}}, [&](const Place&, std::size_t i, std::size_t j) {
    swapped[(160 + i) * in.n + 256 + j] = right[(48 + i) * in.n + j + 1];  // of no tile
  });
  CHECK(words(in.explained(swapped)) == Words{"unexplained"});
}

TEST_CASE("tiles that are transposed are named, also where they go beyond D", "[verify][explain]") {
  const TiledProblem in(200, 328, 32);
  const std::vector<float> right = in.right();
  const auto at = [&](std::size_t i, std::size_t j) { return i < in.m && j < in.n ? right[i * in.n + j] : 0.0F; };
  /// Whole tiles, stored by `write` and read by `read`.
  using Order = std::function<std::size_t(std::size_t, std::size_t)>;
  const auto named = [&](std::size_t rows, std::size_t columns, const std::vector<Place>& places, const Order& write,
                         const Order& read) {
    std::vector<float> d = right;
    for (const Place& place : places) {
      std::vector<float> buffer(rows * columns);
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns; ++j) buffer[write(i, j)] = at(place.row + i, place.column + j);
      in_tiles(in, rows, columns, {place}, [&](const Place&, std::size_t i, std::size_t j) {
        d[(place.row + i) * in.n + place.column + j] = buffer[read(i, j)];
      });
    }
    const verify::ExplainResult result = in.explained(d);
    if (result.findings.size() != 1) return words(result);
    return Words{result.findings.front().hypothesis.word(), result.findings.front().hypothesis.sentence()};
  };
  const auto by_rows = [](std::size_t columns) { return [columns](std::size_t i, std::size_t j) { return i * columns + j; }; };
  const auto by_columns = [](std::size_t rows) { return [rows](std::size_t i, std::size_t j) { return j * rows + i; }; };
  CHECK(named(64, 128, {{64, 128}}, by_columns(64), by_rows(128)) ==
        Words{"D=tile-transposed:64x128",
              "one 64x128 tile transposed, written by columns and read by rows (rows 64..127, columns 128..255)"});
  CHECK(named(128, 32, {{0, 96}, {128, 0}}, by_rows(32), by_columns(128)) ==
        Words{"D=tile-transposed:128x32,tiles:2",
              "2 tiles of 128x32 transposed, written by rows and read by columns (rows 0..127, columns 96..127; rows "
              "128..199, columns 0..31)"});
  CHECK(named(64, 64, {{0, 64}, {192, 0}}, by_rows(64), by_columns(64)) ==
        Words{"D=tile-transposed:64,tiles:2",
              "2 tiles of 64x64 transposed (rows 0..63, columns 64..127; rows 192..199, columns 0..63)"});
}

TEST_CASE("what only some tiles are summed by is named with them", "[verify][explain]") {
  const TiledProblem in(160, 200, 64);
  const std::vector<float> right = in.right();
  struct Case {
    std::size_t rows, columns;
    std::vector<Place> places;
    std::size_t begin, end;  // products that are left out
    std::string word, sentence;
  };
  const Case x = GENERATE(Case{64, 128, {{64, 0}}, 20, 40, "dropped=20:40 + D=tile:64x128", "(rows 64..127, columns 0..127)"},
                          Case{128,
                               32,
                               {{0, 64}, {128, 192}},
                               48,
                               64,
                               "dropped=last:16 + D=tile:128x32,tiles:2",
                               "(rows 0..127, columns 64..95; rows 128..159, columns 192..199)"},
                          Case{16,
                               48,
                               {{0, 48}, {32, 0}, {32, 144}},
                               0,
                               32,
                               "dropped=first:32 + D=tile:16x48,tiles:3",
                               "(rows 0..15, columns 48..95; rows 32..47, columns 0..47; rows 32..47, columns 144..191)"});
  std::vector<float> d = right;
  in_tiles(in, x.rows, x.columns, x.places, [&](const Place& at, std::size_t i, std::size_t j) {
    d[(at.row + i) * in.n + at.column + j] = in.element(at.row + i, at.column + j, x.begin, x.end);
  });
  CAPTURE(x.word);

  const verify::ExplainResult result = in.explained(d);

  REQUIRE(!result.findings.empty());
  const Words all = words(result);
  CHECK(std::ranges::find(all, x.word) != all.end());
  CHECK(result.findings.front().hypothesis.sentence().ends_with(x.sentence));
}

TEST_CASE("a tile of A that is read with another leading dimension is named with the tile of D", "[verify][explain]") {
  const TiledProblem in(160, 200, 64);
  std::vector<float> d = in.right();
  in_tiles(in, 64, 32, {{64, 96}}, [&](const Place& at, std::size_t i, std::size_t j) {
    float sum = 0;
    for (std::size_t k = 0; k < in.k; ++k) sum += in.a[at.row * in.k + i * (in.k - 8) + k] * in.b[k * in.n + at.column + j];
    d[(at.row + i) * in.n + at.column + j] = sum;
  });

  const verify::ExplainResult result = in.explained(d);

  REQUIRE(words(result) == Words{"A=stride:56,every:64 + D=tile:64x32"});
  CHECK(result.findings.front().hypothesis.sentence() ==
        "A read with a leading dimension of 56, not 64, anew every 64 rows and that only in one 64x32 tile (rows 64..127, "
        "columns 96..127)");
}

TEST_CASE("a block's scale that is applied twice for some tiles is named with them", "[verify][explain]") {
  const TiledProblem in(128, 160, 64);
  constexpr std::size_t block = 32, blocks = 2;  // of rows, and of K
  const std::vector<float> scales{2, 4, 0.5F, 8, 4, 2, 0.25F, 2};
  const auto element = [&](std::size_t i, std::size_t j, bool twice) {
    float sum = 0;
    for (std::size_t x = 0; x < blocks; ++x) {
      const float scale = scales[i / block * blocks + x];
      const float part = in.element(i, j, x == 0 ? block : 0, x == 0 ? in.k : block);
      sum += (twice && x == 1 ? scale * scale : scale) * part;
    }
    return sum;
  };
  products::Product claimed = in.claim();
  claimed.a.scales = products::fit_scales(tensors::from_values("scales", {in.m / block, blocks}, scales), claimed.a.input,
                                          products::MatmulSide::a);
  std::vector<float> d;
  for (std::size_t i = 0; i < in.m; ++i)
    for (std::size_t j = 0; j < in.n; ++j)
      d.push_back(element(i, j, i >= 32 && i < 64 && ((j >= 16 && j < 32) || (j >= 112 && j < 128))));

  const auto result = verify::explain({.product = claimed, .d = tensors::from_values("D", {in.m, in.n}, d)});

  REQUIRE(!result.findings.empty());
  const Words all = words(result);
  CHECK(std::ranges::find(all, "scale/a[1,1]=twice + D=tile:32x16,tiles:2") != all.end());
  CHECK(result.findings.front().hypothesis.sentence().ends_with(
      "only in 2 tiles of 32x16 (rows 32..63, columns 16..31; rows 32..63, columns 112..127)"));
}

TEST_CASE("a tile of zeros is not said to be another one that is zero", "[verify][explain]") {
  TiledProblem in(96, 160, 32);
  std::fill_n(in.a.begin(), 32 * in.k, 0.0F);  // as rows that pad a matrix
  std::vector<float> d = in.right();
  in_tiles(in, 32, 64, {{32, 64}},
           [&](const Place& at, std::size_t i, std::size_t j) { d[(at.row + i) * in.n + at.column + j] = 0; });

  CHECK(words(in.explained(d)) == Words{"D=tile-zero:32x64"});

  // Not all of them are zero, and one of them is the other's place by that alone.
  in_tiles(in, 32, 64, {{64, 0}}, [&](const Place& at, std::size_t i, std::size_t j) {
    d[(at.row + i) * in.n + at.column + j] = d[(at.row + i - 32) * in.n + at.column + j];
  });
  CHECK(words(in.explained(d)) == Words{"unexplained"});
}

TEST_CASE("a tile of a matrix of a batch is named with the matrix", "[verify][explain]") {
  constexpr std::size_t m = 48, n = 96, k = 32, batch = 3;
  std::mt19937_64 random(5);
  const std::vector<float> a = normals(random, batch * m * k, 1, emu::bfloat16),
                           b = normals(random, batch * k * n, 1, emu::bfloat16);
  std::vector<float> d(batch * m * n);
  for (std::size_t x = 0; x < d.size(); ++x)
    for (std::size_t at = 0; at < k; ++at) d[x] += a[x / n * k + at] * b[(x / (m * n) * k + at) * n + x % n];
  for (std::size_t i = 16; i < 32; ++i)
    for (std::size_t j = 32; j < 64; ++j) d[(m + i) * n + j] = d[(2 * m + i - 16) * n + j + 32];
  const products::Product claimed{.engine = "fma",
                                  .a = {{tensors::from_values("A", {batch, m, k}, a)}, {emu::bfloat16}, {}},
                                  .b = {{tensors::from_values("B", {batch, k, n}, b)}, {emu::bfloat16}, {}},
                                  .acc = emu::float32,
                                  .out = emu::float32,
                                  .beta = {}};

  const auto result = verify::explain({.product = claimed, .d = tensors::from_values("D", {batch, m, n}, d)});

  REQUIRE(words(result) == Words{"D=tile-stale:16x32"});
  CHECK(result.findings.front().hypothesis.sentence() ==
        "one 16x32 tile of another place (rows 16..31, columns 32..63 of matrix 1: that at (0, 64) of matrix 2)");
}

TEST_CASE("what is no faulty tile is not named one", "[verify][explain]") {
  TiledProblem in(65, 73, 24);
  for (std::size_t i = 60; i < in.m; ++i)
    std::fill_n(in.a.begin() + static_cast<std::ptrdiff_t>(i * in.k), i < 64 ? in.k : 0, 0.0F);
  const std::vector<float> right = in.right();
  const auto names_tile = [](const verify::ExplainResult& result) {
    return std::ranges::any_of(result.findings, [&](const verify::Finding& finding) {
      return result.verdict == ExplainVerdict::explained && finding.explains &&
             finding.hypothesis.word().find("D=tile") != std::string::npos;
    });
  };
  const auto flipped = [](float x, std::uint64_t bit) {
    std::uint32_t code = 0;
    std::memcpy(&code, &x, sizeof x);
    code ^= std::uint32_t{1} << bit;
    std::memcpy(&x, &code, sizeof x);
    return x;
  };
  CHECK(in.explained(right).verdict == ExplainVerdict::holds);
  // One element, at the corner that is all of a tile, or among zeros: twice itself, or 0.
  for (const auto& [at, factor] : std::vector<std::pair<std::size_t, float>>{
           {64 * in.n + 72, 2.0F}, {64 * in.n + 72, 0.0F}, {64 * in.n + 8, 2.0F}, {0, 0.0F}}) {
    std::vector<float> d = right;
    d[at] *= factor;
    CAPTURE(at, factor);
    CHECK_FALSE(names_tile(in.explained(d)));
  }
  std::mt19937_64 random(3);
  std::vector<float> bits = right, tile = right, doubled = right;
  for (float& x : bits)
    if (random() % 20 == 0) x = flipped(x, random() % 32);
  for (float& x : doubled)
    if (random() % 20 == 0) x += x;
  in_tiles(in, 32, 16, {{0, 32}}, [&](const Place& at, std::size_t i, std::size_t j) {
    float& x = tile[(at.row + i) * in.n + at.column + j];
    x = flipped(x, random() % 31);
  });
  const verify::ExplainResult random_bits = in.explained(bits), of_tile = in.explained(tile);
  CHECK_FALSE(names_tile(random_bits));
  CHECK(random_bits.tiles.empty());
  CHECK_FALSE(names_tile(in.explained(doubled)));
  CHECK_FALSE(names_tile(of_tile));
  const Words said = verify::remarks(of_tile);
  CHECK(std::ranges::find(said, "all that the claim gets wrong is in one 32x16 tile (rows 0..31, columns 32..47)") !=
        said.end());
}

TEST_CASE("a tile of few elements is another's where they are not by chance", "[verify][explain]") {
  for (const emu::Format out : {emu::float32, emu::float8_e5m2}) {
    const TiledProblem in(66, 66, 24, out);
    std::vector<float> d = in.right();
    in_tiles(in, 4, 4, {{64, 64}}, [&](const Place& at, std::size_t i, std::size_t j) {  // two by two are within D
      d[(at.row + i) * in.n + at.column + j] = d[(8 + i) * in.n + 16 + j];
    });
    CAPTURE(emu::format_name(out));

    CHECK(words(in.explained(d)) == Words{out == emu::float32 ? "D=tile-stale:2" : "unexplained"});
  }
}

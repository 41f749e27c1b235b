// SPDX-License-Identifier: Apache-2.0
// Scales that do not change along K: the sum times the product of both, times those of whole operands, times alpha.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstddef>
#include <span>
#include <vector>

#include "emu/engine_matmul.hpp"
#include "emu/engines.hpp"
#include "tests/emu/engine_problems.hpp"

using namespace ulpscope::test;

TEST_CASE("scales of rows and columns multiply sums when they are done, each product rounded") {
  Random random(31);
  const Format format = float8_e4m3fn;
  const std::size_t m = 130, n = 200, k = 70;  // several panels and tiles, none of them full
  const std::vector<float> a = random.matrix(format, Kind::ordinary, m * k), b = random.matrix(format, Kind::ordinary, k * n);
  EngineMatmul<float> problem{
      .engine = find_engine("sm_90", {format, format}).model, .a = {format, a, {m, k}}, .b = {format, b, {k, n}}, .threads = 2};
  const std::vector<float> sums = product(problem);

  // Grids of one scale, of one for some, and of one for each.
  const std::size_t rows = GENERATE(as<std::size_t>{}, 0, 1, 13, 130), columns = GENERATE(as<std::size_t>{}, 0, 1, 10, 200);
  const bool whole = GENERATE(false, true);
  const std::vector<float> of_rows = random.matrix(float32, Kind::ordinary, rows),
                           of_columns = random.matrix(float32, Kind::ordinary, columns);
  if (rows > 0) problem.scale_a = {float32, of_rows, rows, 1};
  if (columns > 0) problem.scale_b = {float32, of_columns, 1, columns};
  if (whole) problem.scale_a.whole = 0.7F, problem.scale_b.whole = 0.9F, problem.alpha = 0.3F;
  const std::vector<float> d = product(problem);

  CAPTURE(rows, columns, whole);
  std::size_t differing = 0;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const float of_row = rows > 0 ? of_rows[i / (m / rows)] : 1.0F;
      const float of_column = columns > 0 ? of_columns[j / (n / columns)] : 1.0F;
      const float scale = of_row * of_column, scaled = sums[i * n + j] * scale;
      const float both = 0.7F * 0.9F, with_whole = whole ? scaled * both : scaled,
                  expected = whole ? 0.3F * with_whole : with_whole;
      differing += same(d[i * n + j], expected) ? 0 : 1;
    }
  CHECK(differing == 0);
}

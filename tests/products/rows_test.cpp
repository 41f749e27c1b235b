// SPDX-License-Identifier: Apache-2.0
// A product in blocks of rows is the product at once.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "products/product.hpp"
#include "products/scales.hpp"
#include "tensors/tensor.hpp"

namespace {
using namespace ulpscope;

tensors::Tensor tensor(std::vector<std::uint64_t> shape, double first) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  std::vector<float> values;
  for (std::uint64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(std::sin(first + static_cast<double>(i))));
  if (count > 100) values[count / 2] = std::numeric_limits<float>::infinity();
  return tensors::from_values("t", std::move(shape), std::move(values));
}

products::Product product(const std::string& engine, std::size_t m, emu::Format in) {
  return {.engine = engine,
          .a = {{tensor({2, m, 128}, 1)}, {in}, {}},
          .b = {{tensor({2, 128, 5}, 2)}, {in}, {}},
          .c = tensor({2, m, 5}, 3),
          .acc = emu::float32,
          .out = emu::float32,
          .beta = {}};
}

/// Asks for all rows block by block; in how many calls.
std::size_t calls_for_all(const products::Product& product, std::size_t least_rows) {
  const products::LoadedProduct loaded(product);
  const products::ChosenEngine engine = products::engine_of(product);
  const tensors::Tensor whole = loaded.on(engine);
  std::vector<double> expected(static_cast<std::size_t>(whole.count()));
  whole.source->read(0, std::span(expected));
  const std::size_t m = loaded.shape().m, n = loaded.shape().n, at_a_time = loaded.rows_at_a_time();
  CHECK(at_a_time % least_rows == 0);
  std::size_t calls = 0;
  for (std::size_t matrix = 0; matrix < loaded.shape().batch(); ++matrix)
    for (std::size_t line = 0; line < m; line += at_a_time, ++calls) {
      const std::vector<double> rows = loaded.rows(engine, matrix * m + line);
      REQUIRE(rows.size() == std::min(at_a_time, m - line) * n);
      const auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
      CHECK(
          std::equal(rows.begin(), rows.end(), expected.begin() + static_cast<std::ptrdiff_t>((matrix * m + line) * n), same));
    }
  return calls;
}

}  // namespace

TEST_CASE("blocks of rows are those of the whole product, and few", "[products]") {
  CHECK(calls_for_all(product("bf16x9", 1, emu::float32), 1) == 2);
  CHECK(calls_for_all(product("bf16x9", 70, emu::float32), 1) == 4);
  CHECK(calls_for_all(product("ozaki2:moduli=8", 130, emu::float32), 1) == 6);
}

TEST_CASE("blocks of rows are whole blocks of scales, the last of which may end beyond the rows", "[products]") {
  auto scaled = product("sm_90", 130, emu::float8_e4m3fn);
  scaled.promote = 128;
  scaled.a.scales = products::fit_scales(tensor({2, 2, 1}, 4), scaled.a.input, products::MatmulSide::a);
  scaled.b.scales = products::fit_scales(tensor({2, 1, 1}, 5), scaled.b.input, products::MatmulSide::b);
  REQUIRE(scaled.a.scales->line_block == 128);
  CHECK(calls_for_all(scaled, 128) == 4);
}

// SPDX-License-Identifier: Apache-2.0
// Operands are small integers or few bits, so that what a mutant should be is computed here by naive loops.
#include "verify/audit/mutants.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "verify/audit/mutant_makers.hpp"

namespace {

using namespace ulpscope;
using Matrix = std::vector<double>;  // row-major

constexpr std::size_t m = 20, n = 24, depth = 300;

double small(std::size_t i) { return static_cast<double>(i * 2654435761U % 15) - 7; }

Matrix a_values() {
  Matrix a(m * depth);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = small(i);
  return a;
}
Matrix b_values() {
  Matrix b(depth * n);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = small(3 * i + 1);
  return b;
}
Matrix c_values() {
  Matrix c(m * n);
  for (std::size_t i = 0; i < c.size(); ++i) c[i] = 100 * small(7 * i + 5) + 3;
  return c;
}

/// A.B + f C over the first `k` products: integers below 2^24, exact in every order.
Matrix naive(const Matrix& a, const Matrix& b, const Matrix& c, double f, std::size_t k = depth) {
  Matrix d(m * n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = f * c[i * n + j];
      for (std::size_t x = 0; x < k; ++x) sum += a[i * depth + x] * b[x * n + j];
      d[i * n + j] = sum;
    }
  return d;
}

struct Layout {
  bool transpose_a = false, transpose_b = false;
};

Matrix transposed(const Matrix& x, std::size_t rows, std::size_t columns) {
  Matrix out(x.size());
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) out[j * rows + i] = x[i * columns + j];
  return out;
}

verify::MutationSource source_of(emu::Format out, const Layout& layout = {}, std::uint64_t seed = 5) {
  const auto operand = [](Matrix values, std::uint64_t rows, std::uint64_t columns, bool is_transposed) {
    if (is_transposed) values = transposed(values, rows, columns), std::swap(rows, columns);
    return products::MatmulOperand{
        {tensors::from_values("x", {rows, columns}, values), is_transposed}, {.format = emu::float16}, {}};
  };
  const products::Product config{.engine = "fma",
                                 .a = operand(a_values(), m, depth, layout.transpose_a),
                                 .b = operand(b_values(), depth, n, layout.transpose_b),
                                 .c = tensors::from_values("c", {m, n}, c_values()),
                                 .acc = emu::float32,
                                 .out = out,
                                 .beta = {}};
  return verify::mutation_source(config, seed);
}

const verify::MutantKind& kind_of(const std::string& name) {
  const auto kinds = verify::mutant_kinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) { return kind.name == name; });
  REQUIRE(found != kinds.end());
  return *found;
}

verify::Mutant mutant_of(const verify::MutationSource& source, const std::string& name, double severity = 0) {
  return verify::make_mutant(source, kind_of(name), severity);
}

std::size_t differing(const Matrix& x, const Matrix& y) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < x.size(); ++i) count += !(x[i] == y[i]);
  return count;
}

}  // namespace

TEST_CASE("mutants of the product are what naive loops give, however the operands are stored", "[verify]") {
  const Matrix a = a_values(), b = b_values(), c = c_values();
  for (const Layout layout : {Layout{false, false}, Layout{true, false}, Layout{false, true}, Layout{true, true}}) {
    CAPTURE(layout.transpose_a, layout.transpose_b);
    const auto source = source_of(emu::float32, layout);
    CHECK(source.correct == naive(a, b, c, 1));
    CHECK(source.reference == source.correct);
    for (const double tail : {1.0, 16.0, 128.0})
      CHECK(mutant_of(source, "k_dropped", tail).output == naive(a, b, c, 1, depth - static_cast<std::size_t>(tail)));
    CHECK(mutant_of(source, "c_missing").output == naive(a, b, c, 0));
    CHECK(mutant_of(source, "c_twice").output == naive(a, b, c, 2));
    Matrix shifted = c;
    std::rotate(shifted.begin(), shifted.begin() + 1, shifted.end());
    CHECK(mutant_of(source, "c_shifted").output == naive(a, b, shifted, 1));
    Matrix a_again = a, b_again = b;
    for (std::size_t i = 0; i < m; ++i) a_again[i * depth + depth - 1] = a_again[i * depth + depth - 2];
    for (std::size_t j = 0; j < n; ++j) b_again[(depth - 1) * n + j] = b_again[(depth - 2) * n + j];
    CHECK(mutant_of(source, "k_repeated").output == naive(a_again, b_again, c, 1));
  }
}

TEST_CASE("a stale output is the product with the same numbers of B in other places", "[verify]") {
  Matrix b = b_values();
  std::rotate(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(b.size() / 2 + 1), b.end());
  CHECK(mutant_of(source_of(emu::float32), "stale_output").output == naive(a_values(), b, c_values(), 1));
}

TEST_CASE("mutants of the output change what they say and nothing else", "[verify]") {
  const auto source = source_of(emu::bfloat16);
  const Matrix& d = source.correct;

  const auto rows = mutant_of(source, "rows_swapped");
  std::size_t first = 0;
  while (rows.output[first] == d[first]) ++first;
  const std::size_t row = first / n;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const std::size_t from = i == row ? row + 1 : i == row + 1 ? row : i;
      CHECK(rows.output[i * n + j] == d[from * n + j]);
    }

  const auto tile = mutant_of(source, "tile_transposed");
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const bool inside = i < 16 && j < 16;  // 20 x 24 holds one tile of 16
      CHECK(tile.output[i * n + j] == (inside ? d[j * n + i] : d[i * n + j]));
    }

  const auto nan = mutant_of(source, "nan_element"), infinite = mutant_of(source, "infinite_element");
  CHECK((nan.changed == 1 && std::isinf(nan.max_error_ulp)));
  CHECK(std::count_if(nan.output.begin(), nan.output.end(), [](double x) { return std::isnan(x); }) == 1);
  CHECK((infinite.changed == 1 && std::isinf(infinite.max_error_ulp)));
  CHECK(differing(mutant_of(source, "nan_everywhere").output, d) == d.size());
  CHECK(mutant_of(source, "zeros").output == Matrix(d.size(), 0.0));
  const Matrix mean = mutant_of(source, "constant_mean").output;
  CHECK(std::all_of(mean.begin(), mean.end(), [&](double x) { return x == mean[0]; }));
  double sum = 0;
  for (const double x : d) sum += x;
  CHECK(std::fabs(mean[0] - sum / static_cast<double>(d.size())) <= std::fabs(mean[0]) * 0x1p-8);
}

TEST_CASE("a scale that is off moves every element by its percentage, rounded", "[verify]") {
  const auto source = source_of(emu::float32);
  for (const double percent : {0.1, 2.0, 5.0, 100.0}) {
    const Matrix off = mutant_of(source, "scale_off", percent).output;
    for (std::size_t i = 0; i < off.size(); ++i)
      CHECK(off[i] == static_cast<double>(static_cast<float>(source.correct[i] * (1 + percent / 100))));
  }
}

TEST_CASE("an element off by n codes is off by n ulps, and noise of n by n at most", "[verify]") {
  const auto source = source_of(emu::bfloat16);
  for (const double steps : {1.0, 2.0, 16.0, 256.0}) {
    const auto mutant = mutant_of(source, "element_off", steps);
    CHECK(mutant.changed == 1);
    // A binade of bfloat16 has 128 codes: further up they are wider.
    CHECK((steps <= 16 ? mutant.max_error_ulp >= steps && mutant.max_error_ulp <= 2 * steps : mutant.max_error_ulp > steps));
  }
  CHECK_FALSE(mutant_of(source, "element_off", 1048576).applicable);  // there are 32640 codes
  const auto noise = mutant_of(source, "noise", 4);
  CHECK((noise.max_error_ulp >= 4 && noise.max_error_ulp <= 8));
  CHECK((noise.changed > source.correct.size() / 2 && noise.changed < source.correct.size()));
  double steps = 0;
  for (std::size_t i = 0; i < noise.output.size(); ++i) steps += noise.output[i] > source.correct[i] ? 1 : 0;
  CHECK((steps > 0.3 * m * n && steps < 0.6 * m * n));
}

TEST_CASE("steps of codes pass through zero and stop at the largest number", "[verify]") {
  CHECK(verify::codes_away(emu::bfloat16, 1, 1) == 1 + 0x1p-7);
  CHECK(verify::codes_away(emu::bfloat16, 1, -1) == 1 - 0x1p-8);
  CHECK(verify::codes_away(emu::bfloat16, 0x1p-133, -2) == -0x1p-133);
  CHECK(verify::codes_away(emu::float8_e4m3fn, 448, 1) == 448);
  CHECK(verify::codes_away(emu::float8_e4m3fn, -448, -300) == -448);
  CHECK(verify::codes_away(emu::float16, -65504, std::int64_t{2} * 31743) == 65504);
}

TEST_CASE("truncation never exceeds the sum, and differs from rounding by one code", "[verify]") {
  const auto source = source_of(emu::bfloat16);
  const Matrix exact = naive(a_values(), b_values(), c_values(), 1), cut = mutant_of(source, "out_truncated").output;
  std::size_t above = 0;
  for (std::size_t i = 0; i < cut.size(); ++i) {
    CHECK(std::fabs(cut[i]) <= std::fabs(exact[i]));
    CHECK(std::fabs(cut[i] - exact[i]) < std::fabs(exact[i]) * 0x1p-7);
    above += std::fabs(source.correct[i]) > std::fabs(exact[i]);
    if (std::fabs(source.correct[i]) > std::fabs(exact[i]))
      CHECK(cut[i] == verify::codes_away(emu::bfloat16, source.correct[i], source.correct[i] > 0 ? -1 : 1));
  }
  CHECK((above > 50 && mutant_of(source, "out_truncated").changed == above));
  CHECK_FALSE(mutant_of(source_of(emu::float32), "out_truncated").applicable);
}

TEST_CASE("operands that a narrower format holds give equivalent mutants, and others do not", "[verify]") {
  const auto source = source_of(emu::float32);  // integers to 7: e4m3 has them
  for (const std::string name : {"inputs_in_tf32", "inputs_in_bfloat16", "inputs_in_float8_e4m3fn", "subnormal_inputs_flushed",
                                 "subnormal_outputs_flushed"}) {
    CAPTURE(name);
    CHECK(mutant_of(source, name).is_equivalent());
  }
  products::Product config = source.config;
  config.a.input.tensor = tensors::from_values("a", {1, 4}, std::vector<double>{1.0625, 0x1p-20, 300, 1});
  config.b.input.tensor = tensors::from_values("b", {4, 1}, std::vector<double>{1, 0x1p20 / 1024, 1, 0});
  config.c.reset();
  const auto fine = verify::mutation_source(config, 1);
  CHECK(fine.correct == Matrix{301.0625 + 0x1p-10});
  CHECK(mutant_of(fine, "inputs_in_float8_e4m3fn").output == Matrix{289});        // 1.0625 -> 1, 2^-20 -> 0, 300 -> 288
  CHECK(mutant_of(fine, "subnormal_inputs_flushed").output == Matrix{301.0625});  // 2^-20 is subnormal in float16
}

TEST_CASE("an accumulator of few bits loses what it must", "[verify]") {
  // 1 and then 63 steps of 16 products that sum to 2^-10: in bfloat16 none of them moves the sum, in float16 all do.
  products::Product config = source_of(emu::float32).config;
  Matrix a(1024, 0.0), b(1024, 1.0);
  a[0] = 1;
  for (std::size_t step = 1; step < 64; ++step) a[step * 16] = 0x1p-10;
  config.a.input.tensor = tensors::from_values("a", {1, 1024}, a);
  config.b.input.tensor = tensors::from_values("b", {1024, 1}, b);
  config.c.reset();
  const auto source = verify::mutation_source(config, 1);
  CHECK(source.correct == Matrix{1 + 63 * 0x1p-10});
  CHECK(mutant_of(source, "accumulated_in_bfloat16").output == Matrix{1});
  CHECK(mutant_of(source, "accumulated_in_float16").output == source.correct);
  CHECK(mutant_of(source, "accumulated_in_13_bits").output == source.correct);
  a[16] = 0x1p-14;  // cut off by 13 bits below 1
  config.a.input.tensor = tensors::from_values("a", {1, 1024}, a);
  CHECK(mutant_of(verify::mutation_source(config, 1), "accumulated_in_13_bits").output == Matrix{1 + 62 * 0x1p-10});
}

TEST_CASE("overflows are saturated, and saturated numbers made overflows, where there are any", "[verify]") {
  products::Product config = source_of(emu::float16).config;
  config.c.reset();
  config.a.input.tensor = tensors::from_values("a", {3, 1}, std::vector<double>{60000, -60000, 65504});
  config.b.input.tensor = tensors::from_values("b", {1, 2}, std::vector<double>{1, 2});
  config.b.rounding.format = config.a.rounding.format;
  const auto source = verify::mutation_source(config, 1);
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(source.correct == Matrix{60000, inf, -60000, -inf, 65504, inf});
  CHECK(mutant_of(source, "overflow_saturated").output == Matrix{60000, 65504, -60000, -65504, 65504, 65504});
  CHECK(mutant_of(source, "saturation_missing").output == Matrix{60000, inf, -60000, -inf, inf, inf});
  CHECK_FALSE(mutant_of(source_of(emu::float32), "overflow_saturated").applicable);
  CHECK_FALSE(mutant_of(source_of(emu::float32), "saturation_missing").applicable);
}

TEST_CASE("mutants depend on the seed and on nothing else", "[verify]") {
  const auto one = source_of(emu::bfloat16), again = source_of(emu::bfloat16), other = source_of(emu::bfloat16, {}, 6);
  for (const verify::MutantKind& kind : verify::mutant_kinds()) {
    CAPTURE(std::string(kind.name));
    const double severity = kind.severities.back();
    const auto x = verify::make_mutant(one, kind, severity), y = verify::make_mutant(again, kind, severity);
    CHECK(x.applicable == y.applicable);
    CHECK((x.output == y.output || kind.name.starts_with("nan")));
  }
  CHECK(mutant_of(one, "noise", 4).output != mutant_of(other, "noise", 4).output);
}

TEST_CASE("what every check must reject depends on what the output can show", "[verify]") {
  const auto least = [](const std::string& name, emu::Format out) {
    const auto source = source_of(out);
    double from = 0;
    for (const double severity : kind_of(name).severities)
      if (from == 0 && verify::make_mutant(source, kind_of(name), severity).required) from = severity;
    return from;
  };
  CHECK(least("scale_off", emu::bfloat16) == 5);
  CHECK(least("scale_off", emu::float8_e4m3fn) == 100);
  CHECK(least("k_dropped", emu::bfloat16) == 128);
  for (const char* const name : {"zeros", "constant_mean", "nan_element", "nan_everywhere", "infinite_element", "stale_output",
                                 "rows_swapped", "tile_transposed", "c_missing", "c_twice"})
    CHECK(mutant_of(source_of(emu::bfloat16), name).required);
  CHECK_FALSE(mutant_of(source_of(emu::bfloat16), "noise", 128).required);
}

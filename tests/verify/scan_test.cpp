// SPDX-License-Identifier: Apache-2.0
// Running sums in a given order, against plain loops that add with the test's own rounding.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>
#include <vector>

#include "emu/error.hpp"
#include "tests/verify/operations_data.hpp"
#include "verify/expressions/evaluation.hpp"
#include "verify/expressions/expression.hpp"
#include "verify/expressions/rounding_points.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::operations;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

constexpr std::size_t rows = 6, columns = 150;

std::vector<float> in_turn(std::vector<float> x, emu::Format format) {
  for (std::size_t i = 0; i < x.size(); ++i)
    if (i % columns != 0) x[i] = as(format, x[i - 1] + x[i]);
  return x;
}

/// As PyTorch's tensor_kernel_scan_innermost_dim: threads t of each step add to one element each.
std::vector<float> sklansky(std::vector<float> x, std::size_t threads, emu::Format format) {
  const std::size_t block = 2 * threads;
  for (std::size_t row = 0; row < rows; ++row) {
    float total = 0;
    for (std::size_t first = 0; first < columns; first += block) {
      std::vector<float> buffer(block);
      for (std::size_t i = 0; i < block && first + i < columns; ++i) buffer[i] = x[row * columns + first + i];
      buffer[0] = as(format, buffer[0] + total);
      for (std::size_t s = 0; (std::size_t{1} << s) <= threads; ++s)
        for (std::size_t t = 0; t < threads; ++t) {
          const std::size_t a = (t >> s) * (std::size_t{2} << s) + (std::size_t{1} << s);
          const std::size_t to = a + t % (std::size_t{1} << s);
          buffer[to] = as(format, buffer[to] + buffer[a - 1]);
        }
      for (std::size_t i = 0; i < block && first + i < columns; ++i) x[row * columns + first + i] = buffer[i];
      total = buffer[block - 1];
    }
  }
  return x;
}

std::vector<float> terms(emu::Format format) {
  std::mt19937_64 random(11);
  return normals(random, rows * columns, 1, format);
}

verify::Expression expression(const std::string& formula, const std::vector<float>& x, emu::Format out) {
  return {.formula = formula, .inputs = {{"x", values({rows, columns}, x)}}, .last = {out}};
}

Tally judged(const std::string& formula, const std::vector<float>& x, const std::vector<float>& y, emu::Format out) {
  return judge_all(*verify::expect_expression(expression(formula, x, out)), y, {out});
}

}  // namespace

TEST_CASE("running sums in a declared order are the kernel's to the last bit", "[verify][expressions]") {
  const emu::Format format = GENERATE(emu::bfloat16, emu::float16, emu::float32);
  const std::string name = format == emu::bfloat16 ? "bf16" : format == emu::float16 ? "fp16" : "fp32";
  const std::vector<float> x = terms(format);
  const auto of = [&](const std::string& order) { return "cumsum(x, order=\"" + order + "\", sums=\"" + name + "\")"; };
  CAPTURE(name);

  CHECK(judged(of("in_turn"), x, in_turn(x, format), format).equal == x.size());
  for (const std::size_t threads : std::initializer_list<std::size_t>{1, 16, 32, 128}) {
    const std::vector<float> y = sklansky(x, threads, format);
    CHECK(judged(of("sklansky:" + std::to_string(2 * threads)), x, y, format).equal == x.size());
    // Blocks of two are summed in turn.
    if (threads > 1) CHECK(judged(of("in_turn"), x, y, format).beyond > x.size() / 10);
  }
  CHECK(judged(name + ": cumsum(x, order=\"in_turn\")", x, in_turn(x, format), format).equal == x.size());
}

TEST_CASE("running sums in an order have the axis and the terms of any", "[verify][expressions]") {
  const std::vector<float> x = terms(emu::bfloat16);
  std::vector<float> y = x, transposed(x.size());
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) transposed[j * rows + i] = x[i * columns + j];
  const std::vector<float> sums = sklansky(x, 16, emu::bfloat16);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) y[j * rows + i] = sums[i * columns + j];
  const verify::Expression along{.formula = "cumsum(x, axis=0, order=\"sklansky:32\", sums=\"bf16\")",
                                 .inputs = {{"x", values({columns, rows}, transposed)}},
                                 .last = {emu::bfloat16}};

  CHECK(judge_all(*verify::expect_expression(along), y, {emu::bfloat16}).equal == x.size());

  // Terms that a kernel rounds, and that are known within a radius: a quotient.
  std::vector<float> thirds(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) thirds[i] = as(emu::bfloat16, x[i] / 3);
  const Tally of_thirds =
      judged("cumsum(bf16(x / 3), order=\"in_turn\", sums=\"bf16\")", x, in_turn(thirds, emu::bfloat16), emu::bfloat16);
  CHECK(of_thirds.wrong() == 0);
  CHECK(of_thirds.equal == x.size());
}

TEST_CASE("a running sum in an order is the same in 200 digits", "[verify][expressions]") {
  const std::vector<float> x = terms(emu::float32);
  const auto evaluation =
      verify::evaluation_of(expression("cumsum(exp(x) / 3, order=\"sklansky:16\", sums=\"bf16\")", x, emu::bfloat16));
  std::vector<verify::Approximate> all(x.size());
  evaluation.values(0, all);
  for (std::size_t i = 0; i < all.size(); i += 7) {
    const double precise = evaluation.precise(i).convert_to<double>();
    CHECK(std::fabs(precise - all[i].value) <= all[i].radius);
    CHECK(as(emu::bfloat16, static_cast<float>(precise)) == static_cast<float>(precise));
  }
}

TEST_CASE("the order in which a kernel makes running sums is found", "[verify][expressions]") {
  const emu::Format format = GENERATE(emu::bfloat16, emu::float16, emu::float32);
  const std::vector<float> x = terms(format);
  const std::string sums = format == emu::bfloat16 ? ", sums=\"bfloat16\"" : format == emu::float16 ? ", sums=\"float16\"" : "";
  const auto found = [&](const std::vector<float>& y) {
    const auto search = verify::search_rounding_points(
        expression("cumsum(x)", x, format), tensors::from_values("y", {rows, columns}, y), {{.format = emu::bfloat16}});
    return search.found() == nullptr ? std::string() : search.found()->formula;
  };
  CHECK(found(sklansky(x, 32, format)) == "cumsum(x, order=\"sklansky:64\"" + sums + ")");
  CHECK(found(in_turn(x, format)) == "cumsum(x, order=\"in_turn\"" + sums + ")");
}

TEST_CASE("an order that is none is refused with its column", "[verify][expressions]") {
  const std::vector<float> x = terms(emu::float32);
  const auto answer = [&](const std::string& formula, const char* message) {
    CHECK_THROWS_MATCHES(verify::expect_expression(expression(formula, x, emu::float32)), Error,
                         MessageMatches(ContainsSubstring(message)));
  };
  for (const char* const order : {"up", "sklansky:", "sklansky:48", "sklansky:1", "sklansky:64x", "sklansky:99999999999999"})
    answer("cumsum(x, order=\"" + std::string(order) + "\")", "column 17: an order is \"in_turn\" or \"sklansky:64\"");
  answer("cumsum(x, sums=\"bf16\")", "column 16: sums: say in which order");
  answer("cumsum(x, order=\"in_turn\", sums=\"fp99\")", "'fp99' is no format");
  answer("cumsum(x, order=\"in_turn\", sums=\"float64\")", "at most float32");
}

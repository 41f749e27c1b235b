// SPDX-License-Identifier: Apache-2.0
// Operands and requests of public checks: scales, scaled numbers and results are those that the definitions give, computed here
// from the same draws.
#include "verify/evidence/public_checks.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "tensors/synthetic.hpp"
#include "verify/evidence/public_study.hpp"

namespace {

using namespace ulpscope;
using products::MatmulScales;
using products::Product;
using verify::PublicCheck;

constexpr std::size_t rows = 40, columns = 300, depth = 256, lines = 8;
constexpr std::uint64_t seed = 5, seed_of_b = 2 * seed + 1;

PublicCheck check_of(const std::string& format, const std::string& scales, const std::string& drawn = "normal:0,1") {
  PublicCheck check{};
  check.m = rows, check.n = columns, check.k = depth;
  check.a_format = check.b_format = format;
  check.acc = check.out = "float32";
  check.a = check.b = drawn;
  check.scales = scales;
  return check;
}

Product product_under(const std::string& format, const std::string& scales, const std::string& drawn = "normal:0,1") {
  return verify::product_of(check_of(format, scales, drawn), {.lines = lines, .seed = seed});
}

std::vector<double> draws(const std::string& words, std::size_t count, std::uint64_t key) {
  std::vector<double> values(count);
  tensors::synthetic(words + ":" + std::to_string(count), key).source->read(0, std::span(values));
  return values;
}

std::vector<double> numbers_of(const products::MatmulOperand& operand) {
  std::vector<double> values(static_cast<std::size_t>(operand.input.tensor.count()));
  operand.input.tensor.source->read(0, std::span(values));
  return values;
}

PublicCheck asking(const std::string& request) {
  PublicCheck check{};
  check.check = "repo-01", check.request = request;
  return check;
}

/// An output by its name.
std::vector<double> fed(const std::vector<verify::FedOutput>& outputs, const std::string& name) {
  const auto found = std::ranges::find(outputs, name, &verify::FedOutput::name);
  REQUIRE(found != outputs.end());
  return found->values;
}

/// Whether each number is that of `expected`, to half a spacing of float32 and the rounding of these sums.
bool near(const std::vector<double>& output, const std::vector<double>& expected) {
  return std::ranges::equal(output, expected,
                            [](double o, double e) { return std::fabs(o - e) <= 0x1p-24 * 1.000001 * std::fabs(e); });
}

/// The softmax of the first `count` of eleven numbers a row; 0 for the others.
std::vector<double> softmax_of(const std::vector<double>& x, std::size_t count) {
  constexpr std::size_t row = 11;
  std::vector<double> y(x.size());
  for (std::size_t first = 0; first < x.size(); first += row) {
    double sum = 0;
    for (std::size_t i = first; i < first + count; ++i) sum += y[i] = std::exp(x[i]);
    for (std::size_t i = first; i < first + count; ++i) y[i] /= sum;
  }
  return y;
}

/// The largest magnitude of a row of A from `first` on, of as many as `count`.
double largest(const std::vector<double>& a, std::size_t row, std::size_t first, std::size_t count) {
  double most = 0;
  for (std::size_t k = first; k < first + count; ++k) most = std::max(most, std::fabs(a[row * depth + k]));
  return most;
}

}  // namespace

TEST_CASE("the largest magnitude of a block becomes the largest number of the format") {
  const Product product = product_under("float8_e4m3fn", "1x128 128x128");
  const std::vector<double> a = draws("normal:0,1", lines * depth, 2 * seed), of_a = numbers_of(product.a);
  const MatmulScales& scales = *product.a.scales;
  REQUIRE((scales.for_lines == lines && scales.for_k == 2 && scales.line_block == 1 && scales.k_block == 128));
  for (std::size_t row = 0; row < lines; ++row)
    for (const std::size_t block : {0U, 1U}) {
      const float scale = scales.values[row * 2 + block];
      CHECK(scale == static_cast<float>(largest(a, row, block * 128, 128) / 448));
      CHECK(largest(of_a, row, block * 128, 128) == 448);
      for (std::size_t k = block * 128; k < block * 128 + 128; ++k) {  // half a step of 2^-3, or of the subnormal numbers
        const double x = a[row * depth + k];
        CHECK(std::fabs(of_a[row * depth + k] * static_cast<double>(scale) - x) <=
              std::max(std::fabs(x) / 16, static_cast<double>(scale) / 1024) * 1.000001);
      }
    }
  // Of B eight columns are multiplied, but a block has 128.
  const std::vector<double> b = draws("normal:0,1", depth * 128, seed_of_b);
  REQUIRE((product.b.scales->for_lines == 1 && product.b.scales->for_k == 2));
  for (const std::size_t block : {0U, 1U}) {
    double most = 0;
    for (std::size_t i = block * 128 * 128; i < (block + 1) * 128 * 128; ++i) most = std::max(most, std::fabs(b[i]));
    CHECK(product.b.scales->values[block] == static_cast<float>(most / 448));
  }
}

TEST_CASE("scales of mx are powers of two by the exponents, or the least that lets nothing overflow") {
  const std::vector<double> a = draws("normal:0,1", lines * depth, 2 * seed);
  const Product down = product_under("float8_e4m3fn", "mx"), up = product_under("float8_e4m3fn", "mx,up");
  REQUIRE((down.a.scales->word() == "mx" && up.a.scales->word() == "mx"));
  bool differ = false;
  for (std::size_t row = 0; row < lines; ++row)
    for (std::size_t block = 0; block < depth / 32; ++block) {
      const double most = largest(a, row, 32 * block, 32);
      const auto of_down = static_cast<double>(down.a.scales->values[row * 8 + block]),
                 of_up = static_cast<double>(up.a.scales->values[row * 8 + block]);
      CHECK((most / of_down >= 256 && most / of_down < 512));  // 448 is 1.75 times 2^8
      CHECK((most / of_up <= 448 && most / of_up > 224));
      differ |= of_down != of_up;
    }
  CHECK(differ);
}

TEST_CASE("nvfp4 has scales of e4m3, and one for the tensor that takes the largest of them to 448") {
  const std::vector<double> a = draws("normal:0,1", lines * depth, 2 * seed);
  const Product two = product_under("float4_e2m1fn", "nvfp4"), one = product_under("float4_e2m1fn", "nvfp4,alone");
  REQUIRE((two.a.scales->word() == "nvfp4" && one.a.scales->word() == "nvfp4"));
  double most = 0;
  for (const double x : a) most = std::max(most, std::fabs(x));
  CHECK(two.a.scales->whole == static_cast<float>(most / 6 / 448));
  CHECK(one.a.scales->whole == 1);
  CHECK(*std::ranges::max_element(two.a.scales->values) == 448);
  for (std::size_t i = 0; i < lines * depth / 16; ++i) {
    const double exact = largest(a, i / 16, i % 16 * 16, 16) / 6;
    const auto of_one = static_cast<double>(one.a.scales->values[i]);
    CHECK(std::fabs(of_one - exact) <= exact / 16);
    CHECK(std::ldexp(of_one, 3 - std::ilogb(of_one)) == std::round(std::ldexp(of_one, 3 - std::ilogb(of_one))));
  }
}

TEST_CASE("drawn scales leave the operands as they are drawn") {
  const Product product = product_under("float8_e4m3fn", "none row:normal:0,2", "integers:-8,8");
  CHECK(!product.a.scales);
  const MatmulScales& scales = *product.b.scales;
  REQUIRE((scales.word() == "row" && scales.for_lines == lines && scales.for_k == 1));
  const std::vector<double> values = draws("normal:0,2", lines, ~seed_of_b);
  for (std::size_t i = 0; i < lines; ++i) CHECK(static_cast<double>(scales.values[i]) == values[i]);
  CHECK(numbers_of(product.b) == draws("integers:-8,8", depth * lines, seed_of_b));
}

TEST_CASE("numbers of int8 are rounded to integers and clamped") {
  const std::vector<double> drawn = draws("normal:0,60", lines * depth, 2 * seed);
  std::vector<double> expected;
  for (const double x : drawn) expected.push_back(std::clamp(std::nearbyint(x), -128.0, 127.0));
  const Product as_drawn = product_under("int8", "row:uniform:1,1", "normal:0,60");
  CHECK(numbers_of(as_drawn.a) == expected);
  CHECK(as_drawn.a.rounding.format == emu::bfloat16);  // holds all of them
  const std::vector<double> scaled = numbers_of(product_under("int8", "row").a);
  for (std::size_t row = 0; row < lines; ++row) CHECK(largest(scaled, row, 0, depth) == 127);
}

TEST_CASE("words of scales that mean nothing are named") {
  for (const char* const words : {"half", "1x", "x128", "0x128", "1x128x", "mx,down", "row,alone"})
    CHECK_THROWS_AS(product_under("float8_e4m3fn", words), Error);
}

TEST_CASE("C is one row for all, or a matrix") {
  PublicCheck check = check_of("bfloat16", "");
  check.c = "normal:0,1";
  const auto c_of = [&] {
    std::vector<double> c(lines * lines);
    verify::product_of(check, {.lines = lines, .seed = seed}).c->source->read(0, std::span(c));
    return c;
  };
  const std::vector<double> row = c_of();
  CHECK(std::equal(row.begin(), row.begin() + lines, row.begin() + lines));
  check.c = "matrix:normal:0,1";
  CHECK(c_of() == draws("normal:0,1", lines * lines, ~seed));
}

TEST_CASE("truncated operands lose their last bits, rounded ones go to the nearest number") {
  PublicCheck check = check_of("float32", "", "uniform:1.9999,1.9999");  // rounds to 2 in bfloat16, and in tf32
  check.m = check.n = check.k = 1;
  const verify::MutationSource source = verify::mutation_source(verify::product_of(check, {.lines = 1}), seed);
  const std::vector<verify::FedOutput> outputs = verify::wrong_outputs(source, 1);
  const auto value = [&](const std::string& name) {
    const auto found = std::ranges::find(outputs, name, &verify::FedOutput::name);
    REQUIRE(found != outputs.end());
    return found->values.at(0);
  };
  CHECK((value("inputs_in_tf32") == 4 && value("inputs_in_bfloat16") == 4));
  const auto square = [](double x) { return static_cast<double>(static_cast<float>(x * x)); };
  CHECK(value("inputs_truncated_to_tf32") == square(2 - 0x1p-10));
  CHECK(value("inputs_truncated_to_bfloat16") == square(2 - 0x1p-7));
}

TEST_CASE("a request is computed from the draws of the seed, the next input from those of the next one") {
  const auto softmax = verify::operation_of(asking("audit softmax normal:0,2:3x11 --out fp32"), seed);
  CHECK(near(softmax->correct, softmax_of(draws("normal:0,2", 33, seed), 11)));
  const auto norm =
      verify::operation_of(asking("audit rms_norm normal:0,1:2x6 --weight uniform:1,2:6 --eps 0.25 --out fp32"), seed);
  const std::vector<double> x = draws("normal:0,1", 12, seed), weight = draws("uniform:1,2", 6, seed + 1);
  std::vector<double> expected;
  for (std::size_t row = 0; row < 2; ++row) {
    double squares = 0;
    for (std::size_t i = 0; i < 6; ++i) squares += x[6 * row + i] * x[6 * row + i];
    for (std::size_t i = 0; i < 6; ++i) expected.push_back(x[6 * row + i] / std::sqrt(squares / 6 + 0.25) * weight[i]);
  }
  CHECK(near(norm->correct, expected));
  const auto formula = verify::operation_of(
      asking("audit expr 'x * 2 + y' --input x=integers:-9,9:7 --input y=integers:1,9:7 --out fp32"), seed);
  expected = draws("integers:-9,9", 7, seed);
  const std::vector<double> y = draws("integers:1,9", 7, seed + 1);
  for (std::size_t i = 0; i < 7; ++i) expected[i] = 2 * expected[i] + y[i];
  CHECK(formula->correct == expected);
}

TEST_CASE("of an operation signs, halves and its own mutants are fed, and plain computations as right ones") {
  const auto softmax = verify::operation_of(asking("audit softmax normal:0,2:3x11 --out fp32"), seed);
  const std::vector<verify::FedOutput> wrong = verify::wrong_outputs(*softmax), right = verify::right_outputs(*softmax);
  const std::vector<double> x = draws("normal:0,2", 33, seed);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double y = softmax->correct[i];
    CHECK((fed(wrong, "negated")[i] == -y && fed(wrong, "halved")[i] == y / 2));
    CHECK(fed(wrong, "scale_off_10%")[i] == static_cast<double>(static_cast<float>(y * 1.1)));
  }
  CHECK(near(fed(wrong, "tail_dropped_1"), softmax_of(x, 10)));
  CHECK(near(fed(wrong, "tail_dropped_8"), softmax_of(x, 3)));
  CHECK(fed(wrong, "tail_dropped_16").empty());
  CHECK(std::ranges::none_of(wrong, [](const verify::FedOutput& output) { return output.is_right; }));
  CHECK((right.size() == 9 && fed(right, "exact") == softmax->correct && fed(right, "plain_8").size() == 33));
  CHECK(std::ranges::all_of(right, [](const verify::FedOutput& output) { return output.is_right; }));
  const auto conv = verify::operation_of(asking("audit conv normal:0,1:1x2x9 normal:0,1:3x2x4 --padding 1 --out fp32"), seed);
  CHECK((conv->correct.size() == std::size_t{3} * 8 && verify::right_outputs(*conv).size() == 1));
}

TEST_CASE("mutants have the inputs of the request, but for what they change") {
  const auto formula = verify::operation_of(
      asking("audit expr 'x * 2 + y' --input x=integers:-9,9:7 --input y=integers:1,9:7 --out fp32"), seed);
  const std::vector<double> x = draws("integers:-9,9", 7, seed), y = draws("integers:1,9", 7, seed + 1);
  std::vector<double> expected;
  for (std::size_t i = 0; i < 7; ++i) expected.push_back(2 * x[i] + y[(i + 4) % 7]);  // the last operand, rotated by half
  CHECK(fed(verify::wrong_outputs(*formula), "stale_output") == expected);
  const auto conv =
      verify::operation_of(asking("audit conv integers:-9,9:1x1x5 integers:-9,9:1x1x1 --bias integers:1,9:1 --out fp32"), seed);
  const std::vector<double> of_x = draws("integers:-9,9", 5, seed);
  const double weight = draws("integers:-9,9", 1, seed + 1)[0];
  expected.clear();
  for (const double each : of_x) expected.push_back(each * weight);
  CHECK(fed(verify::wrong_outputs(*conv), "bias_missing") == expected);
}

TEST_CASE("a request that means nothing is named") {
  for (const auto& [request, words] :
       {std::pair<std::string, std::string>{"verify softmax normal:0,1:2x3 --out fp32", "audit OPERATION"},
        {"audit", "audit OPERATION"},
        {"audit softmx normal:0,1:2x3 --out fp32", "softmx"},
        {"audit softmax normal:0,1:2x3 --ot fp32", "there is no option --ot"},
        {"audit softmax normal:0,1:2x3 --out", "--out: give a value"},
        {"audit softmax normal:0,1:2x3 --rule bound --output y.npy", "--output"},
        {"audit expr 'x --input x=normal:0,1:2 --out fp32", "a quote is not closed"},
        {"audit softmax norml:0,1:2x3 --out fp32", "norml"}}) {
    CAPTURE(request);
    CHECK_THROWS_WITH(verify::operation_of(asking(request), 0),
                      Catch::Matchers::StartsWith("repo-01: request '" + request) && Catch::Matchers::ContainsSubstring(words));
  }
}

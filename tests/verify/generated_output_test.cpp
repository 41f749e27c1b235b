// SPDX-License-Identifier: Apache-2.0
// Outputs of generated cases by kernels that are written as loops in float or float16, right ones and wrong ones.
#include "verify/generate/generated_output.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/names.hpp"
#include "tests/verify/operations_data.hpp"
#include "verify/verdict.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::operations;

/// Products of one output in the order of K.
using Kernel = std::function<float(const std::vector<float>& products, float c)>;

struct Case {
  verify::CaseRequest request;
  const verify::CaseKind& kind;
  verify::MatmulCase made = verify::generate_case(kind, request);

  verify::Verdict judged(std::vector<float> d, emu::Format promised) const {
    const auto expectation = verify::expect_generated(kind, request, promised, 1e-6);
    return verify::verify(*expectation, tensors::from_values("D", {request.m, request.n}, std::move(d)),
                          {.last = {request.out}, .threads = 1});
  }
  verify::Verdict judged(const Kernel& kernel, emu::Format promised = emu::float32) const {
    std::vector<float> d, products(request.k);
    for (std::size_t i = 0; i < request.m; ++i)
      for (std::size_t j = 0; j < request.n; ++j) {
        for (std::size_t k = 0; k < request.k; ++k) products[k] = made.a[i * request.k + k] * made.b[k * request.n + j];
        d.push_back(as(request.out, kernel(products, made.c.empty() ? 0.0F : made.c[i * request.n + j])));
      }
    return judged(std::move(d), promised);
  }
};

Case made(const std::string& kind, emu::Format in, emu::Format accumulator, emu::Format out) {
  return {.request = {.m = 12, .n = 9, .k = 64, .a = in, .b = in, .accumulator = accumulator, .out = out},
          .kind = verify::find_case_kind(kind)};
}

float ascending(const std::vector<float>& products, float c) {
  for (const float x : products) c += x;
  return c;
}
float descending(const std::vector<float>& products, float c) {
  for (std::size_t k = products.size(); k-- > 0;) c += products[k];
  return c;
}
/// Four chains, K cut into quarters.
float split(const std::vector<float>& products, float c) {
  float parts[4] = {};
  for (std::size_t k = 0; k < products.size(); ++k) parts[4 * k / products.size()] += products[k];
  return c + ((parts[0] + parts[1]) + (parts[2] + parts[3]));
}
/// Eight lanes that take turns.
float in_lanes(const std::vector<float>& products, float c) {
  float parts[8] = {};
  for (std::size_t k = 0; k < products.size(); ++k) parts[k % 8] += products[k];
  for (const float x : parts) c += x;
  return c;
}
/// Each product and the one half of K behind it, then their sums alike.
Kernel in_halves(emu::Format format) {
  return [format](std::vector<float> products, float c) {
    while (products.size() > 1) {
      const std::size_t half = (products.size() + 1) / 2;
      for (std::size_t k = half; k < products.size(); ++k) products[k - half] = as(format, products[k - half] + products[k]);
      products.resize(half);
    }
    return as(format, c + products[0]);
  };
}
/// As many lanes as there are halves of K: each has two products.
float in_half_lanes(const std::vector<float>& products, float c) {
  const std::size_t half = products.size() / 2;
  for (std::size_t k = 0; k < half; ++k) c += products[k] + products[k + half];
  return c;
}
Kernel in_format(emu::Format format) {
  return [format](const std::vector<float>& products, float c) {
    for (const float x : products) c = as(format, c + x);
    return c;
  };
}
float without_last_tile(std::vector<float> products, float c) {
  products.resize(48);
  return ascending(products, c);
}

const std::vector<Kernel> right{ascending, descending, split, in_lanes, in_halves(emu::float32), in_half_lanes};

}  // namespace

TEST_CASE("signed zeros: each is judged with its sign", "[verify][generate]") {
  const Case in = made("signed_zero", emu::float16, emu::float32, emu::float16);
  CHECK(in.judged(ascending).outcome() == verify::Outcome::pass);
  CHECK(in.judged(descending).outcome() == verify::Outcome::pass);
  CHECK(in.judged(split).outcome() == verify::Outcome::fail);  // its parts start from +0
  CHECK(in.judged([](const auto& products, float c) { return ascending(products, 0) + 0 * c; }).outcome() ==
        verify::Outcome::fail);
  CHECK(in.judged(std::vector<float>(std::size_t{12} * 9, 0.0F), emu::float32).outcome() == verify::Outcome::fail);
  CHECK(in.judged(std::vector<float>(std::size_t{12} * 9, -0.0F), emu::float32).outcome() == verify::Outcome::fail);
}

TEST_CASE("order: any order's multiple of the small term is right, a lost tile and zeros are not", "[verify][generate]") {
  for (const emu::Format out : {emu::float32, emu::float16}) {
    const Case in = made("order", emu::float16, emu::float32, out);
    for (const Kernel& kernel : right) {
      const auto verdict = in.judged(kernel);
      CAPTURE(verdict.sentence());
      CHECK(verdict.outcome() == verify::Outcome::pass);
    }
    CHECK(in.judged(without_last_tile).outcome() == verify::Outcome::fail);
    CHECK(in.judged(std::vector<float>(std::size_t{12} * 9), emu::float32).outcome() == verify::Outcome::fail);
    CHECK(in.judged([](const auto& products, float c) { return -ascending(products, c); }).outcome() == verify::Outcome::fail);
    CHECK(in.judged([](const auto& products, float c) { return 1.01F * split(products, c); }).outcome() ==
          verify::Outcome::fail);
  }
}

TEST_CASE("overflow of partial sums: infinite where the accumulator is float16, exact where it is wider",
          "[verify][generate]") {
  const Case in = made("overflow_partial", emu::float16, emu::float16, emu::float16);
  for (const Kernel& kernel : right) {
    CHECK(in.judged(kernel, emu::float32).outcome() == verify::Outcome::pass);
    CHECK(in.judged(kernel, emu::float16).outcome() == verify::Outcome::pass);  // better than said
  }
  const Kernel half = in_format(emu::float16);
  CHECK(in.judged(half, emu::float16).outcome() == verify::Outcome::pass);
  CHECK(in.judged(half, emu::float32).outcome() == verify::Outcome::fail);
  const auto clamped = [](const std::vector<float>& products, float c) {
    for (const float x : products) c = as(emu::float16, std::fmin(std::fmax(c + x, -65504.0F), 65504.0F));
    return c;
  };
  CHECK(in.judged(clamped, emu::float16).outcome() == verify::Outcome::fail);
  CHECK(in.judged(std::vector<float>(std::size_t{12} * 9), emu::float16).outcome() == verify::Outcome::fail);
}

TEST_CASE("overflow of partial sums: orders that pair large products with their negatives leave 0 or less of the small one",
          "[verify][generate]") {
  for (const std::size_t k : {16U, 32U, 63U, 64U, 128U})
    for (const emu::Format accumulator : {emu::float16, emu::float32}) {
      CAPTURE(k, emu::format_name(accumulator));
      const emu::Format operand = accumulator == emu::float16 ? emu::float16 : emu::bfloat16;
      const Case in{
          .request = {.m = 12, .n = 9, .k = k, .a = operand, .b = operand, .accumulator = accumulator, .out = emu::float32},
          .kind = verify::find_case_kind("overflow_partial")};
      CHECK(in.judged(in_halves(accumulator), accumulator).outcome() == verify::Outcome::pass);
      CHECK(in.judged(in_format(accumulator), accumulator).outcome() == verify::Outcome::pass);
      const std::vector<float>& exact = in.made.expected;
      const auto with = [&](std::size_t row, float x) {
        std::vector<float> d = exact;
        d[row * 9] = x;
        return in.judged(d, accumulator).outcome();
      };
      for (const std::size_t row : {0U, 1U}) {
        CHECK(with(row, 0) == verify::Outcome::pass);
        CHECK(with(row, exact[row * 9] / 2) == verify::Outcome::fail);
        CHECK(with(row, -exact[row * 9]) == verify::Outcome::fail);
        CHECK(with(row, 3 * exact[row * 9]) == verify::Outcome::fail);
        CHECK(with(row, infinite) == (row == 0 ? verify::Outcome::pass : verify::Outcome::fail));
      }
    }
  // 1.5 beside 2^11 of float16 is 2.
  const Case in{.request = {.m = 4, .n = 1, .k = 256, .a = emu::float16, .b = emu::float16, .accumulator = emu::float16},
                .kind = verify::find_case_kind("overflow_partial")};
  const float sign = in.made.expected[1] < 0 ? -1.0F : 1.0F;
  REQUIRE(in.made.expected[1] == sign * 1.5F);
  std::vector<float> d = in.made.expected;
  d[1] = sign * 2;
  CHECK(in.judged(d, emu::float16).outcome() == verify::Outcome::pass);
  d[1] = sign;
  CHECK(in.judged(d, emu::float16).outcome() == verify::Outcome::fail);
}

TEST_CASE("cancellation: float32 sums of any order pass, fewer bits and zeros do not", "[verify][generate]") {
  const Case in = made("cancellation", emu::float16, emu::float32, emu::float32);
  for (const Kernel& kernel : right) {
    const auto verdict = in.judged(kernel);
    CAPTURE(verdict.sentence());
    CHECK(verdict.outcome() == verify::Outcome::pass);
  }
  CHECK(in.judged(in_format(emu::bfloat16)).outcome() == verify::Outcome::fail);
  CHECK(in.judged(in_format(emu::tf32)).outcome() == verify::Outcome::fail);
  CHECK(in.judged(std::vector<float>(std::size_t{12} * 9), emu::float32).outcome() == verify::Outcome::fail);
  CHECK_THROWS(verify::expect_generated(verify::find_case_kind("ties"), in.request, emu::float32, 1e-6));
}

TEST_CASE("cancellation: the usual condition number tells right float32 sums from zeros, halves and doubles",
          "[verify][generate]") {
  for (const std::size_t k : {16U, 256U, 2048U})
    for (const emu::Format out : {emu::float32, emu::float16, emu::bfloat16}) {
      CAPTURE(k, emu::format_name(out));
      const Case in{.request = {.m = 12, .n = 9, .k = k, .out = out}, .kind = verify::find_case_kind("cancellation")};
      for (const Kernel& kernel : right) {
        CHECK(in.judged(kernel).outcome() == verify::Outcome::pass);
        CHECK(in.judged([&](const auto& products, float c) { return kernel(products, c) / 2; }).beyond > 80);
        CHECK(in.judged([&](const auto& products, float c) { return kernel(products, c) * 2; }).beyond > 80);
      }
      CHECK(in.judged(std::vector<float>(std::size_t{12} * 9), emu::float32).beyond == std::size_t{12} * 9);
    }
}

TEST_CASE("cancellation: what no sum resolves is vacuous, and says what to give", "[verify][generate]") {
  const auto said = [](verify::CaseRequest request, emu::Format promised) {
    const Case in{.request = request, .kind = verify::find_case_kind("cancellation")};
    const auto verdict = in.judged(in.made.expected, promised);
    CHECK(verdict.outcome() == verify::Outcome::vacuous);
    return verdict.sentence();
  };
  CHECK(said({.m = 12, .n = 9, .condition = 1e6}, emu::float32).ends_with("give --condition 16384 to both commands"));
  CHECK(said({.m = 12, .n = 9, .accumulator = emu::float16}, emu::float16).ends_with("give --k 64 or less to both commands"));
  CHECK(said({.m = 12, .n = 9, .k = 200, .accumulator = emu::float16, .condition = 1000}, emu::float16)
            .ends_with("give --k 64 or less without --condition to both commands"));
  for (const verify::CaseRequest& advised :
       {verify::CaseRequest{.m = 12, .n = 9, .condition = 16384}, {.m = 12, .n = 9, .k = 64, .accumulator = emu::float16}}) {
    const Case in{.request = advised, .kind = verify::find_case_kind("cancellation")};
    CHECK(in.judged(in.made.expected, advised.accumulator).outcome() == verify::Outcome::pass);
  }
  // 7 / 128 where nothing is rounded up: 2^24 2^-6 / 16.
  CHECK(verify::usual_condition(256, emu::float32) == 0x1p14);
  CHECK(verify::usual_condition(257, emu::float32) == 0x1p13);
  CHECK(verify::usual_condition(16384, emu::float32) == 16384);
}

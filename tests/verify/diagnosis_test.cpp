// SPDX-License-Identifier: Apache-2.0
// What is said of products that fail by a declaration that was not made.
#include "verify/diagnosis.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "emu/catalogue.hpp"
#include "tensors/synthetic.hpp"
#include "verify/matmul_request.hpp"
#include "verify/verdict.hpp"

namespace {

using namespace ulpscope;

products::Product declared(products::InputRounding a, products::InputRounding b, const std::string& engine = {}) {
  return {.engine = engine,
          .a = {{tensors::open_one("normal:0,1:24x128", {.dtype = {}, .seed = 1})}, a, {}},
          .b = {{tensors::open_one("normal:0,1:128x20", {.dtype = {}, .seed = 2})}, b, {}},
          .c = {},
          .acc = emu::float32,
          .out = emu::float32,
          .beta = {}};
}

verify::Verdict judged(const products::Product& claimed, const tensors::Tensor& output, bool bitwise = false) {
  return verify::verify(*verify::expectation_of(claimed, {.bitwise = bitwise}), output, {.last = {emu::float32}, .threads = 1});
}

bool says_nearest(const verify::Verdict& verdict) {
  return std::any_of(verdict.patterns.begin(), verdict.patterns.end(),
                     [](const std::string& line) { return line.find("--in tf32:nearest says so") != std::string::npos; });
}

const products::InputRounding cut = products::input_rounding(emu::tf32), nearest{emu::tf32}, whole{emu::float32};

}  // namespace

TEST_CASE("inputs that are rounded to tf32, not cut, are told from the wrong elements", "[verify]") {
  const auto output = products::multiply(declared(nearest, nearest, "sm_90"));

  const verify::Verdict of_cut = judged(declared(cut, cut), output);
  CHECK(of_cut.wrong() > 100);
  CHECK(says_nearest(of_cut));
  CHECK(judged(declared(nearest, nearest), output).wrong() == 0);
}

TEST_CASE("inputs that are rounded to tf32 are told where the bits are an engine's", "[verify]") {
  const auto output = products::multiply(declared(nearest, nearest, "sm_90"));

  const verify::Verdict of_cut = judged(declared(cut, cut, "sm_90"), output, true);
  CHECK(of_cut.wrong() > 100);
  CHECK(says_nearest(of_cut));
  CHECK(!says_nearest(judged(declared(cut, cut, "sm_80"), output, true)));
  CHECK(judged(declared(nearest, nearest, "sm_90"), output, true).wrong() == 0);
}

TEST_CASE("inputs that were cut, or that were not declared to be, are not said to be rounded", "[verify]") {
  const auto of_cut = products::multiply(declared(cut, cut, "sm_90")),
             of_whole = products::multiply(declared(whole, whole, "fma"));

  CHECK(judged(declared(cut, cut), of_cut).wrong() == 0);
  for (const verify::Verdict& verdict : {judged(declared(whole, whole), of_cut), judged(declared(nearest, nearest), of_cut),
                                         judged(declared(cut, cut), of_whole)}) {
    CHECK(verdict.wrong() > 100);
    CHECK(!says_nearest(verdict));
  }
}

TEST_CASE("nine wrong elements of ten that a declaration makes right are worth saying", "[verify]") {
  CHECK(verify::right_if(9, 10, "where so").find("9 of 10 wrong elements looked at are right where so") == 0);
  CHECK(verify::right_if(89, 100, "where so").empty());
  CHECK(verify::right_if(0, 0, "where so").empty());
}

// SPDX-License-Identifier: Apache-2.0
// Parts of K as GPU libraries cut them: the causes that are named for products made so.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "tensors/synthetic.hpp"
#include "verify/explain/explain.hpp"
#include "verify/explain/hypotheses.hpp"

namespace {

using namespace ulpscope;
using verify::ExplainVerdict;

struct ProductWords {
  std::string engine = "sm_90";
  products::InputRounding in = {emu::bfloat16};
  std::size_t k = 512, promote = 0;
};

products::Product product_of(const ProductWords& words) {
  const auto operand = [&](const std::string& tensor, std::uint64_t seed) {
    return products::MatmulOperand{{tensors::open_one(tensor, {.dtype = {}, .seed = seed})}, words.in, {}};
  };
  const std::string k = std::to_string(words.k);
  return {.engine = words.engine,
          .a = operand("normal:0,1:16x" + k, 1),
          .b = operand("normal:0,1:" + k + "x12", 2),
          .c = {},
          .acc = emu::float32,
          .out = emu::float32,
          .beta = {},
          .promote = words.promote};
}

verify::ExplainResult explained(const ProductWords& claimed, const ProductWords& computed) {
  return verify::explain({product_of(claimed), products::multiply(product_of(computed))});
}

/// Words of the findings that explain D.
std::vector<std::string> explaining_words(const verify::ExplainResult& result) {
  std::vector<std::string> words;
  for (const verify::Finding& finding : result.findings)
    if (finding.explains) words.push_back(finding.hypothesis.word());
  return words;
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

TEST_CASE("parts of K that are rounded up to whole tiles are named", "[verify]") {
  const auto [k, promote, split] = GENERATE(table<std::size_t, std::size_t, std::string>({
      {4096, 1408, "3"},  // 1366 in tiles of 64 or 128
      {4096, 192, "22"},  // 187 in tiles of 32 or 64
      {512, 192, "3"},    // 171
      {1000, 160, "7"},   // 143 in tiles of 32
  }));
  CAPTURE(k, promote);

  const auto result = explained({.k = k}, {.k = k, .promote = promote});

  REQUIRE(result.verdict == ExplainVerdict::explained);
  const verify::Hypothesis& named = result.findings.front().hypothesis;
  CHECK(named.word() == "promote=" + std::to_string(promote));
  CHECK(named.sentence().find("split-K = " + split + " ") != std::string::npos);
  CHECK(named.has_command());
}

TEST_CASE("parts of K in whole tiles are named with another cause", "[verify]") {
  const auto result = explained({.engine = "sm_80"}, {.engine = "sm_90", .promote = 192});

  REQUIRE(result.verdict == ExplainVerdict::explained);
  CHECK(has(explaining_words(result), "engine=sm_90 + promote=192"));
}

TEST_CASE("a product of narrower inputs is named with its engine and its parts of K", "[verify]") {
  // Blocks of 64 of operands without ties would be a split product's, too: tf32x1:k=64.
  const auto [in, promote] = GENERATE(table<products::InputRounding, std::size_t>({
      {{emu::tf32}, 96},
      {{emu::tf32, {.rounding = emu::Rounding::toward_zero}, {}, true}, 96},
      {{emu::bfloat16}, 96},
  }));
  const bool is_cut = in.options.rounding == emu::Rounding::toward_zero;
  const std::string format = in.format == emu::bfloat16 ? "bfloat16" : is_cut ? "tf32" : "tf32:nearest";
  CAPTURE(format, promote);

  const auto result = explained({.engine = "fma", .in = {emu::float32}, .k = 256}, {.in = in, .k = 256, .promote = promote});

  REQUIRE(result.verdict == ExplainVerdict::explained);
  CHECK(has(explaining_words(result), "in=" + format + " + engine=sm_90 + promote=" + std::to_string(promote)));
}

TEST_CASE("every name of an arithmetic is said once", "[verify]") {
  const emu::Format in = GENERATE(emu::float32, emu::bfloat16, emu::float16, emu::float8_e4m3fn);
  const std::string engine = GENERATE("fma", "pairwise");
  const verify::Claim claim = verify::claim_of(product_of({.engine = engine, .in = {in}}));

  std::vector<std::string> words;
  for (const verify::Cause& cause : verify::engine_causes(claim, claim.a(), claim.b())) {
    words.push_back(cause.word);
    words.insert(words.end(), cause.also.begin(), cause.also.end());
  }

  std::sort(words.begin(), words.end());
  REQUIRE(words.size() > 1);
  CHECK(std::adjacent_find(words.begin(), words.end()) == words.end());
}

TEST_CASE("products of 8-bit floats that are promoted are said to be, where as many parts of K would do too", "[verify]") {
  const std::size_t promote = GENERATE(as<std::size_t>(), 128, 256);

  const auto result = explained({.in = {emu::float8_e4m3fn}}, {.in = {emu::float8_e4m3fn}, .promote = promote});

  REQUIRE(result.verdict == ExplainVerdict::explained);
  CHECK(result.findings.front().hypothesis.word() == "promote=" + std::to_string(promote));
  CHECK(has(explaining_words(result), "split-k=" + std::to_string(512 / promote)));
}

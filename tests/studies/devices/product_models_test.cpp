// SPDX-License-Identifier: Apache-2.0
// Models of products: how sums are joined, and which engines are tried.
#include "studies/devices/product_models.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/philox.hpp"
#include "studies/devices/product_prediction.hpp"

namespace {

using namespace ulpscope;

constexpr std::size_t depth = 40;

gpu::LibraryCall call_to(emu::Format d) { return {"", "CUBLAS_COMPUTE_32F", emu::float32, emu::float32, d, emu::float32}; }

/// Numbers with all their bits, in (-1, 1).
std::vector<float> numbers(std::uint64_t seed) {
  std::vector<float> values;
  for (std::size_t i = 0; i < depth; ++i)
    values.push_back(static_cast<float>(emu::philox4x32(seed, i).word[0]) * 0x1p-31F - 1.0F);
  return values;
}

studies::OutputOperands codes_of(const std::vector<float>& a, const std::vector<float>& b) {
  studies::OutputOperands operands;
  for (const float x : a) operands.a.push_back(std::bit_cast<std::uint32_t>(x));
  for (const float x : b) operands.b.push_back(std::bit_cast<std::uint32_t>(x));
  return operands;
}

/// To nearest even, by the processor's own addition: the numbers here are normal.
float to_bfloat16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000);
}

/// The parts 0-15, 16-31, 32-39, each a chain of std::fma.
std::vector<float> parts_of(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> parts;
  for (const std::size_t begin : {0u, 16u, 32u}) {
    float sum = 0;
    for (std::size_t p = begin; p < std::min<std::size_t>(begin + 16, depth); ++p) sum = std::fma(a[p], b[p], sum);
    parts.push_back(sum);
  }
  return parts;
}

float joined_as(const std::string& join, std::vector<float> p) {
  if (join.ends_with("the last one first")) std::reverse(p.begin(), p.end());
  if (join.starts_with("stored in bfloat16")) return to_bfloat16(to_bfloat16(p[0]) + to_bfloat16(p[1]) + to_bfloat16(p[2]));
  if (join.starts_with("joined in place")) return to_bfloat16(to_bfloat16(to_bfloat16(p[0]) + p[1]) + p[2]);
  return p[0] + p[1] + p[2];
}

}  // namespace

TEST_CASE("sums of parts are joined as the words say", "[studies]") {
  const emu::Format d = emu::bfloat16;
  studies::ProductModel model;
  model.operands = {"", emu::float32, emu::float32};
  model.engine = {"fma", emu::fma_chain()};
  model.cut = std::make_shared<const studies::KCut>(studies::KCut{"", {{{0, 16}}, {{16, 32}}, {{32, 40}}}});
  std::set<std::string> seen;

  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const std::vector<float> a = numbers(2 * seed), b = numbers(2 * seed + 1);
    for (const emu::Format out : {d, emu::float32})
      for (const studies::PartJoin& join : studies::part_joins(call_to(out), emu::float32, 3)) {
        if (join.words.starts_with("stored in float16")) continue;
        model.join = join;
        seen.insert(join.words);
        const float sum = joined_as(join.words, parts_of(a, b));
        const auto expected =
            out == d ? std::bit_cast<std::uint32_t>(to_bfloat16(sum)) >> 16 : std::bit_cast<std::uint32_t>(sum);
        CAPTURE(seed, join.words, out);
        REQUIRE(studies::OutputPredictor(call_to(out), codes_of(a, b)).predict(model) == expected);
      }
  }
  CHECK(seen.size() == 6);
}

TEST_CASE("other blocks and fraction bits are tried, and no model twice", "[studies]") {
  const gpu::LibraryCall call{"", "CUBLAS_COMPUTE_32F", emu::float16, emu::float16, emu::float16, emu::float32};

  const std::vector<studies::ProductModel> models = studies::product_models(call, {"sm_90", 512, {2}});

  std::set<std::string> words, engines;
  for (const studies::ProductModel& model : models) {
    words.insert(studies::words_of(model));
    engines.insert(model.engine.words.substr(0, model.engine.words.find(",out")));
  }
  CHECK(words.size() == models.size());
  CHECK(studies::words_of(models.front()) == "sm_90 chain");
  for (const char* engine : {"sm_90", "sm_70", "sm_75", "fma", "block:n=8,f=25", "block:n=4,f=25", "block:n=32,f=25",
                             "block:n=16,f=24", "block:n=16,f=26", "block:n=16,f=23"}) {
    CAPTURE(engine);
    CHECK(engines.contains(engine));
  }
  // Two equal parts joined in float32 are a chain promoted once in the middle.
  const auto promoted = std::find_if(models.begin(), models.end(), [](const studies::ProductModel& model) {
    return studies::words_of(model) == "sm_90 chain; promoted to float32 every 256";
  });
  REQUIRE(promoted != models.end());
  CHECK(studies::words_of(*promoted, 2) == "sm_90 chains; K in 2 parts of units of 64; joined in float32");
}

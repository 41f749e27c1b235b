// SPDX-License-Identifier: Apache-2.0
// Errors of emulated products never exceed their bounds.
#include "emu/engine_bound.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "tests/emu/bound_judge.hpp"

namespace {

using namespace ulpscope;
using emu::Chain;
using emu::EngineMode;
using test::BoundProblem;
using test::judge;
using test::Tally;
using test::Values;
using FormatPair = std::pair<emu::Format, emu::Format>;

/// The formats that a mode is tried with: all of them once on either side.
std::vector<FormatPair> formats_of(const EngineMode& mode) {
  if (mode.inputs.empty()) {
    if (mode.model.accumulator == emu::float64) return {{emu::float64, emu::float64}, {emu::float16, emu::float32}};
    return {{emu::float16, emu::float16}, {emu::float8_e4m3fn, emu::bfloat16}, {emu::float32, emu::float32}};
  }
  std::vector<FormatPair> pairs;
  for (std::size_t i = 0; i < mode.inputs.size(); ++i)
    pairs.emplace_back(mode.inputs[i], mode.inputs[mode.mixed ? (i + 1) % mode.inputs.size() : i]);
  return pairs;
}

/// The chains that a product of k is tried with.
std::vector<Chain> chains_for(const emu::Engine& engine, std::size_t k) {
  const std::size_t step = engine.products == emu::Stage::all ? 16 : static_cast<std::size_t>(engine.products);
  std::vector<Chain> chains{{}, {.has_c = true}};
  if (k < 4 * step) return chains;
  chains.push_back({.promote = 2 * step});
  chains.push_back({.split_k = 3, .has_c = true});
  chains.push_back({.promote = step, .split_k = 2, .has_c = true});
  return chains;
}

}  // namespace

TEST_CASE("no error exceeds its bound: engines, formats, lengths, parts and kinds of operands", "[emu][bound]") {
  std::uint64_t seed = 0;
  Tally all;
  for (const EngineMode& mode : emu::engine_modes()) {
    Tally tally;
    for (const auto& [a, b] : formats_of(mode))
      for (const Values values : test::all_values)
        for (const std::size_t k : {1U, 7U, 64U, 200U, 1024U})
          for (const Chain& chain : chains_for(mode.model, k)) {
            if (k > 64 && ++seed % 4 != 0) continue;
            Chain with_scale = chain;
            with_scale.scale_format = mode.scale_format;
            CAPTURE(mode.engine, mode.instruction, emu::format_name(a), emu::format_name(b),
                    emu::format_name(mode.model.accumulator), static_cast<int>(values), k, chain.promote, chain.split_k,
                    chain.has_c);
            judge(test::bound_problem({&mode, a, b, values, k}, with_scale, ++seed), tally);
          }
    CAPTURE(mode.engine, mode.instruction, emu::format_name(mode.model.accumulator));
    CHECK(tally.judged > tally.elements * 3 / 4);
    all.judged += tally.judged;
  }
  CHECK(all.judged > 50'000);
}

TEST_CASE("no error exceeds its bound where products are scaled down", "[emu][bound]") {
  std::uint64_t seed = 500;
  Tally tally;
  for (const EngineMode& unscaled : emu::engine_modes()) {
    const auto greatest = emu::greatest_lscale(unscaled);
    if (!greatest) continue;
    for (const int lscale : {1, 6, 15, 64, 110, 127}) {
      if (lscale > *greatest) continue;
      EngineMode mode = unscaled;
      mode.model.product_exponent = -lscale;
      for (const auto& [a, b] : formats_of(mode))
        for (const Values values : test::all_values)
          for (const std::size_t k : {1U, 64U, 200U})
            for (const Chain& chain : chains_for(mode.model, k)) {
              CAPTURE(mode.engine, lscale, emu::format_name(a), emu::format_name(mode.model.accumulator),
                      static_cast<int>(values), k, chain.promote, chain.split_k, chain.has_c);
              judge(test::bound_problem({&mode, a, b, values, k}, chain, ++seed), tally);
            }
    }
  }
  CHECK(tally.judged > tally.elements * 3 / 4);
  CHECK(tally.judged > 10'000);
}

TEST_CASE("no error exceeds its bound in long sums", "[emu][bound]") {
  std::uint64_t seed = 1000;
  Tally tally;
  for (const EngineMode& mode : emu::engine_modes()) {
    const auto [a, b] = formats_of(mode).front();
    for (const Values values : {Values::normal, Values::positive, Values::constant}) {
      const Chain chain{.has_c = true, .scale_format = mode.scale_format};
      CAPTURE(mode.engine, mode.instruction, emu::format_name(a), emu::format_name(mode.model.accumulator),
              static_cast<int>(values));
      const std::size_t k = values == Values::positive ? 65536 : 4096;
      judge(test::bound_problem({&mode, a, b, values, k, 1, 1}, chain, ++seed), tally);
    }
  }
  CHECK(tally.judged > tally.elements * 9 / 10);
}

TEST_CASE("engines of one's own have bounds that hold", "[emu][bound]") {
  std::uint64_t seed = 2000;
  for (const char* const words :
       {"block:n=16,f=25,out=rz", "block:n=5,f=7,out=rn", "block:n=8,f=12,out=rp", "block:n=8,f=12,out=rm,cut=rm",
        "block:n=4,f=exact,out=rn", "block:n=32,f=10,out=rz,bits=5", "block:n=3,f=30,out=to_odd,bits=9,least=-8",
        "block:n=16,f=2,out=rna,least=3", "block:n=16,f=0,out=rn,bits=3,cut=rm"})
    for (const emu::Format acc : {emu::float32, emu::float16, emu::bfloat16})
      for (const auto& [a, b] : {FormatPair{emu::float16, emu::float16}, FormatPair{emu::float8_e4m3fn, emu::float8_e5m2},
                                 FormatPair{emu::bfloat16, emu::float8_e5m2}}) {
        if (std::string(words).find("bits=9") != std::string::npos && acc == emu::bfloat16) continue;
        EngineMode mode{};
        mode.model = emu::parse_engine(words, {a, b, acc});
        for (const Values values : test::all_values)
          for (const std::size_t k : {1U, 30U, 129U}) {
            CAPTURE(words, emu::format_name(acc), emu::format_name(a), static_cast<int>(values), k);
            Tally tally;
            judge(test::bound_problem({&mode, a, b, values, k}, {.has_c = k != 30}, ++seed), tally);
          }
      }
}

TEST_CASE("scales in software have bounds that hold", "[emu][bound]") {
  std::uint64_t seed = 3000;
  for (const char* const name : {"sm_90", "sm_100", "fma", "pairwise", "cdna3"})
    for (const std::size_t products : {64U, 512U}) {
      const emu::Format in = std::string(name) == "cdna3" ? emu::float8_e4m3fnuz : emu::float8_e4m3fn;
      const EngineMode& mode = emu::find_engine(name, {in, in});
      for (const Values values : test::all_values)
        for (const Chain& asked : {Chain{}, Chain{.promote = 128}, Chain{.split_k = 2}, Chain{.promote = 32}}) {
          BoundProblem p = test::bound_problem({&mode, in, in, values, 512}, asked, ++seed);
          test::Random random(seed);
          p.scales = {emu::float32, products, {}, {}};
          const auto scale = [&] {
            const int exponent = random.between(-6, 3);
            return static_cast<double>(static_cast<float>(std::ldexp(1 + random.below(1 << 20) * 0x1p-20, exponent)));
          };
          for (std::size_t at = 0; at < p.m * p.blocks(); ++at) p.scales.a.push_back(scale());
          for (std::size_t at = 0; at < p.n * p.blocks(); ++at) p.scales.b.push_back(scale());
          p.chain.scale_products = products;
          p.chain.largest_scale = test::largest(p.scales.a) * test::largest(p.scales.b);
          CAPTURE(name, products, static_cast<int>(values), asked.promote, asked.split_k);
          Tally tally;
          judge(p, tally);
        }
    }
}

TEST_CASE("alpha and beta have bounds that hold", "[emu][bound]") {
  std::uint64_t seed = 4000;
  for (const char* const name : {"sm_90", "fma", "pairwise", "cdna3"})
    for (const Values values : test::all_values)
      for (const bool has_beta : {false, true})
        for (const std::size_t promote : {0U, 32U}) {
          if (promote > 0 && !has_beta) continue;  // alpha then does not multiply c
          const EngineMode& mode = emu::find_engine(name, {emu::fp16, emu::fp16});
          const Chain chain{.promote = promote, .has_c = true, .largest_scale = 0.37, .epilogue = has_beta ? 2U : 1U};
          BoundProblem p = test::bound_problem({&mode, emu::fp16, emu::fp16, values, 96}, chain, ++seed);
          p.alpha = static_cast<double>(0.37F);
          if (has_beta) p.beta = static_cast<double>(-1.9F);
          CAPTURE(name, static_cast<int>(values), has_beta, promote);
          Tally tally;
          judge(p, tally);
        }
}

TEST_CASE("an engine without a bound says so", "[emu][bound]") {
  const auto bound = [](const emu::Engine& engine) { return emu::engine_bound(engine, emu::fp16, emu::fp16, 64); };
  emu::Engine engine = emu::block_fma(8, 24);
  CHECK(bound(engine));

  SECTION("c does not enter") { engine.stages[0].addend = emu::Addend::none; }
  SECTION("c enters twice") {
    engine.stages[1] = engine.stages[0];
    engine.stages[1].terms = emu::Stage::all;
    engine.stage_count = 2;
  }
  SECTION("several sums are left") { engine.stages[0].terms = 4; }
  SECTION("c in a sum without an exponent") {
    engine.stages[0].summing = emu::Summing::exact;
    engine.stages[0].rounded = false;
  }
  CHECK(!bound(engine));
}

TEST_CASE("a bound that any output keeps says so, and what would be better", "[emu][bound]") {
  const auto words = [](const char* name, emu::Format in, emu::Format acc, std::size_t k) {
    return emu::worthless(*emu::engine_bound(emu::find_engine(name, {in, in, acc}).model, in, in, k));
  };
  CHECK(words("sm_90", emu::e4m3, emu::float32, 4096).empty());
  CHECK(words("sm_90", emu::e4m3, emu::float32, 8192)
            .starts_with("256 losses in a row of up to 0.00403 each make a bound of 1.03 times the sum of |a||b|: an output of "
                         "all zeros would pass"));
  CHECK(words("fp16_chain", emu::fp16, emu::fp16, 4096)
            .starts_with("4.1e+03 losses in a row of up to 0.000488 each add up to 2, and from 1 on there is no bound"));
  CHECK(words("fma", emu::fp16, emu::float32, 65536).empty());
}

// SPDX-License-Identifier: Apache-2.0
// Plain loops that leave products out or take them twice, wherever they are in K, and that add C at the end.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/names.hpp"
#include "verify/explain/explain.hpp"
#include "verify/explain/missing_products.hpp"
#include "verify/explain/planted_loops.hpp"

namespace {

using namespace ulpscope;
using verify::ExplainVerdict;
using verify::Indices;
using verify::PlantedProblem;

/// A claim, and numbers for it.
struct ClaimWords {
  std::string engine = "sm_90";
  emu::Format in = emu::bfloat16, out = emu::float32;
  std::size_t k = 203;
  bool with_c = false;
};

PlantedProblem problem_of(const ClaimWords& words, std::uint64_t seed = 1) {
  verify::Draws draws(seed, 0);
  PlantedProblem p{};
  p.m = 19, p.n = 14, p.k = words.k;
  p.in = words.in, p.out = words.out, p.engine = words.engine;
  const auto numbers = [&](std::size_t count, emu::Format format) {
    std::vector<float> values(count);
    for (float& x : values) x = verify::rounded(format, draws.unit() * 4 - 1.5);
    return values;
  };
  p.a = numbers(p.m * p.k, p.in), p.b = numbers(p.k * p.n, p.in);
  if (words.with_c) p.c = numbers(p.m * p.n, emu::float32), p.alpha = 0.75F;
  return p;
}

Indices without(std::size_t k, std::size_t begin, std::size_t end) {
  Indices ks = verify::ascending(k);
  ks.erase(ks.begin() + static_cast<std::ptrdiff_t>(begin), ks.begin() + static_cast<std::ptrdiff_t>(end));
  return ks;
}
Indices with_twice(std::size_t k, std::size_t begin, std::size_t end) {
  Indices ks = verify::ascending(k);
  for (std::size_t i = begin; i < end; ++i) ks.insert(ks.begin() + static_cast<std::ptrdiff_t>(end + i - begin), i);
  return ks;
}

verify::ExplainResult explained(const PlantedProblem& p, const products::Product& claimed, const std::vector<float>& d) {
  return verify::explain({claimed, tensors::from_values("D", {p.m, p.n}, d)});
}

bool names(const verify::ExplainResult& result, const std::string& word) {
  return result.verdict == ExplainVerdict::explained && std::ranges::any_of(result.findings, [&](const verify::Finding& f) {
           return f.explains && f.hypothesis.word() == word;
         });
}

/// Whether what explains D in the end is `word`, or gives the same.
void check_named(const PlantedProblem& p, const products::Product& claimed, const std::vector<float>& d,
                 const std::string& word) {
  const verify::ExplainResult result = explained(p, claimed, d);
  CAPTURE(word, verify::verdict_sentence(result));
  CHECK(names(result, word));
  CHECK(result.findings.front().matched == result.count);
}

}  // namespace

TEST_CASE("products left out or taken twice anywhere in K are named", "[verify]") {
  const ClaimWords words = GENERATE(ClaimWords{}, ClaimWords{.engine = "fma", .in = emu::float32, .with_c = true},
                                    ClaimWords{.engine = "sm_80", .in = emu::float16, .out = emu::bfloat16},
                                    ClaimWords{.engine = "fma", .in = emu::float32, .k = 41});
  const PlantedProblem p = problem_of(words);
  const std::size_t k = p.k, low = k / 5, high = k / 3 + 2;
  const auto range = [](std::size_t begin, std::size_t end) { return std::to_string(begin) + ":" + std::to_string(end); };
  CAPTURE(words.engine, k);

  check_named(p, p.config(), verify::whole(p, without(k, k - 5, k)), "dropped=last:5");
  check_named(p, p.config(), verify::whole(p, without(k, 0, 7)), "dropped=first:7");
  check_named(p, p.config(), verify::whole(p, without(k, low, high)), "dropped=" + range(low, high));
  check_named(p, p.config(), verify::whole(p, without(k, 11, 12)), "dropped=11:12");
  check_named(p, p.config(), verify::whole(p, with_twice(k, low, high)), "twice=" + range(low, high));
  check_named(p, p.config(), verify::whole(p, with_twice(k, k - 13, k)), "last-twice:13");
}

TEST_CASE("a part of split K that is not added is named", "[verify]") {
  const ClaimWords words =
      GENERATE(ClaimWords{.k = 208}, ClaimWords{.engine = "fma", .in = emu::float32, .k = 208, .with_c = true});
  const std::size_t lost = GENERATE(range(std::size_t{0}, std::size_t{4}));
  const bool claims_split = GENERATE(false, true);
  const PlantedProblem p = problem_of(words);
  CAPTURE(words.engine, lost, claims_split);
  products::Product claimed = p.config();
  if (claims_split) claimed.split_k = 4;
  std::vector<Indices> parts = verify::lengths_of(p.k, verify::chain_length(p, p.engine, 4));
  REQUIRE(parts.size() == 4);
  parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(lost));

  check_named(p, claimed, verify::in_parts(p, parts, 'a'), "split-k=4,lost=" + std::to_string(lost));
}

TEST_CASE("products left out by another engine are named with it", "[verify]") {
  const PlantedProblem p = problem_of({.engine = "sm_80"});

  check_named(p, p.config(), verify::whole(p, without(p.k, 50, 75), verify::of_engine("sm_90")),
              "engine=sm_90 + dropped=50:75");
}

TEST_CASE("products are left out of an exact product, too", "[verify]") {
  PlantedProblem p = problem_of({.engine = "exact", .in = emu::float16, .k = 77});
  const auto exactly = [&](std::size_t i, std::size_t j) {
    double sum = 0;  // of 11 bit numbers below 4, exact
    for (const std::size_t k : without(p.k, 20, 33))
      sum += static_cast<double>(p.a[i * p.k + k]) * static_cast<double>(p.b[k * p.n + j]);
    return verify::rounded(p.out, sum);
  };

  check_named(p, p.config(), verify::each(p, exactly), "dropped=20:33");
}

TEST_CASE("products that are left out here and there are not named as a range", "[verify]") {
  const PlantedProblem p = problem_of({.engine = "fma", .in = emu::float32, .k = 96});
  Indices ks;
  for (std::size_t k = 0; k < p.k; ++k)
    if (k % 7 != 3 && k % 11 != 5) ks.push_back(k);

  CHECK(explained(p, p.config(), verify::whole(p, ks)).verdict == ExplainVerdict::unexplained);
}

TEST_CASE("ranges of a long K are found at the steps that are looked at", "[verify]") {
  const PlantedProblem p = problem_of({.engine = "fma", .in = emu::float32, .k = 12'000});
  const verify::Claim claim = verify::claim_of(p.config());
  const verify::MatmulData data = verify::load_matmul(p.config());
  const std::size_t places = p.k / 2 + 1;
  for (const emu::KRange range : {emu::KRange{7'000, 7'122}, emu::KRange{0, 34}, emu::KRange{11'906, p.k}}) {
    const std::vector<float> d = verify::whole(p, without(p.k, range.begin, range.end));
    const verify::ReplayedOutputs outputs(data, claim.kernel, {d.begin(), d.end()}, 1);

    const verify::MissingProducts missing = verify::missing_products(claim, data, outputs);

    REQUIRE(!missing.found.empty());
    CHECK(missing.found.front().range == range);
    CHECK(missing.found.front().share > 0.99);
    CHECK(missing.tried == places * (places - 1));
  }
}

TEST_CASE("a cause is named before those that choose an order of sums for each tile", "[verify]") {
  PlantedProblem p = problem_of({.engine = "fma", .with_c = true});
  p.alpha = 1;
  const std::vector<float> d = verify::each(p, [&](std::size_t i, std::size_t j) {
    return verify::rounded(p.out, verify::claimed_sum(p, i, j, verify::ascending(p.k), 0) + verify::start_of(p, i, j));
  });

  const verify::ExplainResult result = explained(p, p.config(), d);

  REQUIRE(result.verdict == ExplainVerdict::explained);
  REQUIRE(result.findings.size() > 2);  // tiles whose C starts the first of several sums, too
  CHECK(result.findings.front().hypothesis.word() == "c=at-end");
}

TEST_CASE("a product that is added to what it left behind is named", "[verify]") {
  const ClaimWords words = GENERATE(ClaimWords{}, ClaimWords{.out = emu::bfloat16});
  const PlantedProblem p = problem_of(words);
  std::vector<float> d = verify::whole(p, verify::ascending(p.k));
  for (float& x : d) x += x;

  const verify::ExplainResult result = explained(p, p.config(), d);

  REQUIRE(result.verdict == ExplainVerdict::explained);
  CHECK(result.findings.front().hypothesis.word() == "D=doubled");
}

TEST_CASE("an element is said to be another one's where that is not by chance", "[verify]") {
  for (const emu::Format out : {emu::float32, emu::bfloat16}) {
    PlantedProblem p = problem_of({.out = out});
    std::vector<float> d = verify::whole(p, verify::ascending(p.k));
    d[40] = d[171];
    const bool is_named = names(explained(p, p.config(), d), "D=moved");
    CAPTURE(emu::format_name(out));
    CHECK(is_named == (out == emu::float32));  // numbers of bfloat16 have twins
  }
}

TEST_CASE("a beta that is forgotten is named, though another beta of C would do", "[verify]") {
  PlantedProblem p = problem_of({.engine = "fma", .with_c = true});
  p.alpha = 1;
  products::Product claimed = p.config();
  claimed.beta = 0.5;
  const std::vector<float> d = verify::each(p, [&](std::size_t i, std::size_t j) {
    return verify::rounded(p.out, verify::claimed_sum(p, i, j, verify::ascending(p.k), 0) + verify::start_of(p, i, j));
  });

  const verify::ExplainResult result = explained(p, claimed, d);

  REQUIRE(result.verdict == ExplainVerdict::explained);
  CHECK(result.findings.front().hypothesis.word() == "beta=none");
}

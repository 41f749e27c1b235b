// SPDX-License-Identifier: Apache-2.0
// Stochastic rounding with random numbers of the standard library, and what is none.
#include "verify/stochastic_odds.hpp"

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "tensors/tensor.hpp"
#include "verify/operations/elementwise.hpp"
#include "verify/verdict.hpp"

namespace {

using namespace ulpscope;

/// Whether a number whose 16 discarded bits are these is rounded away from zero.
using Decides = std::function<bool(std::uint32_t discarded, std::size_t index)>;

/// Of the number that has this word of float32 at each place.
verify::Verdict judged_words(std::size_t count, const std::function<std::uint32_t(std::size_t)>& word_at,
                             const Decides& decides, int random_bits = 32) {
  std::vector<float> x;
  std::vector<double> y;
  while (x.size() < count) {
    const std::uint32_t word = word_at(x.size());
    x.push_back(std::bit_cast<float>(word));
    const std::uint32_t away = decides(word & 0xffff, x.size() - 1) && (word & 0xffff) != 0 ? 0x10000 : 0;
    y.push_back(static_cast<double>(std::bit_cast<float>((word & 0xffff0000) + away)));
  }
  const verify::LastRounding last{.out = emu::bfloat16,
                                  .options = {.rounding = emu::Rounding::stochastic, .random_bits = random_bits}};
  const auto expectation = verify::expect_conversion({.x = {{count}, x, emu::float32}, .last = last});
  return verify::verify(*expectation, tensors::from_values("y", {count}, std::move(y)), {.last = last, .threads = 1});
}

/// Of both signs and exponents -2 to 1.
verify::Verdict judged_as_stochastic(std::size_t count, std::uint32_t seed, const Decides& decides, int random_bits = 32) {
  std::mt19937 inputs(seed);
  const auto word_at = [&](std::size_t) {
    const auto random = static_cast<std::uint32_t>(inputs());
    return (random & 0x807fffff) | (125 + (random >> 23) % 4) << 23;
  };
  return judged_words(count, word_at, decides, random_bits);
}

bool fails_for(const verify::Verdict& verdict, const std::string& word) {
  return verdict.outcome() == verify::Outcome::fail && verdict.wrong() == 0 &&
         verdict.sentence().find(word) != std::string::npos;
}

}  // namespace

TEST_CASE("stochastic rounding with random bits of its own passes", "[verify]") {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(1000 + seed);
    const auto own = [&](std::uint32_t discarded, std::size_t) { return (random() & 0xffff) < discarded; };
    CHECK(judged_as_stochastic(5000, seed, own).outcome() == verify::Outcome::pass);
  }
}

TEST_CASE("right roundings pass where few of many numbers, or one alone, have a say", "[verify]") {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto own = [&](std::uint32_t discarded, std::size_t) { return (random() & 0xffff) < discarded; };
    // Rounded away from zero once in a thousand; and ties, but one.
    const auto seldom = [](std::size_t) { return 0x3f800042U; };
    const auto ties = [](std::size_t i) { return i == 500 ? 0x3f801000U : 0x3f808000U; };
    CHECK(judged_words(10000, seldom, own).outcome() == verify::Outcome::pass);
    CHECK(judged_words(1001, ties, own).outcome() == verify::Outcome::pass);
  }
}

TEST_CASE("neighbours that are chosen with other odds are no stochastic rounding", "[verify]") {
  std::mt19937 random(7);
  const auto truncated = [](std::uint32_t, std::size_t) { return false; };
  const auto coin = [&](std::uint32_t, std::size_t) { return (random() & 1) != 0; };
  const auto nearest = [](std::uint32_t discarded, std::size_t) { return discarded > 0x8000; };
  const auto seldom = [&](std::uint32_t discarded, std::size_t) { return (random() & 0xffff) < discarded - discarded / 8; };
  std::uint32_t shared = 0;
  const auto in_pairs = [&](std::uint32_t discarded, std::size_t index) {
    if (index % 2 == 0) shared = random() & 0xffff;
    return shared < discarded;
  };

  CHECK(fails_for(judged_as_stochastic(5000, 1, truncated), "FAIL: each element is one of its two neighbours, but 0 of "));
  CHECK(fails_for(judged_as_stochastic(5000, 2, coin), "too seldom where it is likely"));
  CHECK(fails_for(judged_as_stochastic(5000, 3, nearest), "too often where it is likely"));
  CHECK(fails_for(judged_as_stochastic(20000, 4, seldom), "are expected"));
  CHECK(fails_for(judged_as_stochastic(5000, 5, in_pairs), "neighbours are rounded alike too often"));
}

TEST_CASE("a kernel of few random bits has the odds of so many", "[verify]") {
  std::mt19937 random(11);
  // Six bits are added to the discarded ones from the top on; what is below them has no say.
  const auto of_six = [&](std::uint32_t discarded, std::size_t) { return (discarded >> 10) + (random() & 0x3f) > 0x3f; };
  const auto of_all = [&](std::uint32_t discarded, std::size_t) { return (random() & 0xffff) < discarded; };
  constexpr std::size_t many = 400000;

  CHECK(judged_as_stochastic(many, 1, of_six, 6).outcome() == verify::Outcome::pass);
  CHECK(fails_for(judged_as_stochastic(many, 2, of_six), "are expected"));
  CHECK(fails_for(judged_as_stochastic(many, 3, of_six, 5), "no chance of it"));
  CHECK(fails_for(judged_as_stochastic(many, 4, of_all, 6), "though so many random bits leave them no chance of it"));
  CHECK(judged_as_stochastic(many, 5, of_all, 16).outcome() == verify::Outcome::pass);
}

TEST_CASE("of few numbers the odds are not judged, which is said", "[verify]") {
  const verify::Verdict verdict = judged_as_stochastic(20, 1, [](std::uint32_t, std::size_t) { return false; });

  CHECK(verdict.outcome() == verify::Outcome::pass);
  CHECK(verdict.sentence().find("too few numbers lie between neighbours") != std::string::npos);
}

// SPDX-License-Identifier: Apache-2.0
// Wrong results that are mixed in any way are counted in ranges of words, and few inputs are computed for it.
#include <algorithm>
#include <array>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <map>
#include <string>

#include "emu/catalogue.hpp"
#include "tests/verify/conform_groups.hpp"
#include "verify/conform/conform.hpp"
#include "verify/conform/conform_faults.hpp"
#include "verify/conform/conform_tally.hpp"
#include "verify/conform/word_counts.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::verify;

std::uint64_t mixed(std::uint64_t i) {
  i *= 0x9e3779b97f4a7c15;
  return (i ^ i >> 29) * 0xbf58476d1ce4e5b9 >> 20;
}

/// Makes a wrong result of a right one.
using Spoil = emu::Code (*)(std::uint64_t input, emu::Code right);

class Spoiled final : public Subject {
 public:
  Spoiled(const Computation& right, Spoil spoil) : right_(right), spoil_(spoil) {}
  bool in_order() const override { return false; }
  void results(std::uint64_t first, const Words& inputs, Words& results) override {
    compute(right_, inputs, results);
    for (std::size_t i = 0; i < inputs.size(); ++i) results.set(i, spoil_(first + i, results.code(i)));
  }

 private:
  const Computation& right_;
  Spoil spoil_;
};

}  // namespace

TEMPLATE_TEST_CASE("each word is counted in its range, and the first of a range is found", "[verify]", std::uint8_t,
                   std::uint16_t, std::uint32_t, std::uint64_t) {
  constexpr std::uint64_t greatest = std::numeric_limits<TestType>::max();
  const std::size_t size = GENERATE(as<std::size_t>{}, 1, 63, 64, 65, 1000,
                                    40'000);  // below, at and beyond what is compared at once, and counters of 8 bits
  const std::uint64_t least = GENERATE(as<std::uint64_t>{}, 0, 7), range = GENERATE(as<std::uint64_t>{}, 1, 3, 250);
  std::vector<TestType> words(size);
  for (std::size_t i = 0; i < size; ++i) words[i] = static_cast<TestType>(least + mixed(i) % range);
  words[size / 2] = static_cast<TestType>(greatest - size % 2);
  const std::vector<std::uint64_t> bounds{0, 1, 2, 8, 9, 128, greatest - 1, greatest};

  std::vector<std::uint64_t> counts;
  count_in_ranges(std::span<const TestType>(words), std::span<const std::uint64_t>(bounds), counts);

  REQUIRE(counts.size() == bounds.size());
  for (std::size_t r = 0; r < bounds.size(); ++r) {
    const std::uint64_t last = r + 1 == bounds.size() ? greatest : bounds[r + 1] - 1;
    const auto is_in = [&](TestType word) { return word >= bounds[r] && word <= last; };
    CHECK(counts[r] == static_cast<std::uint64_t>(std::count_if(words.begin(), words.end(), is_in)));
    CHECK(find_in_range(std::span<const TestType>(words), bounds[r], last) ==
          static_cast<std::size_t>(std::find_if(words.begin(), words.end(), is_in) - words.begin()));
  }
}

TEST_CASE("ranges beyond a word bound nothing", "[verify]") {
  const std::vector<std::uint8_t> words{0, 200, 255};
  std::vector<std::uint64_t> counts;

  count_in_ranges(std::span<const std::uint8_t>(words), std::vector<std::uint64_t>{0, 200, 256, 300}, counts);

  CHECK(counts == std::vector<std::uint64_t>{1, 2, 0, 0});
}

TEST_CASE("scattered results have together the groups that they have one by one", "[verify]") {
  const emu::Format to = GENERATE(emu::float8_e5m2, emu::float8_e4m3fn, emu::float8_e4m3fnuz, emu::float8_e8m0fnu,
                                  emu::float6_e3m2fn, emu::float4_e2m1fn, emu::binary8p3se, emu::binary8p3ue);
  const Rules rules = GENERATE(Rules{}, Rules{.nan_check = NanCheck::sign}, Rules{.nan_check = NanCheck::code});
  const std::uint64_t ulp = GENERATE(as<std::uint64_t>{}, 0, 3, 70, 200);
  const ConformConfig config{.right = {emu::float16, to, rules}, .ulp = ulp, .examples = 4};
  const std::vector<ConformHypothesis> tried = hypotheses(config.right);
  Words inputs(emu::float16, 1 << 16), expected(to, 1 << 16), results(to, 1 << 16);
  Inputs(emu::float16, to, 0).fill(0, inputs);
  compute(config.right, inputs, expected);
  for (std::size_t i = 0; i < results.size();
       ++i)  // any word, or one near the right one, or that of the other sign, or the right one
    results.set(
        i, std::array{mixed(i), expected.code(i) + i % 8 - 4, expected.code(i) ^ to.sign_mask(), expected.code(i)}[i / 8 % 4]);
  const Compared compared{0, inputs, expected, results};
  CAPTURE(to.exponent_bits, to.fraction_bits, static_cast<int>(to.specials), static_cast<int>(rules.nan_check), ulp);

  Tally together(4), one_by_one(4);
  tally_mismatches(config, tried, compared, true, together);
  tally_mismatches(config, tried, compared, false, one_by_one);

  check_same(together.groups(), one_by_one.groups());
}

TEST_CASE("what is computed does not depend on how many results are wrong, nor on which", "[verify]") {
  const Inputs inputs(emu::float32, emu::float16, 0);
  const Questions questions{inputs, emu::float16, 0x3f000000, 0x3f400000};  // 512 codes of float16, 8192 inputs each
  const ConformConfig config{.right = {emu::float32, emu::float16}};
  const Spoil spoil = GENERATE(Spoil([](std::uint64_t, emu::Code right) { return right ^ 1; }),
                               Spoil([](std::uint64_t i, emu::Code right) { return right ^ (mixed(i) % 10 < 3 ? 1U : 0U); }),
                               Spoil([](std::uint64_t i, emu::Code right) { return i % 2 == 0 ? right : right + 1; }),
                               Spoil([](std::uint64_t i, emu::Code) { return emu::Code{mixed(i) & 0xffff}; }),
                               Spoil([](std::uint64_t i, emu::Code right) { return i % 65536 < 9000 ? right + 1 : right; }));
  Spoiled subject(config.right, spoil);

  const Conformance wrong = conform(subject, questions, config);

  CHECK(wrong.mismatches > wrong.compared / 10);
  CHECK(wrong.computed < std::size_t{512} * 256);
}

TEST_CASE("results that no piece has in common have the groups that each has by itself", "[verify]") {
  using emu::float16;
  const auto operation = GENERATE(as<std::string>{}, "", "sqrt", "tanh", "rcp");
  const emu::Format to = operation.empty() ? GENERATE(emu::float16, emu::bfloat16, emu::float32) : emu::float16;
  const Rules rules = GENERATE(
      Rules{},
      Rules{.options = {.rounding = emu::Rounding::upward, .policy = emu::Policy::saturating, .flush_subnormals = true},
            .nan_check = NanCheck::code});
  const std::uint64_t ulp = GENERATE(as<std::uint64_t>{}, 0, 1);
  const Spoil spoil =
      GENERATE(Spoil([](std::uint64_t, emu::Code right) { return right + 1; }),
               Spoil([](std::uint64_t i, emu::Code right) { return right + mixed(i) % 7 - 3; }),
               Spoil([](std::uint64_t i, emu::Code right) { return i % 3 == 0 ? right ^ 0x8000 : right - i % 2; }),
               Spoil([](std::uint64_t i, emu::Code right) { return i % 4096 < 1024 ? right : emu::Code{0}; }),
               Spoil([](std::uint64_t i, emu::Code) {
                 return std::array<emu::Code, 4>{0x7c00, 0xfc00, 0x7fff, 0}[i % 4];
               }),
               Spoil([](std::uint64_t i, emu::Code) { return emu::Code{mixed(i) & 0xffff}; }));
  ConformConfig config{.right = {float16, to, rules}, .ulp = ulp, .examples = 2};
  if (!operation.empty()) config.right.operation = parse_unary_operation(operation);
  const std::vector<ConformHypothesis> tried = hypotheses(config.right);
  Words inputs(float16, 1 << 16), expected(to, 1 << 16), results(to, 1 << 16);
  Inputs(float16, to, 0).fill(0, inputs);
  compute(config.right, inputs, expected);
  for (std::size_t i = 0; i < results.size(); ++i) results.set(i, spoil(i, expected.code(i)));
  CAPTURE(operation, to.fraction_bits, ulp, static_cast<int>(rules.nan_check));

  Tally tally(2);
  tally_mismatches(config, tried, {7, inputs, expected, results}, false, tally);

  const Classification classes(config, tried);
  std::vector<Words> given(tried.size(), Words(to, 1 << 16));
  for (std::size_t h = 0; h < tried.size(); ++h) compute(tried[h].computation, inputs, given[h]);
  std::map<Group, Members> groups;
  std::vector<emu::Code> codes(tried.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Mismatch mismatch{7 + i, inputs.code(i), expected.code(i), results.code(i)};
    if (!is_judged(rules, float16, to, mismatch.input) || accepts(rules, to, mismatch.expected, mismatch.got, ulp)) continue;
    for (std::size_t h = 0; h < tried.size(); ++h) codes[h] = given[h].code(i);
    Members& members = groups[classes.group_of(mismatch, classes.explained_by(codes, mismatch.got))];
    if (++members.count <= 2) members.examples.push_back(mismatch);
  }
  check_same(tally.groups(), groups);
}

TEST_CASE("hypotheses are not computed of results that no rounding gives", "[verify]") {
  const bool is_function = GENERATE(false, true);
  const Inputs inputs(emu::float32, emu::float32, 0);
  const Questions questions{inputs, emu::float32, 0x3f000000, 0x3f100000};
  ConformConfig config{.right = {emu::float32, emu::float32}};
  if (is_function) config.right.operation = parse_unary_operation("sqrt");
  const Spoil spoil =
      GENERATE(Spoil([](std::uint64_t, emu::Code right) { return right ^ 0x80000000; }),
               Spoil([](std::uint64_t i, emu::Code) { return emu::Code{i % 3 == 0 ? 0x7f800000U : 0x7fc00000U}; }));
  Spoiled subject(config.right, spoil);

  const Conformance wrong = conform(subject, questions, config);

  CHECK(wrong.mismatches == 0x100000);
  CHECK(wrong.computed == 0);
}

// SPDX-License-Identifier: Apache-2.0
// Converters with known faults, and rules for special values.
#include "verify/conform/conform.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <set>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "tests/verify/conform_groups.hpp"
#include "verify/conform/conform_presets.hpp"
#include "verify/conform/conform_tally.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::verify;

/// Cuts the last bit off. Looks whether it is asked in order.
class Cutter final : public Subject {
 public:
  Cutter(bool ordered, std::uint64_t first) : next_(first), ordered_(ordered) {}
  bool in_order() const override { return ordered_; }
  void results(std::uint64_t first, const Words& inputs, Words& results) override {
    in_order_so_far_ = in_order_so_far_ && (!ordered_ || first == next_);
    if (ordered_) next_ = first + inputs.size();
    for (std::size_t i = 0; i < inputs.size(); ++i) results.set(i, inputs.code(i) & ~emu::Code{1});
  }
  bool in_order_so_far_ = true;

 private:
  std::uint64_t next_;
  bool ordered_;
};

/// Truncates float32 to bfloat16. Counts what it is asked.
class Truncation final : public Subject {
 public:
  bool in_order() const override { return false; }
  void results(std::uint64_t, const Words& inputs, Words& results) override {
    for (std::size_t i = 0; i < inputs.size(); ++i) results.set(i, inputs.code(i) >> 16);
    asked_ += inputs.size();
  }
  std::atomic<std::uint64_t> asked_ = 0;
};

/// Of float32 into itself: two of three subnormal numbers become zero, and one number in a million is another.
class PartialFlush final : public Subject {
 public:
  bool in_order() const override { return false; }
  void results(std::uint64_t, const Words& inputs, Words& results) override {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const emu::Code code = inputs.code(i);
      const bool flushed = code < emu::float32.min_normal_code() && code % 3 != 0;
      results.set(i, flushed ? 0 : code % 1'000'000 == 999'999 ? code - 1 : code);
    }
  }
};

/// Results of a faulty converter for all of `inputs`.
Words faulty(const Computation& right, const std::string& fault, const Words& inputs) {
  Words out(right.to, inputs.size());
  Computation other = right;
  if (fault == "truncates") other.rules.options.rounding = emu::Rounding::toward_zero;
  if (fault == "sends ties away") other.rules.options.rounding = emu::Rounding::nearest_away;
  if (fault == "flushes") other.rules.options.flush_subnormals = true;
  if (fault == "saturates") other.rules.options.policy = emu::Policy::saturating;
  if (fault == "cuts to bfloat16") other.through = Through{emu::bfloat16, emu::Rounding::toward_zero};
  compute(other, inputs, out);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const emu::Code scattered = inputs.code(i) * 2654435761U >> 7;
    if (fault == "gives anything") out.set(i, scattered);
    if (fault == "adds a bit") out.set(i, out.code(i) + (scattered & 1));
    if (fault == "gives one") out.set(i, 1);
  }
  return out;
}

/// The code of one float32 input under a preset.
emu::Code under(const std::string& preset, emu::Format to, std::uint32_t input) {
  Words inputs(emu::float32, 1), results(to, 1);
  inputs.set(0, input);
  compute({.from = emu::float32, .to = to, .rules = find_preset(preset, to).rules}, inputs, results);
  return results.code(0);
}

constexpr std::uint32_t quiet_nan = 0x7fc00001, negative_nan = 0xffc00001, infinity = 0x7f800000,
                        negative_infinity = 0xff800000, large = 0x7f000000, negative_large = 0xff000000, zero = 0,
                        negative_zero = 0x80000000;

}  // namespace

TEST_CASE("the distance of two codes is the number of steps between their numbers", "[verify]") {
  const emu::Format f = GENERATE(emu::float8_e4m3fn, emu::float8_e5m2, emu::float8_e4m3fnuz, emu::binary8p3se, emu::binary8p3ue,
                                 emu::float6_e2m3fn);
  std::set<double> values;
  for (emu::Code code = 0; code <= f.code_mask(); ++code)
    if (!f.is_nan(code)) values.insert(emu::decode(f, code));
  const std::vector<double> order(values.begin(), values.end());
  const auto rank = [&](emu::Code code) {
    return std::lower_bound(order.begin(), order.end(), emu::decode(f, code)) - order.begin();
  };

  for (emu::Code a = 0; a <= f.code_mask(); ++a)
    for (emu::Code b = 0; b <= f.code_mask(); ++b)
      if (!f.is_nan(a) && !f.is_nan(b))
        REQUIRE(ulp_distance(f, a, b) == static_cast<std::uint64_t>(std::abs(rank(a) - rank(b))));
}

TEST_CASE("a NaN and an infinity stand for no number, a zero for none of the other sign", "[verify]") {
  const Rules any, sign{.nan_check = NanCheck::sign}, code{.nan_check = NanCheck::code};
  constexpr emu::Format f = emu::float8_e5m2;  // 0x7b largest, 0x7c infinity, 0x7d to 0x7f NaN

  CHECK(accepts(any, f, 0x7f, 0xfd, 0));
  CHECK_FALSE(accepts(sign, f, 0x7f, 0xfd, 0));
  CHECK(accepts(sign, f, 0x7f, 0x7d, 0));
  CHECK_FALSE(accepts(code, f, 0x7f, 0x7d, 0));
  CHECK_FALSE(accepts(any, f, 0x7f, 0x7c, 1000));
  CHECK_FALSE(accepts(any, f, 0x7c, 0x7d, 1000));
  CHECK_FALSE(accepts(any, f, 0x7c, 0x7b, 1));
  CHECK_FALSE(accepts(any, f, 0x7b, 0x7c, 1));
  CHECK(accepts(any, f, 0x7b, 0x7a, 1));
  CHECK_FALSE(accepts(any, f, 0x00, 0x80, 5));
  CHECK(accepts(any, f, 0x01, 0x81, 2));
  CHECK_FALSE(accepts(any, f, 0x01, 0x101, 5));  // beyond the bits of the format
}

TEST_CASE("ties go where no rounding mode sends them, and all else to the nearest", "[verify]") {
  const emu::Format f =
      GENERATE(emu::float8_e5m2, emu::float8_e4m3fn, emu::float8_e4m3fnuz, emu::binary8p3se, emu::float4_e2m1fn);
  const Ties ties = GENERATE(Ties::toward_zero, Ties::to_odd);
  const bool has_more = f == emu::float4_e2m1fn;  // what exceeds the largest number becomes it
  const auto value = [&](emu::Code code) {
    if (code <= f.max_finite_code()) return emu::decode(f, code);
    return 2 * emu::decode(f, f.max_finite_code()) - emu::decode(f, f.max_finite_code() - 1);
  };
  Words inputs(emu::float16, 1), results(f, 1);
  CAPTURE(f.exponent_bits, f.fraction_bits, static_cast<int>(f.specials), static_cast<int>(ties));

  for (emu::Code low = 0; low <= f.max_finite_code(); ++low) {
    const double tie = (value(low) + value(low + 1)) / 2;
    const emu::Code input = emu::encode(emu::float16, tie);
    if (emu::decode(emu::float16, input) != tie) continue;
    const auto at = [&](emu::Code code) {
      inputs.set(0, code);
      compute({.from = emu::float16, .to = f, .ties = ties}, inputs, results);
      return results.code(0);
    };
    const auto high = [&] {
      if (low + 1 <= f.max_finite_code()) return low + 1;
      return has_more ? low : f.has_infinity() ? f.infinity_code() : f.nan_code();
    }();

    CAPTURE(tie);
    CHECK(at(input) == (ties == Ties::toward_zero || low % 2 == 1 ? low : high));
    CHECK(at(input - 1) == low);
    CHECK(at(input + 1) == high);
  }
}

TEST_CASE("presets treat special values as their sources say", "[verify]") {
  // cuda_fp8.h: "canonical NaN", then 0x7F; overflow 0x7E or, without saturation, 0x7F with the sign.
  CHECK(under("cuda", emu::float8_e4m3fn, negative_nan) == 0x7f);
  CHECK(under("cuda", emu::float8_e4m3fn, negative_infinity) == 0xfe);
  CHECK(under("cuda_nosat", emu::float8_e4m3fn, negative_large) == 0xff);
  CHECK(under("cuda_nosat", emu::float8_e4m3fn, negative_nan) == 0x7f);
  CHECK(under("cuda_nosat", emu::float8_e5m2, negative_large) == 0xfc);
  // "NaN input values result in positive MAXNORM"
  CHECK(under("cuda", emu::float4_e2m1fn, negative_nan) == 0x7);
  // "Input number's absolute value is rounded", up; "smaller than 2^-127 are clipped to 2^-127"
  CHECK(under("cuda", emu::float8_e8m0fnu, 0xc0400000) == 0x81);  // -3 becomes 4
  CHECK(under("cuda", emu::float8_e8m0fnu, zero) == 0x00);
  CHECK(under("cuda_nosat", emu::float8_e8m0fnu, infinity) == 0xff);
  // ml_dtypes 0.6.0, printed
  CHECK(under("ml_dtypes", emu::float8_e5m2, negative_nan) == 0xfe);
  CHECK(under("ml_dtypes", emu::bfloat16, quiet_nan) == 0x7fc0);
  CHECK(under("ml_dtypes", emu::float6_e3m2fn, quiet_nan) == 0x20);
  CHECK(under("ml_dtypes", emu::float6_e3m2fn, negative_nan) == 0x00);
  CHECK(under("ml_dtypes", emu::float8_e4m3fnuz, negative_zero) == 0x00);
  // The tables of ONNX's Cast
  CHECK(under("onnx", emu::float8_e4m3fnuz, negative_infinity) == 0xff);
  CHECK(under("onnx_19", emu::float8_e4m3fnuz, negative_infinity) == 0x80);
  CHECK(under("onnx_19", emu::float8_e4m3fnuz, negative_large) == 0xff);
  CHECK(under("onnx_nosat", emu::float8_e5m2fnuz, large) == 0x80);
  // PyTorch: "Finite overflow or inf: saturate to max finite value" is new
  CHECK(under("pytorch", emu::float8_e4m3fn, negative_infinity) == 0xfe);
  CHECK(under("pytorch_2_7", emu::float8_e4m3fn, negative_large) == 0xff);
  CHECK(under("pytorch", emu::float8_e5m2, infinity) == 0x7c);
}

TEST_CASE("the sample of float64 holds every tie of the target and its neighbours", "[verify][long]") {
  const Inputs inputs(emu::float64, emu::float8_e5m2, 0);
  REQUIRE(inputs.is_sample());
  Words words(emu::float64, static_cast<std::size_t>(inputs.size()));
  inputs.fill(0, words);
  std::set<std::uint64_t> held;
  for (std::size_t i = 0; i < words.size(); ++i) held.insert(words.code(i));

  for (emu::Code code = 0; code < emu::float8_e5m2.max_finite_code(); ++code) {
    const double tie = (emu::decode(emu::float8_e5m2, code) + emu::decode(emu::float8_e5m2, code + 1)) / 2;
    for (const double x : {tie, -tie, std::nextafter(tie, 0.0), std::nextafter(-tie, -1e9)})
      REQUIRE(held.contains(std::bit_cast<std::uint64_t>(x)));
  }
  CHECK(held.contains(std::bit_cast<std::uint64_t>(61440.0)));  // the tie between 57344 and what would come next
}

TEST_CASE("findings do not depend on threads, nor on whether a subject answers in order", "[verify]") {
  const Inputs inputs(emu::float32, emu::float32, 0);
  const Questions questions{inputs, emu::float32, 0x3f800000 - 1000, 0x3f800000 + 5'000'001};
  Cutter any(false, questions.first), ordered(true, questions.first);
  const ConformConfig one{.right = {emu::float32, emu::float32}, .threads = 1},
      many{.right = {emu::float32, emu::float32}, .threads = 3};

  const Conformance a = conform(any, questions, one), b = conform(any, questions, many), c = conform(ordered, questions, many);

  CHECK(ordered.in_order_so_far_);
  REQUIRE(a.compared == 5'001'001);
  CHECK(a.mismatches == 2'500'500);  // the odd codes
  for (const Conformance* other : {&b, &c}) {
    REQUIRE(other->findings.size() == a.findings.size());
    CHECK(other->mismatches == a.mismatches);
    for (std::size_t i = 0; i < a.findings.size(); ++i) {
      CHECK(other->findings[i].count == a.findings[i].count);
      CHECK(other->findings[i].explanation == a.findings[i].explanation);
      REQUIRE(other->findings[i].examples.size() == a.findings[i].examples.size());
      for (std::size_t k = 0; k < a.findings[i].examples.size(); ++k)
        CHECK(other->findings[i].examples[k].index == a.findings[i].examples[k].index);
    }
  }
  CHECK(a.findings.front().examples.front().input == 0x3f800000 - 999);
}

TEST_CASE("mismatches that are counted by their ends have the groups that they have one by one", "[verify]") {
  const emu::Format to =
      GENERATE(emu::float8_e5m2, emu::float8_e4m3fn, emu::float8_e4m3fnuz, emu::float8_e8m0fnu, emu::float6_e2m3fn,
               emu::float4_e2m1fn, emu::binary8p3se, emu::binary8p3ue, emu::bfloat16, emu::float16);
  const std::string fault = GENERATE(as<std::string>{}, "truncates", "sends ties away", "flushes", "saturates",
                                     "cuts to bfloat16", "gives anything", "adds a bit", "gives one");
  const Rules rules = GENERATE(Rules{}, Rules{.options = {.policy = emu::Policy::saturating}, .nan_check = NanCheck::code},
                               Rules{.options = {.rounding = emu::Rounding::upward, .subnormals_are_zero = true},
                                     .nan_check = NanCheck::sign,
                                     .nan_sign = Sign::of_input,
                                     .infinity = InfinityRule::is_nan});
  const std::uint64_t ulp = fault == "adds a bit" && !(to == emu::float4_e2m1fn) ? 1 : 0;
  const ConformConfig config{.right = {emu::float16, to, rules}, .ulp = ulp, .examples = 4};
  const std::vector<ConformHypothesis> tried = hypotheses(config.right);
  Words inputs(emu::float16, 1 << 16), expected(to, 1 << 16);
  Inputs(emu::float16, to, 0).fill(0, inputs);
  compute(config.right, inputs, expected);
  const Words results = faulty(config.right, fault, inputs);
  const Compared compared{0, inputs, expected, results};
  CAPTURE(fault, to.exponent_bits, to.fraction_bits, static_cast<int>(to.specials), static_cast<int>(rules.nan_check));

  Tally together(4), one_by_one(4);
  tally_mismatches(config, tried, compared, true, together);
  tally_mismatches(config, tried, compared, false, one_by_one);

  CHECK(one_by_one.computed <= one_by_one.mismatches());
  check_same(together.groups(), one_by_one.groups());

  std::vector<RegionCounts> by_pieces(tried.size());
  count_differences(config, tried, ~Mask{0}, {0, 1 << 16}, by_pieces);
  Words alternative(to, 1 << 16);
  for (std::size_t h = 0; h < tried.size(); ++h) {
    RegionCounts counts{};
    compute(tried[h].computation, inputs, alternative);
    count_differences(config, inputs, expected, alternative, counts);
    CAPTURE(tried[h].name);
    CHECK(by_pieces[h] == counts);
  }
}

TEST_CASE("a wrong converter takes few results of hypotheses", "[verify]") {
  const Inputs inputs(emu::float32, emu::bfloat16, 0);
  const Questions questions{inputs, emu::bfloat16, 0x3f000000, 0x40000000};
  Truncation subject;

  const Conformance wrong = conform(subject, questions, {.right = {emu::float32, emu::bfloat16}});

  CHECK(wrong.mismatches == 256 * 32767 + 128);  // above the middle, and middles over odd codes
  REQUIRE(wrong.findings.size() == 1);
  CHECK(wrong.findings.front().explanation == "toward_zero");
  CHECK(wrong.computed != 0);
  CHECK(wrong.computed < wrong.compared / 20);
}

TEST_CASE("inputs that an explanation leaves right are counted to the last", "[verify]") {
  const Inputs inputs(emu::float32, emu::float32, 0);
  constexpr std::uint64_t first = 0x00100000, least_normal = 0x00800000, end = 0x00b00000;  // of many tasks
  const Questions questions{inputs, emu::float32, first, end};
  const ConformConfig config{.right = {emu::float32, emu::float32}, .threads = GENERATE(1, 3)};
  PartialFlush subject;

  const Conformance wrong = conform(subject, questions, config);

  REQUIRE(wrong.findings.size() == 2);
  const std::uint64_t kept = (least_normal - 1) / 3 - (first - 1) / 3;
  CHECK(wrong.findings[0].explanation == "flush_subnormals");
  CHECK(wrong.findings[0].count == least_normal - first - kept);
  CHECK(wrong.findings[0].otherwise == kept);
  CHECK(wrong.findings[1].explanation.empty());
  std::uint64_t others = 0;
  for (std::uint64_t code = first; code < end; ++code)
    others += code % 1'000'000 == 999'999 && (code >= least_normal || code % 3 == 0) ? 1 : 0;
  CHECK(wrong.findings[1].count == others);
}

TEST_CASE("a hypothesis that differs too often may not be believed, whatever else it differs on", "[verify]") {
  std::vector<RegionCounts> explained(3), differing(3);
  explained[0][1] = 10;
  explained[1][1] = 10;
  explained[1][3] = 1;
  CHECK(believable(explained, differing) == 3);
  differing[0][1] = 19;
  differing[1][1] = 20;
  CHECK(believable(explained, differing) == 3);
  differing[0][1] = 20;
  CHECK(believable(explained, differing) == 2);
  differing[1][3] = 2;
  CHECK(believable(explained, differing) == 0);
}

TEST_CASE("the first mismatches are known before the other inputs are visited, the same for any number of threads",
          "[verify]") {
  const int threads = GENERATE(1, 3);
  const Inputs inputs(emu::float32, emu::bfloat16, 0);
  const Questions questions{inputs, emu::bfloat16, 0x3f000000, 0x40000000};
  Truncation subject;
  std::vector<std::uint64_t> found;
  std::uint64_t asked_before = 0;
  ConformConfig config{.right = {emu::float32, emu::bfloat16}, .threads = threads};
  config.mismatch = [&](const Mismatch& mismatch) {
    if (found.empty()) asked_before = subject.asked_;
    found.push_back(mismatch.index);
  };

  conform(subject, questions, config);

  // Truncated are codes above the middle: the tie over an even code is right.
  const std::vector<std::uint64_t> first{0x3f008001, 0x3f008002, 0x3f008003, 0x3f008004, 0x3f008005};
  CHECK(found == first);
  if (threads == 1) CHECK(asked_before < (questions.end - questions.first) / 100);
}

TEST_CASE("an operation's name is the same in capitals and with hyphens", "[verify]") {
  for (const std::string& word : unary_operation_words()) {
    std::string other;
    for (const char c : word) other += c == '_' ? '-' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    const auto found = parse_unary_operation(other);
    REQUIRE(found);
    CHECK(found->name == word);
  }
}

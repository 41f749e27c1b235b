// SPDX-License-Identifier: Apache-2.0
// Blocks of elements are judged as each element by itself is, on every SIMD path.
#include "verify/judging.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/names.hpp"
#include "emu/simd.hpp"
#include "tensors/tensor.hpp"
#include "verify/baseline.hpp"
#include "verify/verdict.hpp"

namespace {

using namespace ulpscope;
using verify::Expected;
using verify::Standing;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Elements whose exact results are known.
class Known final : public verify::Expectation {
 public:
  Known(emu::Format out, std::vector<Expected> elements, bool bitwise, bool admits_zero)
      : out_(out), elements_(std::move(elements)), bitwise_(bitwise), admits_zero_(admits_zero) {}
  std::vector<std::uint64_t> shape() const override { return {elements_.size()}; }
  emu::Format out() const override { return out_; }
  void expect(std::uint64_t first, std::span<Expected> elements) const override {
    for (Expected& element : elements) element = elements_[static_cast<std::size_t>(first++)];
  }
  verify::Precise precise(std::uint64_t index) const override {
    const double x = elements_[static_cast<std::size_t>(index)].value;
    return {x, 0, emu::round_to(out_, x).value};
  }
  std::string bound() const override { return {}; }
  std::string refusal() const override { return {}; }
  bool is_bitwise() const override { return bitwise_; }
  bool may_admit_zero() const override { return admits_zero_; }
  bool admits(std::uint64_t index, double output) const override { return admits_zero_ && index % 3 == 0 && output == 0; }

 private:
  emu::Format out_;
  std::vector<Expected> elements_;
  bool bitwise_, admits_zero_;
};

/// What stands in a test: right outputs of normal numbers alone; numbers of all sizes that the format has, some beyond and
/// below it, zeros, outputs that are wrong; and now and then what is not finite.
enum class Data : std::uint8_t { right, finite, all };

class Numbers {
 public:
  Numbers(emu::Format format, Data data) : format_(format), data_(data), all_finite_(data != Data::all) {}
  double value() {
    if (data_ == Data::right) {
      const double sign = random_() % 2 == 0 ? 1 : -1, fraction = 1 + unit_(random_);
      return sign * std::ldexp(fraction, static_cast<int>(unit_(random_) * (format_.max_exponent() - format_.min_exponent())) +
                                             format_.min_exponent());
    }
    const int kind = small_(random_);
    if (!all_finite_ && kind == 0) return std::array{infinity, -infinity, std::nan("")}[random_() % 3];
    if (kind < 3) return kind == 1 ? 0.0 : -0.0;
    const double exponents = format_.max_exponent() - format_.min_spacing_exponent() + 6;
    const int exponent = static_cast<int>(unit_(random_) * exponents) + format_.min_spacing_exponent() - 3;
    return std::ldexp(normal_(random_), exponent);
  }
  Expected expected() {
    const double x = value(), size = std::isfinite(x) ? std::fabs(x) : 1;
    if (data_ == Data::right) return {.value = x, .allowed = random_() % 2 == 0 ? size * 0x1p-3 : 0, .magnitude = size};
    const std::array radii{0.0, 0.0, size * 0x1p-50, size * 0x1p-9};
    const std::array allowances{0.0, size * 0x1p-12, size * 0x1p-3, size * 3, infinity};
    const auto overflow = random_() % 8 == 0 ? static_cast<verify::Overflow>(random_() % 8) : verify::Overflow::none;
    if (!std::isfinite(x)) return {.value = x, .magnitude = x, .may_overflow = overflow};
    return {.value = x,
            .radius = radii[random_() % 4],
            .allowed = allowances[random_() % 5],
            .magnitude = size,
            .may_overflow = overflow};
  }
  double output(const Expected& expected, const emu::RoundingOptions& options) {
    if (data_ == Data::right)
      return emu::round_to(format_, expected.value + expected.allowed * (2 * unit_(random_) - 1) * 0.9, options).value;
    const int kind = small_(random_);
    const double reach = std::isfinite(expected.allowed) ? expected.allowed : 1;
    const double off = kind < 12 ? 0 : kind < 17 ? reach * (2 * unit_(random_) - 1) : kind == 17 ? 3 * reach : value();
    const double y = emu::round_to(format_, expected.value + off, options).value;
    return kind == 11 ? -y : all_finite_ && !std::isfinite(y) ? 0 : y;
  }

 private:
  emu::Format format_;
  Data data_;
  bool all_finite_;
  std::mt19937_64 random_{7};
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> unit_;
  std::uniform_int_distribution<int> small_{0, 39};
};

/// The verdict's numbers, from judge() and the definitions in verdict.hpp.
struct Numbered {
  std::array<std::uint64_t, 4> standings{};
  std::uint64_t zeros = 0, not_finite = 0, admitted = 0, finite = 0;
  double unseen = infinity, max_ulp = 0, max_error = 0, of_bound = 0;
  long double signed_ulp = 0, abs_ulp = 0, squares = 0;
  verify::UlpHistogram histogram;
  std::vector<std::uint64_t> wrong;
  /// Of what is not equal, so that the worst come first: right or wrong, -of_bound, index.
  std::vector<std::tuple<bool, double, std::uint64_t>> worst;

  void add(const verify::Expectation& all, const verify::LastRounding& last, std::uint64_t i, const Expected& e, double y) {
    const Standing standing = judge(all, i, e, y, last);
    ++standings[static_cast<std::size_t>(standing)];
    const bool is_wrong = standing == Standing::beyond || standing == Standing::nonfinite;
    if (is_wrong) wrong.push_back(i);
    zeros += zero_passes(all, i, e, last) ? 1 : 0;
    not_finite += std::isfinite(e.value) ? 0 : 1;
    const bool is_measured = std::isfinite(e.value) && std::isfinite(y);
    if (!is_measured) {
      histogram.add(standing == Standing::equal ? 0 : infinity);
      if (standing == Standing::within) ++admitted;
      if (standing != Standing::equal) worst.emplace_back(!is_wrong, -infinity, i), max_ulp = infinity;
    }
    if (std::isfinite(e.value) && e.value != 0) unseen = std::min(unseen, (e.allowed + e.radius) / std::fabs(e.value));
    if (!is_measured) return;
    const double most = emu::round_to(last.out, 1e300, last.options).value;
    const double exact = std::isfinite(most) && std::fabs(e.value) > most ? std::copysign(most, e.value) : e.value;
    const double binade =
        std::max(std::ldexp(1.0, exact == 0 ? -2000 : std::ilogb(exact)), std::ldexp(1.0, last.out.min_exponent()));
    const double spacing = std::ldexp(binade, -last.out.fraction_bits), error = y - exact, ulps = error / spacing;
    ++finite;
    histogram.add(standing == Standing::equal ? 0 : ulps);
    signed_ulp += static_cast<long double>(ulps), abs_ulp += static_cast<long double>(std::fabs(ulps));
    max_ulp = std::max(max_ulp, std::fabs(ulps)), max_error = std::max(max_error, std::fabs(error));
    const double share = error == 0 ? 0 : std::fabs(error) / (e.allowed + spacing / 2);
    of_bound = std::max(of_bound, is_wrong ? share : std::min(share, 1.0));
    if (standing != Standing::equal) worst.emplace_back(!is_wrong, -(is_wrong ? share : std::min(share, 1.0)), i);
    squares += static_cast<long double>(error) * static_cast<long double>(error);
  }
};

void check_format(emu::Format out, const emu::RoundingOptions& options, Data data, bool bitwise, bool admits_zero) {
  INFO(emu::format_name(out) << " " << emu::name_of(options.rounding) << " " << emu::name_of(options.policy) << " "
                             << static_cast<int>(data));
  constexpr std::size_t count = 5000;  // no multiple of a block
  Numbers numbers(out, data);
  std::vector<Expected> expected;
  std::vector<double> outputs;
  for (std::size_t i = 0; i < count; ++i) {
    expected.push_back(numbers.expected());
    outputs.push_back(numbers.output(expected.back(), options));
  }
  const Known known(out, expected, bitwise, admits_zero);
  const verify::LastRounding last{out, options};
  Numbered wanted;
  for (std::size_t i = 0; i < count; ++i) wanted.add(known, last, i, expected[i], outputs[i]);
  std::sort(wanted.worst.begin(), wanted.worst.end());
  std::optional<std::array<double, 2>> sums;
  for (const emu::SimdPath path : emu::simd_paths()) {
    emu::use_simd_path(path);
    const verify::Judge judge(known, last);
    verify::JudgedPart part;
    judge.add(part, 0, expected, outputs);
    const verify::Verdict& counts = part.counts;
    CHECK(counts.count == count);
    if (data == Data::right) CHECK(part.wrong.empty());
    CHECK(std::array{counts.equal, counts.within, counts.beyond, counts.nonfinite} == wanted.standings);
    CHECK(counts.zeros_pass == wanted.zeros);
    CHECK(counts.nonfinite_expected == wanted.not_finite);
    CHECK(counts.nonfinite_admitted == wanted.admitted);
    CHECK(part.wrong == wanted.wrong);
    CHECK(part.finite == wanted.finite);
    CHECK(counts.unseen_share == wanted.unseen);
    CHECK(counts.max_ulp == wanted.max_ulp);
    CHECK(counts.max_abs_error == wanted.max_error);
    CHECK(counts.max_of_bound == wanted.of_bound);
    CHECK(counts.histogram.counts == wanted.histogram.counts);
    // In another order, of 5000 terms: the same bits on every path.
    const auto most_off = static_cast<double>(wanted.abs_ulp) * 0x1p-40;
    CHECK(std::fabs(part.signed_ulp - static_cast<double>(wanted.signed_ulp)) <= most_off);
    CHECK(std::fabs(part.abs_ulp - static_cast<double>(wanted.abs_ulp)) <= most_off);
    if (!sums) sums = {part.signed_ulp, part.abs_ulp};
    CHECK(*sums == std::array{part.signed_ulp, part.abs_ulp});
    CHECK(std::fabs(studies::root_mean(part.error, 1) / static_cast<double>(std::sqrt(wanted.squares)) - 1) < 1e-12);
    REQUIRE(counts.worst.size() == verify::Judge::most_worst);
    for (std::size_t k = 0; k < counts.worst.size(); ++k) {
      CHECK(counts.worst[k].index == std::get<2>(wanted.worst[k]));
      CHECK(counts.worst[k].of_bound == -std::get<1>(wanted.worst[k]));
    }
  }
  emu::use_simd_path(emu::simd_paths().front());
}

}  // namespace

TEST_CASE("blocks of elements stand where each of them stands by itself", "[verify]") {
  const emu::Policy saturating = emu::Policy::saturating;
  for (const Data data : {Data::right, Data::finite, Data::all})
    for (const emu::Format out :
         {emu::float32, emu::float16, emu::bfloat16, emu::float8_e4m3fn, emu::float8_e5m2, emu::float4_e2m1fn}) {
      check_format(out, {}, data, false, false);
      check_format(out, {.policy = saturating}, data, true, false);
      check_format(out, {.rounding = emu::Rounding::toward_zero, .flush_subnormals = true}, data, false, true);
    }
  check_format(emu::float32, {.rounding = emu::Rounding::stochastic}, Data::all, false, false);
  check_format(*emu::parse_format_or_integer("int8"), {}, Data::all, false, false);
}

namespace {

tensors::Tensor output_of(std::vector<double> values) {
  const std::uint64_t count = values.size();
  return tensors::from_values("d", {count}, std::move(values));
}

/// Exact results of 1 and 2, which may overflow, and 3, which may not.
Known some_may_overflow() {
  const auto element = [](double x, verify::Overflow overflow) {
    return Expected{.value = x, .allowed = 0x1p-10, .magnitude = 4, .may_overflow = overflow};
  };
  const verify::Overflow any = verify::Overflow::any;
  return {emu::float32, {element(1, any), element(2, any), element(3, verify::Overflow::none)}, false, false};
}

}  // namespace

TEST_CASE("what overflows where the bound admits it is counted, is the furthest off, and is said", "[verify]") {
  const Known known = some_may_overflow();

  const verify::Verdict verdict = verify::verify(known, output_of({1.0009765625, infinity, 3}), {.last = {emu::float32}});

  CHECK(verdict.outcome() == verify::Outcome::pass);
  CHECK(verdict.nonfinite_admitted == 1);
  CHECK(verdict.max_ulp == infinity);
  CHECK(verdict.histogram.counts.back() == 1);
  REQUIRE(verdict.worst.size() == 2);
  CHECK(verdict.worst[0].index == 1);
  CHECK(verdict.worst[0].error_ulp == infinity);
  CHECK(std::fabs(verdict.rms_error - 0x1p-10 / std::sqrt(2.0)) < 1e-18);  // of 1.0009765625 and 3, off by 2^-10 and 0
  CHECK(verdict.sentence().find("; 1 are infinite or NaN where the exact result is finite: admitted") != std::string::npos);
  CHECK(verify::verdict_table(verdict).columns.back() == "nonfinite_admitted");
  CHECK(std::get<std::int64_t>(verify::verdict_table(verdict).rows[0].back()) == 1);
}

TEST_CASE("an output of nothing but what a kernel may overflow to is held to no number", "[verify]") {
  const Expected element{.value = 1, .allowed = 0x1p-10, .magnitude = 4, .may_overflow = verify::Overflow::any};
  const Expected undefined{.value = std::nan(""), .magnitude = std::nan("")};
  const verify::VerdictOptions options{.last = {emu::float32}};
  const double nan = std::nan("");

  const Known known(emu::float32, {element, element, undefined}, false, false);
  const verify::Verdict verdict = verify::verify(known, output_of({nan, infinity, nan}), options);
  CHECK(verdict.outcome() == verify::Outcome::vacuous);
  CHECK(verdict.sentence().starts_with("VACUOUS: 2 elements are infinite or NaN where the exact result is finite"));
  CHECK(verify::verify(known, output_of({nan, 1, nan}), options).outcome() == verify::Outcome::pass);

  // Where one infinity alone is right, as of sums of one sign, the element is held to it.
  const Expected upward{.value = 1, .allowed = 0x1p-10, .magnitude = 4, .may_overflow = verify::Overflow::upward};
  const verify::Verdict held =
      verify::verify(Known(emu::float32, {upward, element}, false, false), output_of({infinity, nan}), options);
  CHECK(held.outcome() == verify::Outcome::pass);
  CHECK(held.nonfinite_admitted == 2);
  CHECK(verify::verify(Known(emu::float32, {upward}, false, false), output_of({-infinity}), options).outcome() ==
        verify::Outcome::fail);

  // What the last rounding makes infinite is right, and not admitted.
  const Known large(emu::float16, {{.value = 70000, .magnitude = 70000}}, false, false);
  const verify::Verdict rounded = verify::verify(large, output_of({infinity}), {.last = {emu::float16}});
  CHECK(rounded.outcome() == verify::Outcome::pass);
  CHECK(rounded.nonfinite_admitted == 0);
}

TEST_CASE("a kernel that overflows in more elements than its baseline is worse, whatever the others' errors are", "[verify]") {
  const Known known = some_may_overflow();
  const verify::VerdictOptions options{.last = {emu::float32}};
  const auto outcome = [&](std::vector<double> kernel, std::vector<double> baseline) {
    return verify::verify_against_baseline(known, output_of(std::move(kernel)), output_of(std::move(baseline)), options, 1.1);
  };
  const std::vector<double> finite{1, 2.00048828125, 3}, lost{1, infinity, 3}, all_lost{infinity, infinity, 3};

  CHECK(outcome(lost, finite).outcome() == verify::Outcome::fail);
  CHECK(outcome(lost, finite).sentence() ==
        "FAIL: 1 elements are infinite or NaN where the exact result is finite, of the baseline 0");
  CHECK(outcome(all_lost, lost).outcome() == verify::Outcome::fail);
  CHECK(outcome(lost, lost).outcome() == verify::Outcome::pass);
  const reports::Table table = baseline_table(outcome(lost, finite));
  CHECK(table.columns.back() == "nonfinite_admitted");
  CHECK(table.columns[table.columns.size() - 2] == "frobenius_of_baseline");
  CHECK(std::get<std::int64_t>(table.rows[0].back()) == 1);
}

TEST_CASE("errors in ulps are counted by the power of two that is no less", "[verify]") {
  verify::UlpHistogram histogram;
  const auto bucket = [&](double ulps) {
    histogram.counts = {};
    histogram.add(ulps);
    return static_cast<int>(std::find(histogram.counts.begin(), histogram.counts.end(), 1U) - histogram.counts.begin());
  };
  const int zero = verify::UlpHistogram::zero, most = verify::UlpHistogram::most;
  CHECK(bucket(0) == zero);
  CHECK(bucket(-0.0) == zero);
  for (int k = 1; k < most; ++k) {
    const double end = std::ldexp(1.0, k - 2);  // 0.5, 1, 2, ...
    CHECK(bucket(end) == zero + k);
    CHECK(bucket(-end) == zero - k);
    CHECK(bucket(std::nextafter(end, infinity)) == zero + k + 1);
  }
  CHECK(bucket(5e-324) == zero + 1);
  CHECK(bucket(infinity) == zero + most);
  CHECK(bucket(-infinity) == zero - most);
  CHECK(bucket(std::nan("")) == zero + most);
}

// SPDX-License-Identifier: Apache-2.0
// std::numeric_limits of Number against the values of the codes, and against the built-in types.
#include "emu/number_limits.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "emu/names.hpp"
#include "emu/number.hpp"
#include "tests/emu/encode_laws.hpp"
#include "tests/emu/number_types.hpp"
#include "tests/oracle/rounding_oracle.hpp"

namespace {
using namespace ulpscope::emu;

template <class N>
using Limits = std::numeric_limits<N>;

/// Everything but what depends on quiet bits of NaNs.
template <class N, class BuiltIn>
constexpr bool same_limits() {
  using A = Limits<N>;
  using B = Limits<BuiltIn>;
  return A::is_specialized && A::is_signed == B::is_signed && A::is_integer == B::is_integer && A::is_exact == B::is_exact &&
         A::is_bounded == B::is_bounded && A::is_modulo == B::is_modulo && A::is_iec559 == B::is_iec559 &&
         A::radix == B::radix && A::digits == B::digits && A::digits10 == B::digits10 && A::max_digits10 == B::max_digits10 &&
         A::min_exponent == B::min_exponent && A::max_exponent == B::max_exponent && A::min_exponent10 == B::min_exponent10 &&
         A::max_exponent10 == B::max_exponent10 && A::has_infinity == B::has_infinity && A::has_quiet_NaN == B::has_quiet_NaN &&
         A::has_signaling_NaN == B::has_signaling_NaN && A::has_denorm == B::has_denorm &&
         A::has_denorm_loss == B::has_denorm_loss && A::round_style == B::round_style && A::traps == B::traps &&
         A::tinyness_before == B::tinyness_before && A::min() == B::min() && A::max() == B::max() &&
         A::lowest() == B::lowest() && A::epsilon() == B::epsilon() && A::round_error() == B::round_error() &&
         A::denorm_min() == B::denorm_min() && A::infinity() == B::infinity() && isnan(A::quiet_NaN()) &&
         isnan(A::signaling_NaN());
}
static_assert(same_limits<Number<fp32>, float>() && same_limits<Number<fp64>, double>());
static_assert(same_limits<const Number<fp32>, const float>());

constexpr RoundingOptions directed(Rounding rounding) { return {.rounding = rounding}; }
static_assert(Limits<Number<e4m3, directed(Rounding::upward)>>::round_style == std::round_toward_infinity);
static_assert(Limits<Number<e4m3, directed(Rounding::downward)>>::round_style == std::round_toward_neg_infinity);
static_assert(Limits<Number<e4m3, directed(Rounding::toward_zero)>>::round_style == std::round_toward_zero);
static_assert(Limits<Number<e4m3, directed(Rounding::nearest_away)>>::round_style == std::round_to_nearest);
static_assert(Limits<Number<e4m3, directed(Rounding::to_odd)>>::round_style == std::round_indeterminate);
static_assert(Limits<Number<e4m3>>::round_error() == 0.5 &&
              Limits<Number<e4m3, directed(Rounding::upward)>>::round_error() == 1);

using Flushing = Number<fp16, RoundingOptions{.flush_subnormals = true}>;
static_assert(Limits<Flushing>::has_denorm == std::denorm_absent && Limits<Flushing>::denorm_min() == Limits<Flushing>::min());
static_assert(Limits<Number<fp16>>::is_iec559 && !Limits<Flushing>::is_iec559 && !Limits<Number<bf16>>::is_iec559);
static_assert(!Limits<Number<fp16, RoundingOptions{.policy = Policy::saturating}>>::is_iec559);
static_assert(Limits<Number<fp16, RoundingOptions{.tininess = Tininess::before_rounding}>>::tinyness_before);

/// The quiet bit is the first of the fraction (IEEE 754-2019, 6.2.1).
static_assert(Limits<Number<fp16>>::signaling_NaN().code() == 0b0'11111'0000000001);
static_assert(Limits<Number<fp16>>::quiet_NaN().code() == 0b0'11111'1111111111);
/// One fraction bit leaves quiet NaNs only, none leaves no NaN.
constexpr Format one_bit{.exponent_bits = 3, .fraction_bits = 1, .bias = 3, .specials = Specials::ieee};
constexpr Format no_bit{.exponent_bits = 3, .fraction_bits = 0, .bias = 3, .specials = Specials::ieee};
static_assert(Limits<Number<one_bit>>::has_quiet_NaN && !Limits<Number<one_bit>>::has_signaling_NaN);
static_assert(!Limits<Number<no_bit>>::has_quiet_NaN && Limits<Number<no_bit>>::has_infinity);
static_assert(Limits<Number<no_bit>>::quiet_NaN().code() == 0);

/// What the codes of a format say, with no formula about formats: the values are worked out by the oracle.
struct Facts {
  std::vector<double> finite;  ///< in order, each once
  std::map<int, int> binades;  ///< exponent -> how many positive numbers have it
  bool infinity = false, nan = false;
};
Facts facts_of(Format f) {
  const auto of = ulpscope::laws::oracle_format(f);
  Facts out;
  for (Code code = 0; code <= f.code_mask(); ++code) {
    if (ulpscope::oracle::is_nan(of, code)) {
      out.nan = true;
    } else if (ulpscope::oracle::is_infinite(of, code)) {
      out.infinity = true;
    } else {
      out.finite.push_back(ulpscope::oracle::value_of(of, code));
    }
  }
  std::sort(out.finite.begin(), out.finite.end());
  out.finite.erase(std::unique(out.finite.begin(), out.finite.end()), out.finite.end());
  for (const double v : out.finite)
    if (v > 0) ++out.binades[std::ilogb(v)];
  return out;
}

/// floor(log10 x), read off all decimal digits of x.
int exact_floor_log10(double x) {
  char text[1200];
  const auto [end, error] = std::to_chars(text, text + sizeof(text), x, std::chars_format::scientific, 1080);
  const std::string_view digits(text, static_cast<std::size_t>(end - text));
  return std::stoi(std::string(digits.substr(digits.find('e') + 1)));
}

}  // namespace

TEST_CASE("numeric_limits say what the codes say", "[emu][number]") {
  ulpscope::laws::for_each_number<19>([]<class N>() {
    const Facts facts = facts_of(N::format());
    const auto value = [](N x) { return static_cast<double>(x); };
    unsigned most = 0;
    for (const auto& [exponent, count] : facts.binades) most = std::max(most, static_cast<unsigned>(count));
    // Numbers in a binade that has all of them; the last one, which may be the only one, lacks those whose codes are special.
    const auto full = static_cast<int>(std::bit_ceil(most));
    const auto first_full =
        std::find_if(facts.binades.begin(), facts.binades.end(), [&](const auto& binade) { return 2 * binade.second > full; });
    const double least_positive = *std::upper_bound(facts.finite.begin(), facts.finite.end(), 0.0);
    const double least_normal = std::ldexp(1, first_full->first);
    const double after_one = *std::upper_bound(facts.finite.begin(), facts.finite.end(), 1.0);
    CAPTURE(format_name(N::format()));

    CHECK(1 << (Limits<N>::digits - 1) == full);
    CHECK(value(Limits<N>::max()) == facts.finite.back());
    CHECK(value(Limits<N>::lowest()) == facts.finite.front());
    CHECK(value(Limits<N>::min()) == least_normal);
    CHECK(value(Limits<N>::denorm_min()) == least_positive);
    CHECK((Limits<N>::has_denorm == std::denorm_present) == (least_positive < least_normal));
    CHECK(value(Limits<N>::epsilon()) == after_one - 1);
    CHECK(Limits<N>::is_signed == (facts.finite.front() < 0));
    CHECK(Limits<N>::min_exponent == first_full->first + 1);
    CHECK(Limits<N>::max_exponent == facts.binades.rbegin()->first + 1);
    CHECK(Limits<N>::max_exponent10 == exact_floor_log10(facts.finite.back()));
    CHECK(Limits<N>::min_exponent10 == static_cast<int>(std::ceil(std::log10(least_normal))));
    CHECK(Limits<N>::digits10 == static_cast<int>(std::floor(std::log10(full))));
    CHECK(Limits<N>::max_digits10 == static_cast<int>(std::ceil(1 + std::log10(2.0 * full))));
    CHECK((Limits<N>::has_infinity == facts.infinity && isinf(Limits<N>::infinity()) == facts.infinity));
    CHECK((Limits<N>::has_quiet_NaN == facts.nan && isnan(Limits<N>::quiet_NaN()) == facts.nan));
    CHECK(isnan(Limits<N>::signaling_NaN()) == Limits<N>::has_signaling_NaN);
    CHECK(N::format().is_signaling_nan(Limits<N>::signaling_NaN().code()) == Limits<N>::has_signaling_NaN);
  });
}

TEST_CASE("1 is subnormal where the bias is small, and epsilon the spacing there", "[emu][number]") {
  constexpr Format large{.exponent_bits = 3, .fraction_bits = 3, .bias = 0, .specials = Specials::finite};

  CHECK(Limits<Number<large>>::epsilon() == 0.25);
  CHECK(nextup(Number<large>(1)) == 1.25);
}

TEST_CASE("floor_log10 is exact for all powers of two and largest numbers", "[emu][number]") {
  for (int exponent = -1022; exponent <= 1024; ++exponent)
    for (int j = 0; j <= 53; ++j) {  // 2^e, or 2^e (1 - 2^-j)
      if ((exponent == 1024 && j == 0) || (j > 0 && exponent < -1021)) continue;
      const double x = std::ldexp(j == 0 ? 1 : 2 - std::ldexp(2, -j), j == 0 ? exponent : exponent - 1);
      if (!(x >= std::numeric_limits<double>::min())) continue;
      const int got = detail::floor_log10(x), expected = exact_floor_log10(x);
      if (got != expected) FAIL("2^" << exponent << " j = " << j << ": got " << got << ", expected " << expected);
    }
}

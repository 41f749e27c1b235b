// SPDX-License-Identifier: Apache-2.0
// Number: operators and functions are those of emu/arithmetic.hpp with the type's options, conversions round once, and code
// written for double compiles and means the same.
#include "emu/number.hpp"

#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <vector>

#include "emu/names.hpp"
#include "tests/emu/number_types.hpp"
#include "tests/oracle/rounding_oracle.hpp"

namespace {
using namespace ulpscope::emu;

template <Format F, Rounding rounding, Policy policy = Policy::nonsaturating>
using Directed = Number<F, RoundingOptions{.rounding = rounding, .policy = policy}>;
using E4M3 = Number<e4m3>;
using BF16 = Number<bf16>;
using FP16 = Number<fp16>;
using Up = Directed<e4m3, Rounding::upward>;
using Down = Directed<e4m3, Rounding::downward>;
using Saturating = Directed<e4m3, Rounding::nearest_even, Policy::saturating>;
using Flushing = Number<e4m3, RoundingOptions{.flush_subnormals = true, .subnormals_are_zero = true}>;

static_assert(std::regular<E4M3> && std::is_trivially_copyable_v<E4M3> && std::is_trivially_default_constructible_v<E4M3>);
static_assert(sizeof(E4M3) == 1 && sizeof(BF16) == 2 && sizeof(Number<tf32>) == 4 && sizeof(Number<fp64>) == 8);
static_assert(E4M3{}.code() == 0 && E4M3::from_code(0x1'7e) == 448);
static_assert(std::is_convertible_v<int, E4M3> && std::is_convertible_v<double, E4M3> && std::is_convertible_v<bool, E4M3>);
static_assert(!std::is_convertible_v<E4M3, double> && std::is_constructible_v<double, E4M3>);
static_assert(!std::is_convertible_v<BF16, E4M3> && std::is_constructible_v<E4M3, BF16>);
static_assert(!std::is_convertible_v<Up, E4M3> && std::is_constructible_v<E4M3, Up>);

template <class A, class B>
concept Addable = requires(A a, B b) { a + b; };
static_assert(Addable<E4M3, int> && Addable<double, E4M3> && !Addable<E4M3, BF16> && !Addable<E4M3, Up>);
template <class N>
concept HasFrexp = requires(N x, int e) { frexp(x, &e); };
static_assert(HasFrexp<E4M3> && HasFrexp<Number<e8m0>> && !HasFrexp<Number<e2m1>>);

static_assert(isnan(E4M3(448) * 2) && Saturating(448) * 2 == 448 && Down(448) * 2 != 448);
static_assert(E4M3(1) / 3 == 0.34375 && Up(1) / 3 == 0.34375 && Down(1) / 3 == 0.3125);
static_assert(2 * E4M3(3) == 6 && E4M3(3) - 4 == -1 && 1.5 / E4M3(3) == 0.5f);
static_assert(E4M3(0.1) == 0.1 && static_cast<double>(E4M3(0.1)) != 0.1, "the built-in operand is rounded first");
static_assert((E4M3(1) <=> E4M3(2)) < 0 && (E4M3(0) <=> -E4M3(0)) == 0);
static_assert(sqrt(E4M3(4)) == 2 && fma(E4M3(15), 15, -225) == 1, "-225 becomes -224, the product is exact");
static_assert(Flushing(0x1p-9) == 0 && Flushing::from_code(1) == 0 && !static_cast<bool>(Flushing::from_code(1)));
static_assert(isnan(-Number<e8m0>(1)) && Number<float8_e4m3fnuz>(-0.0).code() == 0 &&
              (-Number<float8_e4m3fnuz>(0)).code() == 0);
static_assert(isnan(-Number<float8_e4m3fnuz>::from_code(0x80)), "fnuz has one NaN");
static_assert((-Number<binary8p3ue>(0)).code() == 0 && isnan(-Number<binary8p3ue>(1)) &&
              isnan(-Number<binary8p3se>::from_code(0x80)));

template <class N>
std::string describe(const char* what, N a, N b) {
  std::ostringstream out;
  out << format_name(N::format()) << ' ' << name_of(N::options().rounding) << ' ' << what << std::hex << " a=" << +a.code()
      << " b=" << +b.code();
  return out.str();
}

/// The first function of two operands whose Number form differs from the one on codes.
template <class N>
std::optional<std::string> binary_disagreement(N a, N b) {
  constexpr Format f = N::format();
  constexpr RoundingOptions o = N::options();
  const Code x = a.code(), y = b.code();
  N sum = a, difference = a, product = a, quotient = a;
  sum += b, difference -= b, product *= b, quotient /= b;
  const Order order = compare_quiet(f, x, y, o).order;
  if ((a + b).code() != add(f, x, y, o).code || sum.code() != (a + b).code()) return describe("+", a, b);
  if ((a - b).code() != sub(f, x, y, o).code || difference.code() != (a - b).code()) return describe("-", a, b);
  if ((a * b).code() != mul(f, x, y, o).code || product.code() != (a * b).code()) return describe("*", a, b);
  if ((a / b).code() != div(f, x, y, o).code || quotient.code() != (a / b).code()) return describe("/", a, b);
  if (remainder(a, b).code() != ulpscope::emu::remainder(f, x, y, o).code) return describe("remainder", a, b);
  if (fmin(a, b).code() != minimum_number(f, x, y, o).code) return describe("fmin", a, b);
  if (fmax(a, b).code() != maximum_number(f, x, y, o).code) return describe("fmax", a, b);
  if (minimum(a, b).code() != ulpscope::emu::minimum(f, x, y, o).code) return describe("minimum", a, b);
  if (maximum(a, b).code() != ulpscope::emu::maximum(f, x, y, o).code) return describe("maximum", a, b);
  if (fma(a, b, a).code() != ulpscope::emu::fma(f, x, y, x, o).code) return describe("fma", a, b);
  const bool less = order == Order::less, equal = order == Order::equal, greater = order == Order::greater;
  if ((a == b) != equal || (a != b) == equal || (a < b) != less || (a > b) != greater || (a <= b) != (less || equal) ||
      (a >= b) != (greater || equal))
    return describe("relation", a, b);
  const std::partial_ordering three_way = a <=> b;
  if ((three_way < 0) != less || (three_way == 0) != equal || (three_way > 0) != greater) return describe("<=>", a, b);
  return std::nullopt;
}

}  // namespace

TEMPLATE_TEST_CASE("operators are the functions on codes with the type's options", "[emu][number]", E4M3, Up, Down, Saturating,
                   Flushing, (Directed<e4m3, Rounding::toward_zero>), (Directed<e4m3, Rounding::nearest_away>),
                   (Directed<e4m3, Rounding::to_odd>), Number<float8_e5m2fnuz>, Number<e8m0>, Number<e2m3>) {
  constexpr Code last = TestType::format().code_mask();

  for (Code a = 0; a <= last; ++a)
    for (Code b = 0; b <= last; ++b) {
      const auto wrong = binary_disagreement(TestType::from_code(a), TestType::from_code(b));
      if (wrong) FAIL(*wrong);
    }
}

TEMPLATE_TEST_CASE("operators of wider formats too, on random codes", "[emu][number]", BF16, FP16, Number<fp32>, Number<fp64>,
                   (Directed<bf16, Rounding::upward>), (Directed<fp64, Rounding::downward>)) {
  std::mt19937_64 random(1);

  for (int i = 0; i < 20'000; ++i) {
    const TestType y = TestType::from_code(random()), x = TestType::from_code(random());
    const auto wrong = binary_disagreement(x, y);
    if (wrong) FAIL(*wrong);
  }
}

TEST_CASE("float32 and float64 compute as the processor does", "[emu][number]") {
  std::mt19937_64 random(2);
  std::normal_distribution<float> normal;

  for (int i = 0; i < 20'000; ++i) {
    const float a = normal(random), b = normal(random);
    const double x = a / 3.0, y = b / 7.0;
    CAPTURE(a, b, x, y);
    const Number<fp32> na = a, nb = b;
    const Number<fp64> nx = x, ny = y;

    CHECK((static_cast<float>(na + nb) == a + b && static_cast<float>(na * nb - na / nb) == a * b - a / b));
    CHECK((static_cast<double>(nx + ny) == x + y && static_cast<double>(nx * ny - nx / ny) == x * y - x / y));
    CHECK((sqrt(abs(nx)) == std::sqrt(std::abs(x)) && fma(nx, ny, nx) == std::fma(x, y, x)));
  }
}

TEST_CASE("numbers are ordered as their values", "[emu][number]") {
  ulpscope::laws::for_each_number<8>([]<class N>() {
    for (Code a = 0; a <= N::format().code_mask(); ++a)
      for (Code b = 0; b <= N::format().code_mask(); ++b) {
        const N x = N::from_code(a), y = N::from_code(b);
        const auto u = static_cast<double>(x), v = static_cast<double>(y);
        if ((x <=> y) != (u <=> v) || (x == y) != (u == v) || (x < y) != (u < v)) FAIL(describe("order", x, y));
      }
  });
}

TEST_CASE("integers and long doubles are rounded once", "[emu][number]") {
  // Just above the midpoint of 1 and 1 + 2^-7: float, and for the last ones double, would round the rest away first.
  const auto above_tie = [](int power) { return (std::int64_t{1} << power) + (std::int64_t{1} << (power - 8)) + 1; };
  const double next = 1 + 0x1p-7;

  CHECK(BF16(above_tie(40)) == std::ldexp(next, 40));
  CHECK(BF16(static_cast<float>(above_tie(40))) == std::ldexp(1, 40));
  CHECK(BF16(above_tie(62)) == std::ldexp(next, 62));
  CHECK(BF16(-above_tie(62)) == -std::ldexp(next, 62));
  CHECK(BF16(static_cast<double>(above_tie(62))) == std::ldexp(1, 62));
  CHECK(BF16(std::uint64_t{1} << 63 | std::uint64_t{1} << 55 | 1) == std::ldexp(next, 63));
  CHECK(BF16(1 + 0x1p-8 + 0x1p-50) == next);
  CHECK(BF16(Number<fp64>(1 + 0x1p-8 + 0x1p-50)) == next);
  CHECK(BF16(1 + 0x1p-8L + 0x1p-60L) == next);
  CHECK(BF16(-1 - 0x1p-8L - 0x1p-60L) == -next);
  CHECK(BF16(1 + 0x1p-8L) == 1);
  CHECK(Number<fp64>(1 + 0x1p-53L + 0x1p-63L) == 1 + 0x1p-52);
  CHECK(Directed<fp64, Rounding::upward>(0x1p-16000L).code() == 1);
  CHECK(Directed<fp64, Rounding::downward>(0x1p16000L) == std::numeric_limits<double>::max());
  CHECK(isinf(Number<fp64>(-std::numeric_limits<long double>::infinity())));
  CHECK(isnan(Number<fp64>(std::numeric_limits<long double>::quiet_NaN())));
  CHECK(Directed<bf16, Rounding::upward>(true) == 1);
  CHECK(FP16(std::int8_t{-128}) == -128);
  CHECK(FP16('a') == 97);
}

TEST_CASE("a number of another format is rounded once, by the options of the new one", "[emu][number]") {
  using namespace ulpscope;
  for (Code code = 0; code <= fp16.code_mask(); ++code) {
    const FP16 x = FP16::from_code(code);
    const double value = oracle::value_of({5, 10, 15, oracle::ieee}, code);
    CAPTURE(code);

    CHECK(E4M3(x).code() == oracle::round({4, 3, 7, oracle::fn}, value, oracle::nearest_even).code);
    CHECK(Up(x).code() == oracle::round({4, 3, 7, oracle::fn}, value, oracle::upward).code);
    CHECK((FP16(Number<fp64>(x)) == x || isnan(x)));
  }
}

TEST_CASE("to integers a number is truncated, kept within them, and NaN is 0", "[emu][number]") {
  const auto truncated = []<class Integer>(double x, Integer) -> Integer {
    if (std::isnan(x)) return 0;
    const double whole = std::trunc(x);
    if (whole <= static_cast<double>(std::numeric_limits<Integer>::min())) return std::numeric_limits<Integer>::min();
    if (whole >= static_cast<double>(std::numeric_limits<Integer>::max())) return std::numeric_limits<Integer>::max();
    return static_cast<Integer>(whole);
  };
  for (Code code = 0; code <= fp16.code_mask(); ++code) {
    const FP16 x = FP16::from_code(code);
    const auto value = static_cast<double>(x);
    CAPTURE(code);

    CHECK(static_cast<std::int8_t>(x) == truncated(value, std::int8_t{}));
    CHECK(static_cast<std::uint16_t>(x) == truncated(value, std::uint16_t{}));
    CHECK(static_cast<std::int64_t>(x) == truncated(value, std::int64_t{}));
    CHECK(static_cast<bool>(x) == static_cast<bool>(value));
  }
}

TEST_CASE("to float a number of a wider format is rounded once, to nearest", "[emu][number]") {
  CHECK(static_cast<float>(Number<fp64>(1 + 0x1p-24 + 0x1p-50)) == 1 + 0x1p-23f);
  CHECK(static_cast<float>(Directed<fp64, Rounding::upward>(1 + 0x1p-24)) == 1.0f);
  CHECK(std::isinf(static_cast<float>(Number<fp64>(1e39))));
  CHECK(static_cast<float>(Number<bf16>(0x1p-133)) == 0x1p-133f);
  CHECK(static_cast<long double>(Number<fp64>(0.1)) == static_cast<long double>(0.1));
}

TEST_CASE("functions of one number are those of <cmath>, rounded once", "[emu][number]") {
  ulpscope::laws::for_each_number<8>([]<class N>() {
    constexpr Format f = N::format();
    for (Code code = 0; code <= f.code_mask(); ++code) {
      const N x = N::from_code(code);
      const auto v = static_cast<double>(x);
      const auto same = [](N got, double expected) { return got.code() == N(expected).code(); };
      CAPTURE(format_name(f), code);

      CHECK((same(floor(x), std::floor(v)) && same(ceil(x), std::ceil(v)) && same(trunc(x), std::trunc(v))));
      CHECK((same(round(x), std::round(v)) && same(rint(x), std::rint(v)) && same(nearbyint(x), std::rint(v))));
      CHECK(same(roundeven(x), std::rint(v)));
      CHECK(same(sqrt(x), std::sqrt(v)));  // a double has more than 2 p + 1 bits: no harm in rounding twice
      CHECK((ilogb(x) == std::ilogb(v) && same(logb(x), std::logb(v))));
      CHECK((same(scalbn(x, 3), std::scalbn(v, 3)) && same(ldexp(x, -5), std::ldexp(v, -5)) && same(scalbln(x, 1), v * 2)));
      CHECK((isnan(x) == std::isnan(v) && isinf(x) == std::isinf(v) && isfinite(x) == std::isfinite(v)));
      CHECK((isnan(x) || (signbit(x) == std::signbit(v) && same(abs(x), std::abs(v)) && same(fabs(x), std::abs(v)))));
      CHECK((isnan(x) || same(-x, -v) || !f.is_signed()));
      CHECK((isnan(x) || !f.is_signed() ||
             (same(copysign(x, -1), std::copysign(v, -1)) && same(copysign(1, x), std::copysign(1, v)))));
      CHECK((fpclassify(x) == FP_NORMAL) == isnormal(x));
      CHECK((fpclassify(x) == FP_NAN) == isnan(x));
      CHECK((fpclassify(x) == FP_INFINITE) == isinf(x));
      CHECK((fpclassify(x) == FP_ZERO) == (v == 0));
      CHECK(isnormal(x) == (std::isfinite(v) && std::abs(v) >= min_normal(f)));
      if constexpr (f.has_zero()) {
        double whole = 0;
        N got_whole{};
        const double rest = std::modf(v, &whole);
        CHECK((same(modf(x, &got_whole), rest) && same(got_whole, whole)));
      }
      if constexpr (HasFrexp<N>) {
        int exponent = 0, expected = 0;
        const double fraction = std::frexp(v, &expected);
        CHECK((same(frexp(x, &exponent), fraction) && (!std::isfinite(v) || exponent == expected)));
      }
    }
  });
}

TEST_CASE("neighbours are the nearest values above and below", "[emu][number]") {
  ulpscope::laws::for_each_number<8>([]<class N>() {
    std::vector<double> values;
    for (Code code = 0; code <= N::format().code_mask(); ++code) values.push_back(static_cast<double>(N::from_code(code)));
    std::erase_if(values, [](double v) { return std::isnan(v); });
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());

    for (std::size_t i = 0; i < values.size(); ++i) {
      const N x = values[i], up = values[std::min(i + 1, values.size() - 1)], down = values[i == 0 ? 0 : i - 1];
      CAPTURE(format_name(N::format()), values[i]);
      CHECK((nextup(x) == up && nextdown(x) == down));
      CHECK((nextafter(x, up) == up && nextafter(x, down) == down && nextafter(x, x) == x));
      CHECK((nextafter(x, values.back()) == up && nextafter(x, values.front()) == down));
    }
  });
  CHECK(isnan(nextafter(E4M3(1), std::numeric_limits<E4M3>::quiet_NaN())));
  CHECK(signbit(nextafter(E4M3(0), -0.0)));
}

TEST_CASE("equal numbers have equal hashes", "[emu][number]") {
  std::unordered_set<E4M3> seen{0, -0.0, 1, 1.01, 2};

  CHECK(seen.size() == 3);
  CHECK(std::hash<Flushing>{}(Flushing::from_code(3)) == std::hash<Flushing>{}(Flushing(0)));
}

namespace {

/// Heron's iteration, written for any floating-point type.
template <class T>
T generic_sqrt(T a) {
  using std::abs;
  T x = a;
  for (int i = 0; i < 20; ++i) x = (x + a / x) / 2;
  return abs(x);
}

}  // namespace

TEMPLATE_TEST_CASE("code written for double takes a Number", "[emu][number]", BF16, FP16, Number<fp32>, Number<fp64>,
                   Number<tf32>) {
  std::vector<TestType> values;
  for (int i = 1; i <= 50; ++i) values.push_back(TestType(i % 7 * 3 - 5) / i);
  TestType sum = 0;
  for (const TestType x : values) sum += x;

  CHECK(std::accumulate(values.begin(), values.end(), TestType(0)) == sum);
  CHECK(std::inner_product(values.begin(), values.end(), values.begin(), TestType(0)) > 0);
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  CHECK((*least == std::min(values[0], *least) && *greatest == std::max(values[0], *greatest)));
  std::sort(values.begin(), values.end());
  CHECK((std::is_sorted(values.begin(), values.end()) && values.front() == *std::min_element(values.begin(), values.end())));
  CHECK(std::clamp(TestType(3), TestType(0), TestType(1)) == 1);
  CHECK(std::abs(static_cast<double>(generic_sqrt(TestType(2))) - std::sqrt(2.0)) <=
        2 * static_cast<double>(std::numeric_limits<TestType>::epsilon()));
}

template <class T>
T generic_swish(T x) {
  using std::exp;
  return x / (1 + exp(-x));
}

TEST_CASE("elementary functions of a Number are those of its code, in the type's context", "[emu][number]") {
  using Upward = Number<e4m3, RoundingOptions{.rounding = Rounding::upward, .policy = Policy::saturating}>;
  static_assert(exp(Number<bf16>(1)) == 2.71875 && log2(Number<bf16>(8)) == 3 && isnan(log(Number<bf16>(-1))));
  static_assert(sin(Number<fp16>(1)) == 0.84130859375 && exp(Upward(10)) == 448);
  for (Code code = 0; code <= e4m3.code_mask(); ++code) {
    const Upward x = Upward::from_code(code);
    CAPTURE(code);
    const auto matches = [&](Upward got, auto function) {
      return got.code() == function(e4m3, code, Upward::options(), 0).code;
    };
    using Function = Result (*)(Format, Code, const RoundingOptions&, std::uint32_t);
    CHECK(matches(exp(x), Function{exp}));
    CHECK(matches(exp2(x), Function{exp2}));
    CHECK(matches(exp10(x), Function{exp10}));
    CHECK(matches(expm1(x), Function{expm1}));
    CHECK(matches(log(x), Function{log}));
    CHECK(matches(log2(x), Function{log2}));
    CHECK(matches(log10(x), Function{log10}));
    CHECK(matches(log1p(x), Function{log1p}));
    CHECK(matches(sin(x), Function{sin}));
    CHECK(matches(cos(x), Function{cos}));
    CHECK(matches(tan(x), Function{tan}));
    CHECK(matches(sinpi(x), Function{sinpi}));
    CHECK(matches(cospi(x), Function{cospi}));
    CHECK(matches(tanpi(x), Function{tanpi}));
    CHECK(matches(sinh(x), Function{sinh}));
    CHECK(matches(cosh(x), Function{cosh}));
    CHECK(matches(tanh(x), Function{tanh}));
    CHECK(matches(asin(x), Function{asin}));
    CHECK(matches(acos(x), Function{acos}));
    CHECK(matches(atan(x), Function{atan}));
    CHECK(matches(asinh(x), Function{asinh}));
    CHECK(matches(acosh(x), Function{acosh}));
    CHECK(matches(atanh(x), Function{atanh}));
    CHECK(matches(erf(x), Function{erf}));
    CHECK(matches(erfc(x), Function{erfc}));
    CHECK(matches(cbrt(x), Function{cbrt}));
    CHECK(matches(rsqrt(x), Function{rsqrt}));
    CHECK(matches(sigmoid(x), Function{sigmoid}));
    CHECK(matches(softplus(x), Function{softplus}));
    CHECK(matches(gelu(x), Function{gelu}));
    CHECK(matches(gelu_tanh(x), Function{gelu_tanh}));
    CHECK(matches(silu(x), Function{silu}));
  }
  CHECK(std::abs(static_cast<double>(generic_swish(Number<fp16>(2))) - generic_swish(2.0)) < 0x1p-9);
}

TEST_CASE("a NaN is unordered with everything", "[emu][number]") {
  const E4M3 nan = std::numeric_limits<E4M3>::quiet_NaN();

  for (Code code = 0; code <= e4m3.code_mask(); ++code) {
    const E4M3 x = E4M3::from_code(code);
    CHECK((!(nan == x) && nan != x && !(nan < x) && !(nan > x) && !(nan <= x) && !(nan >= x)));
    CHECK((nan <=> x) == std::partial_ordering::unordered);
    CHECK(((x <=> nan) == std::partial_ordering::unordered && isnan(nan + x) && isnan(minimum(x, nan))));
    CHECK((isnan(x) || fmin(x, nan) == x));
  }
}

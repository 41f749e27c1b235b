// SPDX-License-Identifier: Apache-2.0
// Converters and functions with planted faults, for conform_test.py. They share no code with what judges them: values are
// doubles, rounded by scaling and rint.
#include <signal.h>
#include <unistd.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace {

struct Shape {
  int exponent_bits, fraction_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};
constexpr Shape half{5, 10}, brain{8, 7}, single{8, 23}, e5m2{5, 2}, e4m3{4, 3};

double decode(Shape s, std::uint32_t code) {
  const std::uint32_t field = code >> s.fraction_bits & ((1U << s.exponent_bits) - 1),
                      fraction = code & ((1U << s.fraction_bits) - 1);
  const bool negative = (code >> (s.exponent_bits + s.fraction_bits) & 1) != 0;
  double x = 0;
  if (field == (1U << s.exponent_bits) - 1) {
    x = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (field == 0) {
    x = std::ldexp(fraction, 1 - s.bias() - s.fraction_bits);
  } else {
    x = std::ldexp((1U << s.fraction_bits) + fraction, static_cast<int>(field) - s.bias() - s.fraction_bits);
  }
  return std::copysign(x, negative ? -1.0 : 1.0);
}

enum class Mode { even, away, zero, ties_to_zero, ties_to_odd };

double whole_number(double x, Mode mode) {
  const double below = std::trunc(x);
  const bool is_tie = std::fabs(x - below) == 0.5, is_odd = std::fmod(below, 2) != 0;
  switch (mode) {
    case Mode::even: return std::nearbyint(x);
    case Mode::away: return std::round(x);
    case Mode::zero: return below;
    case Mode::ties_to_zero: return is_tie ? below : std::round(x);
    default: return is_tie && is_odd ? below : std::round(x);
  }
}

/// |x| on the grid of a format of unbounded range above, in units of its spacing at x.
double rounded(Shape s, double x, Mode mode) {
  if (x == 0 || !std::isfinite(x)) return x;
  int exponent = 0;
  std::frexp(x, &exponent);
  const int least = 1 - s.bias();
  const int spacing = (exponent - 1 < least ? least : exponent - 1) - s.fraction_bits;
  return std::ldexp(whole_number(std::ldexp(x, -spacing), mode), spacing);
}

/// Codes of an IEEE-like format; of e4m3 as OCP has it, 448 and one NaN a sign.
struct Encoder {
  Shape shape;
  Mode mode = Mode::even;
  bool saturate = false, flush = false, keep_nan_sign = true, keep_zero_sign = true;

  std::uint32_t sign_bit() const { return 1U << (shape.exponent_bits + shape.fraction_bits); }
  std::uint32_t all_ones() const { return sign_bit() - 1; }
  bool is_ocp() const { return shape.exponent_bits == 4; }
  std::uint32_t infinity() const { return is_ocp() ? all_ones() : all_ones() & ~((1U << shape.fraction_bits) - 1); }
  std::uint32_t largest() const { return infinity() - 1; }
  double largest_value() const { return is_ocp() ? 448.0 : decode(shape, largest()); }

  std::uint32_t operator()(double x) const {
    const std::uint32_t sign = std::signbit(x) ? sign_bit() : 0;
    if (std::isnan(x)) return all_ones() | (keep_nan_sign ? sign : 0);
    const double y = std::fabs(rounded(shape, x, mode));
    if (y > largest_value()) return sign | (saturate ? largest() : infinity());
    const double least = std::ldexp(1.0, 1 - shape.bias());
    if (y == 0 || (flush && y < least)) return keep_zero_sign ? sign : 0;
    if (y < least) return sign | static_cast<std::uint32_t>(std::ldexp(y, shape.bias() - 1 + shape.fraction_bits));
    int exponent = 0;
    const double fraction = 2 * std::frexp(y, &exponent) - 1;
    return sign | static_cast<std::uint32_t>(exponent - 1 + shape.bias()) << shape.fraction_bits |
           static_cast<std::uint32_t>(std::ldexp(fraction, shape.fraction_bits));
  }
};

template <class In, class Out, class Convert>
void each(const void* in, void* out, std::size_t count, Convert convert) {
  for (std::size_t i = 0; i < count; ++i) static_cast<Out*>(out)[i] = static_cast<Out>(convert(static_cast<const In*>(in)[i]));
}

}  // namespace

#define SUBJECT(name, In, Out, ...)                                                   \
  extern "C" void name(const void* in, void* out, std::size_t count) {                \
    each<In, Out>(in, out, count, [](In x) -> std::uint32_t { return __VA_ARGS__; }); \
  }
#define HALF_SUBJECT(name, ...) SUBJECT(name, std::uint16_t, std::uint8_t, Encoder __VA_ARGS__(decode(half, x)))

HALF_SUBJECT(right, {e5m2})
HALF_SUBJECT(truncates, {.shape = e5m2, .mode = Mode::zero})
HALF_SUBJECT(ties_away, {.shape = e5m2, .mode = Mode::away})
HALF_SUBJECT(ties_to_zero, {.shape = e5m2, .mode = Mode::ties_to_zero})
HALF_SUBJECT(ties_to_odd, {.shape = e5m2, .mode = Mode::ties_to_odd})
HALF_SUBJECT(saturates, {.shape = e5m2, .saturate = true})
HALF_SUBJECT(flushes, {.shape = e5m2, .flush = true})
HALF_SUBJECT(loses_nan_sign, {.shape = e5m2, .keep_nan_sign = false})
HALF_SUBJECT(loses_zero_sign, {.shape = e5m2, .keep_zero_sign = false})
HALF_SUBJECT(right_e4m3, {e4m3})
HALF_SUBJECT(saturates_e4m3, {.shape = e4m3, .saturate = true})
HALF_SUBJECT(truncates_and_loses_nan_sign, {.shape = e5m2, .mode = Mode::zero, .keep_nan_sign = false})
SUBJECT(loses_sign, std::uint16_t, std::uint8_t, Encoder{e4m3}(std::fabs(decode(half, x))))
SUBJECT(saturates_early, std::uint16_t, std::uint8_t,
        Encoder{.shape = e4m3, .saturate = std::fabs(decode(half, x)) < 480}(decode(half, x)))
SUBJECT(wrong_once, std::uint16_t, std::uint8_t, Encoder{e5m2}(decode(half, x)) + (x == 0x3c01 ? 1U : 0U))
SUBJECT(nan_to_zero, std::uint16_t, std::uint8_t, (x & 0x7fffU) > 0x7c00U ? 0U : Encoder{e5m2}(decode(half, x)))
SUBJECT(two_codes_off, std::uint16_t, std::uint8_t, Encoder{e5m2}(decode(half, x)) + (x == 0x3c00 ? 2U : 0U))
SUBJECT(single_right, std::uint32_t, std::uint8_t, Encoder{e4m3}(decode(single, x)))
SUBJECT(through_half, std::uint32_t, std::uint8_t, Encoder{e4m3}(rounded(half, decode(single, x), Mode::even)))
SUBJECT(through_brain, std::uint32_t, std::uint8_t, Encoder{e4m3}(rounded(brain, decode(single, x), Mode::even)))
SUBJECT(through_cut_brain, std::uint32_t, std::uint8_t, Encoder{e4m3}(rounded(brain, decode(single, x), Mode::zero)))
SUBJECT(double_right, std::uint64_t, std::uint16_t, Encoder{half}(std::bit_cast<double>(x)))
SUBJECT(double_through_single, std::uint64_t, std::uint16_t,
        Encoder{half}(static_cast<double>(static_cast<float>(std::bit_cast<double>(x)))))
SUBJECT(square_root, std::uint16_t, std::uint16_t, Encoder{half}(std::sqrt(decode(half, x))))
SUBJECT(square_root_cut, std::uint16_t, std::uint16_t, Encoder{.shape = half, .mode = Mode::zero}(std::sqrt(decode(half, x))))

extern "C" std::uint8_t scalar(std::uint16_t x) { return static_cast<std::uint8_t>(Encoder{e5m2}(decode(half, x))); }
extern "C" std::uint8_t scalar_of_float(float x) { return static_cast<std::uint8_t>(Encoder{e4m3}(static_cast<double>(x))); }
/// Leaves the processor rounding upward.
extern "C" void spoils_environment(const void* in, void* out, std::size_t count) {
  single_right(in, out, count);
  std::fesetround(FE_UPWARD);
}
extern "C" void crashes(const void*, void*, std::size_t) { std::abort(); }
extern "C" void exits(const void*, void*, std::size_t) { std::exit(0); }
extern "C" void exits_at_once(const void*, void*, std::size_t) { ::_exit(0); }
extern "C" void exits_with_five(const void*, void*, std::size_t) { std::exit(5); }
extern "C" void is_killed(const void*, void*, std::size_t) { ::raise(SIGUSR1); }
/// Of float16 to itself.
extern "C" void closes_descriptors(const void* in, void* out, std::size_t count) {
  for (int i = 3; i < 64; ++i) ::close(i);
  std::memcpy(out, in, 2 * count);
}
/// At the end of the process, where the environment says so.
__attribute__((destructor)) void end_otherwise() {
  if (const char* const how = std::getenv("CONFORM_SUBJECT_ENDS")) *how == 'c' ? std::abort() : ::_exit(0);
}
extern "C" void stands_still(const void*, void*, std::size_t) {
  for (;;) ::pause();
}

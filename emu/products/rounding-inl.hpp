// SPDX-License-Identifier: Apache-2.0
// Vectors of doubles that stand for numbers of smaller formats: their exponents, their rounding, and a sum rounded to odd,
// which loses nothing that a later rounding needs. Compiled once for each instruction set.
#if defined(ULPSCOPE_MATMUL_ROUNDING_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ULPSCOPE_MATMUL_ROUNDING_INL
#undef ULPSCOPE_MATMUL_ROUNDING_INL
#else
#define ULPSCOPE_MATMUL_ROUNDING_INL
#endif

#include <hwy/highway.h>

#include "emu/decode.hpp"
#include "emu/rounding.hpp"
#include "emu/simd_targets-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = VectorTag<double>;
using DL = hn::RebindToUnsigned<D>;
using V = hn::Vec<D>;
using VL = hn::Vec<DL>;

HWY_INLINE V set(double x) { return hn::Set(D(), x); }
HWY_INLINE VL bits(V x) { return hn::BitCast(DL(), x); }
HWY_INLINE V doubles(VL x) { return hn::BitCast(D(), x); }

/// floor(log2 |x|) for normal x, as a double; of zero something below all.
HWY_INLINE V exponent_of(V x) {
  // The exponent field below the leading bit of 2^52, which is taken off again.
  const VL field = hn::ShiftRight<52>(hn::And(bits(x), hn::Set(DL(), 0x7ff0000000000000)));
  const VL two_to_52 = hn::Set(DL(), 0x4330000000000000);
  return hn::Sub(doubles(hn::Or(field, two_to_52)), set(4503599627370496.0 + 1023));
}
/// 2^exponent, exponent an integer, -1022 to 1023.
HWY_INLINE V power(V exponent) {
  const VL word = bits(hn::Add(exponent, set(4503599627370496.0 + 1023)));
  return doubles(hn::ShiftLeft<52>(word));
}
HWY_INLINE V clamped(V exponent) { return hn::Min(hn::Max(exponent, set(-1022)), set(1023)); }

/// Toward zero, and one further from it where that is inexact and even.
HWY_INLINE V odd_integer(V x) {
  const V cut = hn::Trunc(x), half = hn::Mul(cut, set(0.5));
  const auto stays = hn::Or(hn::Eq(cut, x), hn::Ne(hn::Trunc(half), half));
  return hn::IfThenElse(stays, cut, hn::Add(cut, hn::CopySign(set(1), x)));
}

HWY_INLINE V rounded_integer(V x, Rounding rounding) {
  switch (rounding) {
    case Rounding::toward_zero: return hn::Trunc(x);
    case Rounding::upward: return hn::Ceil(x);
    case Rounding::downward: return hn::Floor(x);
    case Rounding::to_odd: return odd_integer(x);
    default: return hn::Round(x);
  }
}

/// Rounds to a format with exponents of float32 or fewer, subnormals included.
class Grid {
 public:
  Grid(Format format, bool flush)
      : fraction_bits_(format.fraction_bits),
        least_(set(format.min_exponent())),
        greatest_(set(decode(format, format.max_finite_code()))),
        flush_(flush) {}

  HWY_INLINE V round(V x, Rounding rounding, bool overflow_is_infinity) const {
    const V exponent = hn::Max(exponent_of(x), least_);
    const V spacing = hn::Sub(exponent, set(fraction_bits_));
    const V kept = hn::Mul(rounded_integer(hn::Mul(x, power(hn::Neg(spacing))), rounding), power(spacing));
    const V infinity = set(__builtin_huge_val());
    V result =
        hn::IfThenElse(hn::Gt(hn::Abs(kept), greatest_), hn::CopySign(overflow(rounding, overflow_is_infinity, x), x), kept);
    if (flush_) {
      // Tiny after rounding: rounded without a least exponent the result is still below the least normal number.
      const V free_spacing = hn::Sub(exponent_of(x), set(fraction_bits_));
      const V unbounded = hn::Mul(rounded_integer(hn::Mul(x, power(hn::Neg(free_spacing))), rounding), power(free_spacing));
      result = hn::IfThenElse(hn::Lt(hn::Abs(unbounded), power(least_)), hn::CopySign(hn::Zero(D()), x), result);
    }
    // What is infinite or NaN stays so.
    return hn::IfThenElse(hn::Lt(hn::Abs(x), infinity), hn::CopySign(result, x), x);
  }

 private:
  HWY_INLINE V overflow(Rounding rounding, bool overflow_is_infinity, V x) const {
    const V infinity = set(__builtin_huge_val());
    switch (rounding) {
      case Rounding::toward_zero: return overflow_is_infinity ? infinity : greatest_;
      case Rounding::upward: return hn::IfThenElse(hn::Gt(x, hn::Zero(D())), infinity, greatest_);
      case Rounding::downward: return hn::IfThenElse(hn::Lt(x, hn::Zero(D())), infinity, greatest_);
      default: return infinity;
    }
  }
  double fraction_bits_;
  V least_, greatest_;
  bool flush_;
};

/// x + y, the last bit set where it is inexact and not odd (Boldo and Melquiond, IEEE Trans. Comput. 57 (2008), 462).
HWY_INLINE V add_to_odd(V x, V y) {
  const V sum = hn::Add(x, y);
  const V of_y = hn::Sub(sum, x);
  const V error = hn::Add(hn::Sub(x, hn::Sub(sum, of_y)), hn::Sub(y, of_y));
  const VL word = bits(sum);
  const auto even = hn::Eq(hn::And(word, hn::Set(DL(), 1)), hn::Zero(DL()));
  const auto wrong = hn::And(hn::RebindMask(D(), even),
                             hn::And(hn::Ne(error, hn::Zero(D())), hn::Lt(hn::Abs(sum), set(__builtin_huge_val()))));
  // Towards the error: one up in magnitude where the error has the sum's sign, else one down.
  const auto outward = hn::Ge(hn::Mul(hn::CopySign(set(1), sum), error), hn::Zero(D()));
  const VL moved =
      hn::IfThenElse(hn::RebindMask(DL(), outward), hn::Add(word, hn::Set(DL(), 1)), hn::Sub(word, hn::Set(DL(), 1)));
  return hn::IfThenElse(wrong, doubles(moved), sum);
}

}  // namespace
}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

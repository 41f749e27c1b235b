// SPDX-License-Identifier: Apache-2.0
// Between which powers of two the numbers of a panel lie: sums of them that are multiples of the least and not too great are
// exact. Compiled once for each instruction set.
#if defined(ULPSCOPE_PRODUCTS_BOUNDS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ULPSCOPE_PRODUCTS_BOUNDS_INL
#undef ULPSCOPE_PRODUCTS_BOUNDS_INL
#else
#define ULPSCOPE_PRODUCTS_BOUNDS_INL
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "emu/bits.hpp"
#include "emu/simd_targets-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// What numbers have in common that are multiples of `unit` and not above `greatest`.
struct Bounds {
  double unit;      ///< a power of two; infinite where all are zero
  double greatest;  ///< of magnitudes; infinite or NaN where a number is
};

/// Gathers bounds in vectors, in the environment of the language.
class BoundsOf {
 public:
  using F = VectorTag<float>;

  HWY_INLINE BoundsOf() : below_unit_(word(0x7f7fffff)), greatest_(hn::Zero(U())) {}

  HWY_INLINE void see(hn::Vec<F> x) {
    const hn::Vec<F> magnitude = hn::Abs(x);
    const hn::Vec<U> bits = hn::BitCast(U(), magnitude);
    // Without its lowest bit x is less by that bit, which is the only one where the fraction is zero.
    const auto power = hn::Eq(hn::And(bits, word(0x7fffff)), hn::Zero(U()));
    const hn::Vec<F> less = hn::BitCast(F(), hn::And(bits, hn::Sub(bits, word(1))));
    const hn::Vec<U> lowest = hn::IfThenElse(power, bits, hn::BitCast(U(), hn::Sub(magnitude, less)));
    below_unit_ = hn::Min(below_unit_, hn::Sub(lowest, word(1)));  // of zero the greatest word
    greatest_ = hn::Max(greatest_, bits);
  }
  HWY_INLINE Bounds seen() const {
    HWY_ALIGN std::uint32_t below_units[hn::MaxLanes(U())], greatest[hn::MaxLanes(U())];
    hn::Store(below_unit_, U(), below_units);
    hn::Store(greatest_, U(), greatest);
    const auto number = [](std::uint32_t bits) { return static_cast<double>(bit_cast<float>(bits)); };
    return {number(*std::min_element(below_units, below_units + hn::Lanes(U())) + 1),
            number(*std::max_element(greatest, greatest + hn::Lanes(U())))};
  }

 private:
  using U = hn::RebindToUnsigned<F>;
  HWY_INLINE static hn::Vec<U> word(std::uint32_t bits) { return hn::Set(U(), bits); }

  hn::Vec<U> below_unit_, greatest_;
};

/// Of `count` lines of `length` numbers, one every `distance`.
HWY_INLINE Bounds bounds_of(const float* lines, std::size_t count, std::size_t length, std::size_t distance) {
  const BoundsOf::F d;
  BoundsOf bounds;
  for (std::size_t i = 0; i < count; ++i) {
    const float* const line = lines + i * distance;
    std::size_t at = 0;
    for (; at + hn::Lanes(d) <= length; at += hn::Lanes(d)) bounds.see(hn::LoadU(d, line + at));
    if (at < length) bounds.see(hn::MaskedLoad(hn::FirstN(d, length - at), d, line + at));
  }
  return bounds.seen();
}

}  // namespace
}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

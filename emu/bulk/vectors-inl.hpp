// SPDX-License-Identifier: Apache-2.0
// The words that the vector loops are written in: floats, their bits, and comparisons of bits. Compiled once for each
// instruction set.
#if defined(ULPSCOPE_BULK_VECTORS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ULPSCOPE_BULK_VECTORS_INL
#undef ULPSCOPE_BULK_VECTORS_INL
#else
#define ULPSCOPE_BULK_VECTORS_INL
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "emu/simd_targets-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using DF = VectorTag<float>;
using DU = hn::RebindToUnsigned<DF>;
using DI = hn::RebindToSigned<DF>;
using VF = hn::Vec<DF>;
using VU = hn::Vec<DU>;
using VI = hn::Vec<DI>;

/// Codes of float16, as many as there are floats in a vector.
using DH = hn::Rebind<std::uint16_t, DF>;
using VH = hn::Vec<DH>;

/// Whether halves() and from_halves() are there. They are the processor's own instructions: Highway's conversions round to
/// nearest on one target, in the direction in force on another, and make infinities finite on a third.
constexpr bool has_half = ULPSCOPE_X86_BITS != 0;

#if ULPSCOPE_X86_BITS != 0
constexpr int to_nearest_even = _MM_FROUND_TO_NEAREST_INT, in_force = _MM_FROUND_CUR_DIRECTION;
#endif
#if ULPSCOPE_X86_BITS == 512
template <int direction>
HWY_INLINE VH halves(VF x) {
  return VH{_mm512_cvtps_ph(x.raw, direction)};
}
HWY_INLINE VF from_halves(VH codes) { return VF{_mm512_cvtph_ps(codes.raw)}; }
#elif ULPSCOPE_X86_BITS == 256
template <int direction>
HWY_INLINE VH halves(VF x) {
  return VH{_mm256_cvtps_ph(x.raw, direction)};
}
HWY_INLINE VF from_halves(VH codes) { return VF{_mm256_cvtph_ps(codes.raw)}; }
#else
constexpr int to_nearest_even = 0, in_force = 0;
template <int direction>
VH halves(VF x);  // no instruction: never called
template <class V = VH>
VF from_halves(V codes);
#endif

constexpr std::uint32_t sign_bit = std::uint32_t{1} << 31;
constexpr std::uint32_t float_infinity = std::uint32_t{0xff} << 23;

HWY_INLINE VU set(std::uint32_t word) { return hn::Set(DU(), word); }
HWY_INLINE VU bits(VF x) { return hn::BitCast(DU(), x); }
HWY_INLINE VF floats(VU x) { return hn::BitCast(DF(), x); }
HWY_INLINE VI ints(VU x) { return hn::BitCast(DI(), x); }

/// Comparison of words below 2^31, which AVX2 does only for signed ones.
HWY_INLINE auto below(VU a, VU b) { return hn::RebindMask(DU(), hn::Lt(ints(a), ints(b))); }
HWY_INLINE auto is_negative(VU word) { return below(word, hn::Zero(DU())); }

}  // namespace
}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

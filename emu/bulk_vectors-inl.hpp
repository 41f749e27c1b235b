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

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using DF = hn::ScalableTag<float>;
using DU = hn::RebindToUnsigned<DF>;
using DI = hn::RebindToSigned<DF>;
using VF = hn::Vec<DF>;
using VU = hn::Vec<DU>;
using VI = hn::Vec<DI>;

/// Whether the instruction set converts float16; Highway's own conversion knows no infinities.
constexpr bool has_half = HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128;

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

// SPDX-License-Identifier: Apache-2.0
// The instruction sets that the vector loops are written for, how long their vectors are, and the conversion of doubles to
// floats on each. Compiled once for each instruction set.
#if defined(ULPSCOPE_SIMD_TARGETS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ULPSCOPE_SIMD_TARGETS_INL
#undef ULPSCOPE_SIMD_TARGETS_INL
#else
#define ULPSCOPE_SIMD_TARGETS_INL
#endif

#include <hwy/highway.h>

#include <cstddef>

// Every version of Highway adds targets. emu/CMakeLists.txt leaves out all but these, whose results are tested.
static_assert(HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON || HWY_TARGET == HWY_SCALAR ||
                  HWY_TARGET == HWY_EMU128,
              "an instruction set that the loops are not written for; see HWY_DISABLED_TARGETS in emu/CMakeLists.txt");

// Whole registers of an instruction set whose own instructions the loops name, in bits; 0: the loops are Highway's words alone.
// Tests define ULPSCOPE_VECTOR_BYTES: vectors no longer than another processor's, in the words that it is served with.
#undef ULPSCOPE_X86_BITS
#if HWY_TARGET == HWY_AVX3 && !defined(ULPSCOPE_VECTOR_BYTES)
#define ULPSCOPE_X86_BITS 512
#elif HWY_TARGET == HWY_AVX2 && !defined(ULPSCOPE_VECTOR_BYTES)
#define ULPSCOPE_X86_BITS 256
#else
#define ULPSCOPE_X86_BITS 0
#endif

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

/// The tag of vectors of T.
#ifdef ULPSCOPE_VECTOR_BYTES
template <class T>
using VectorTag = hwy::HWY_NAMESPACE::CappedTag<T, ULPSCOPE_VECTOR_BYTES / sizeof(T)>;
#else
template <class T>
using VectorTag = hwy::HWY_NAMESPACE::ScalableTag<T>;
#endif

/// Whether vectors are the compiler's or Highway's own work, no instruction set's.
constexpr bool is_portable = HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128;

/// x, whose elements are floats already, infinities and NaNs among them. Highway's portable conversion makes infinities finite.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<hwy::HWY_NAMESPACE::Rebind<float, D>> exact_floats([[maybe_unused]] D d,
                                                                                      hwy::HWY_NAMESPACE::Vec<D> x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::Rebind<float, D> df;
  if constexpr (is_portable) {
    HWY_ALIGN double wide[hn::MaxLanes(d)];
    HWY_ALIGN float result[hn::MaxLanes(d)];
    hn::Store(x, d, wide);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) result[i] = static_cast<float>(wide[i]);
    return hn::LoadU(df, result);
  } else {
    return hn::DemoteTo(df, x);
  }
}

}  // namespace
}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

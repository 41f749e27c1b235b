// SPDX-License-Identifier: Apache-2.0
// Compiles the vector loops for each instruction set, and calls those of the path in force.
#include "studies/census/binade_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "studies/census/binade_kernels.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first
#include <hwy/highway.h>

#include "studies/census/binade_kernels-inl.hpp"
#include "studies/census/binade_loops.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::studies::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
using loops::add_reciprocals;
using loops::add_variant;
using loops::magnitude_range;
using loops::take_significands;
#endif

void TakeSignificands(const std::uint32_t* codes, std::size_t count, Significands& out, SignificandSums& sums) {
  HWY_NAMESPACE::take_significands(codes, count, out, sums);
}
void AddReciprocals(const Significands& of, SignificandSums& sums) { HWY_NAMESPACE::add_reciprocals(of, sums); }
void AddVariant(const Significands& of, const Variant& variant, Counted counted, VariantSums& sums) {
  HWY_NAMESPACE::add_variant(of, variant, counted, sums);
}

void Range(std::span<const float> values, MagnitudeRange& range) { range = HWY_NAMESPACE::magnitude_range(values); }

}  // namespace ulpscope::studies::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope::studies {
namespace {

HWY_EXPORT(TakeSignificands);
HWY_EXPORT(AddReciprocals);
HWY_EXPORT(AddVariant);
HWY_EXPORT(Range);

}  // namespace

void take_significands(const std::uint32_t* codes, std::size_t count, Significands& out, SignificandSums& sums) {
  HWY_DYNAMIC_DISPATCH(TakeSignificands)(codes, count, out, sums);
}
void add_reciprocals(const Significands& of, SignificandSums& sums) { HWY_DYNAMIC_DISPATCH(AddReciprocals)(of, sums); }
void add_variant(const Significands& of, const Variant& variant, Counted counted, VariantSums& sums) {
  HWY_DYNAMIC_DISPATCH(AddVariant)(of, variant, counted, sums);
}

MagnitudeRange magnitude_range(std::span<const float> values) {
  MagnitudeRange range;
  HWY_DYNAMIC_DISPATCH(Range)(values, range);
  return range;
}

}  // namespace ulpscope::studies
#endif

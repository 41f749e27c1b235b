// SPDX-License-Identifier: Apache-2.0
// Compiles the vector loops for each instruction set, and calls those of the path in force.
#include <algorithm>

#include "studies/census/window.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "studies/census/window_kernels.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first
#include <hwy/highway.h>

#include "studies/census/window_kernels-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::studies::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

/// Without vectors everything is outside.
inline void split_block(const float* values, int, WindowBlock& block, WindowInput&) {
  std::copy_n(values, WindowBlock::size, block.outside.begin());
  block.outside_count = WindowBlock::size;
  block.range = {};
}
inline void add_block_errors(int, int, WindowBlock&, WindowErrors&, WindowRelative&) {}

#endif

void SplitBlock(const float* values, int window, WindowBlock& block, WindowInput& sums) {
  HWY_NAMESPACE::split_block(values, window, block, sums);
}
void AddBlockErrors(int window, int dropped, WindowBlock& block, WindowErrors& sums, WindowRelative& relative) {
  HWY_NAMESPACE::add_block_errors(window, dropped, block, sums, relative);
}

}  // namespace ulpscope::studies::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope::studies {
namespace {

HWY_EXPORT(SplitBlock);
HWY_EXPORT(AddBlockErrors);

}  // namespace

void split_block(std::span<const float, WindowBlock::size> values, int window, WindowBlock& block, WindowInput& sums) {
  HWY_DYNAMIC_DISPATCH(SplitBlock)(values.data(), window, block, sums);
}
void add_block_errors(int window, int dropped, WindowBlock& block, WindowErrors& sums, WindowRelative& relative) {
  HWY_DYNAMIC_DISPATCH(AddBlockErrors)(window, dropped, block, sums, relative);
}

}  // namespace ulpscope::studies
#endif

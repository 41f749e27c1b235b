// SPDX-License-Identifier: Apache-2.0
// The stand-in for the product's header of the same name: the text of every instruction is read and carried out.
#pragma once

#include <cstdint>

#include "cuda_runtime.h"
#include "matrix_instructions.hpp"

#define ULPSCOPE_UNROLL

namespace ulpscope::gpu::cuda {

inline constexpr int target_architecture = 10000;
inline constexpr bool target_has_wgmma = true;
inline constexpr bool target_has_narrow_mma = true;
inline constexpr bool target_has_narrow_cvt = true, target_has_random_cvt = true;

inline void unreachable_instruction() { fake_cuda::record_failure("an instruction that the target lacks"); }
inline std::uint32_t shared_address(const void* memory) { return fake_cuda::shared_address(memory); }
inline void publish_shared() { fake_cuda::publish(); }

}  // namespace ulpscope::gpu::cuda

#define ULPSCOPE_MMA_2_1_2(text, a, b, c) fake_cuda::mma_sync<2, 1, 2>(text, a, b, c)
#define ULPSCOPE_MMA_2_1_4(text, a, b, c) fake_cuda::mma_sync<2, 1, 4>(text, a, b, c)
#define ULPSCOPE_MMA_4_2_2(text, a, b, c) fake_cuda::mma_sync<4, 2, 2>(text, a, b, c)
#define ULPSCOPE_MMA_4_2_4(text, a, b, c) fake_cuda::mma_sync<4, 2, 4>(text, a, b, c)
#define ULPSCOPE_MMA_2_2_4(text, a, b, c) fake_cuda::mma_sync<2, 2, 4>(text, a, b, c)
#define ULPSCOPE_MMA_2_2_8(text, a, b, c) fake_cuda::mma_sync<2, 2, 8>(text, a, b, c)
#define ULPSCOPE_MMA_SCALED_4_2_4(text, a, b, c, a_scales, b_scales, byte_id, thread_id) \
  fake_cuda::scaled_mma_sync<4, 2, 4>(text, a, b, c, a_scales[0], b_scales[0], byte_id, thread_id)
#define ULPSCOPE_MMA_WIDE_1_1_2(text, a, b, c) fake_cuda::mma_sync<1, 1, 2>(text, a, b, c)
#define ULPSCOPE_MMA_WIDE_2_1_4(text, a, b, c) fake_cuda::mma_sync<2, 1, 4>(text, a, b, c)
#define ULPSCOPE_MMA_WIDE_4_2_4(text, a, b, c) fake_cuda::mma_sync<4, 2, 4>(text, a, b, c)
#define ULPSCOPE_MMA_WIDE_8_4_4(text, a, b, c) fake_cuda::mma_sync<8, 4, 4>(text, a, b, c)
#define ULPSCOPE_WGMMA_2(text, flags, a, b, c) fake_cuda::wgmma<2>(text, flags, a, b, c)
#define ULPSCOPE_WGMMA_4(text, flags, a, b, c) fake_cuda::wgmma<4>(text, flags, a, b, c)

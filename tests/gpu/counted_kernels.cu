// SPDX-License-Identifier: Apache-2.0
// Kernels of emulated products whose instructions bench/count_instructions.py counts: the members of their AlignedKind,
// products of a block, paired, added.
#include "gpu/cuda/aligned_kernel.cuh"

namespace ulpscope::gpu::cuda::aligned {

template __global__ void multiply<false, false, false, false, 8, false, false>(AlignedProduct);   // fp16 of sm_80
template __global__ void multiply<false, false, false, false, 16, false, false>(AlignedProduct);  // fp16 of sm_90
template __global__ void multiply<false, true, false, false, 16, false, false>(AlignedProduct);   // bf16 of sm_90
template __global__ void multiply<false, false, true, false, 32, false, false>(AlignedProduct);   // fp8 of sm_90
template __global__ void multiply<false, false, false, true, 32, false, false>(AlignedProduct);   // fp8 of sm_100

}  // namespace ulpscope::gpu::cuda::aligned

// SPDX-License-Identifier: Apache-2.0
// The stand-in for the product's header of the same name.
#pragma once

#include "gpu/cuda/mma.cuh"

#define ULPSCOPE_WMMA(text, M, N, K, D, A, a_tile, b_tile, c_tile) fake_cuda::wmma(text, a_tile, b_tile, c_tile)

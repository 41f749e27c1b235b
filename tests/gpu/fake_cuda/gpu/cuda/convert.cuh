// SPDX-License-Identifier: Apache-2.0
// The stand-in for the product's header of the same name: the text of every conversion is read and carried out.
#pragma once

#include "element_instructions.hpp"
#include "gpu/cuda/mma.cuh"

#define ULPSCOPE_CVT_1(text, D, A, d, a) fake_cuda::convert(text, D, A, d, {a})
#define ULPSCOPE_CVT_2(text, D, A, d, upper, lower) fake_cuda::convert(text, D, A, d, {upper, lower})
#define ULPSCOPE_CVT_TO_BYTE(text, D, A, d, upper, lower) fake_cuda::convert(text, D, A, d, {upper, lower})
#define ULPSCOPE_CVT_FROM_BYTE(text, D, A, d, a) fake_cuda::convert(text, D, A, d, {a})
#define ULPSCOPE_CVT_RANDOM_2(text, D, A, d, a, rbits) fake_cuda::convert_randomly<2>(text, D, d, a, rbits)
#define ULPSCOPE_CVT_RANDOM_4(text, D, A, d, a, rbits) fake_cuda::convert_randomly<4>(text, D, d, a, rbits)

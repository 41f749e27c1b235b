// SPDX-License-Identifier: Apache-2.0
// Conversions as inline PTX (PTX ISA 9.0, "cvt"). All the PTX of conversions is in this header, so that a stand-in of the same
// name and macros lets everything else run on a host.
#pragma once

#include <cstdint>

#include "gpu/cuda/mma.cuh"

/// A conversion of one register to another; `D` and `A` are their constraints: "h" 16 bits, "r" 32, "l" 64.
#define ULPSCOPE_CVT_1(text, D, A, d, a) asm(text " %0, %1;" : "=" D(d) : A(a))
/// A conversion of two registers to the upper and the lower half of one.
#define ULPSCOPE_CVT_2(text, D, A, d, upper, lower) asm(text " %0, %1, %2;" : "=" D(d) : A(upper), A(lower))

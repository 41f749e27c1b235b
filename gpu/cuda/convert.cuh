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
/// To and from a register of 8 bits, which inline assembly cannot name: it is the lower half of one of 16.
#define ULPSCOPE_CVT_TO_BYTE(text, D, A, d, upper, lower) \
  asm("{.reg .b8 byte; " text " byte, %1, %2; cvt.u16.u8 %0, byte;}" : "=" D(d) : A(upper), A(lower))
#define ULPSCOPE_CVT_FROM_BYTE(text, D, A, d, a) \
  asm("{.reg .b8 byte; cvt.u8.u16 byte, %1; " text " %0, byte;}" : "=" D(d) : A(a))
/// Conversions of an array of two or four registers, the uppermost element first, with random bits.
#define ULPSCOPE_CVT_RANDOM_2(text, D, A, d, a, rbits) asm(text " %0, %1, %2, %3;" : "=" D(d) : A(a[0]), A(a[1]), "r"(rbits))
#define ULPSCOPE_CVT_RANDOM_4(text, D, A, d, a, rbits) \
  asm(text " %0, {%1, %2, %3, %4}, %5;" : "=" D(d) : A(a[0]), A(a[1]), A(a[2]), A(a[3]), "r"(rbits))

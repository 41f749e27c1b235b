// SPDX-License-Identifier: Apache-2.0
// What every emulator header needs from the compiler: one macro that makes a function usable in device code, one that
// forces inlining (bulk loops vectorise only then), one that forbids it (device compilers take minutes over what repeats), and
// a refusal of flags that change what arithmetic means.
#pragma once

#if defined(__FAST_MATH__)
#error "ulpscope computes exact bits: compile without -ffast-math (and with -ffp-contract=off)"
#endif

#if defined(__CUDACC__)
#define ULPSCOPE_HD __host__ __device__
#else
/// Makes a function usable in device code, where there is any.
#define ULPSCOPE_HD
#endif

#if defined(__GNUC__) || defined(__clang__)
#define ULPSCOPE_INLINE ULPSCOPE_HD inline __attribute__((always_inline))
#define ULPSCOPE_INLINE_LAMBDA __attribute__((always_inline))
#define ULPSCOPE_APART __attribute__((noinline))
#else
/// Forces inlining: bulk loops vectorise only then.
#define ULPSCOPE_INLINE ULPSCOPE_HD inline
/// Forces inlining of a lambda.
#define ULPSCOPE_INLINE_LAMBDA
/// Forbids inlining: device compilers take minutes over what repeats.
#define ULPSCOPE_APART
#endif

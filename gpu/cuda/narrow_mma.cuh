// SPDX-License-Identifier: Apache-2.0
// What the instructions of .kind::f8f6f4 and .kind::mxf8f6f4 share: A and B may be of any two of these types.
#pragma once

#define ULPSCOPE_WITH_EVERY_B(DO, A) DO(A, e4m3) DO(A, e5m2) DO(A, e3m2) DO(A, e2m3) DO(A, e2m1)

/// DO(A, B) for every pair.
#define ULPSCOPE_EVERY_NARROW_PAIR(DO) \
  ULPSCOPE_WITH_EVERY_B(DO, e4m3)      \
  ULPSCOPE_WITH_EVERY_B(DO, e5m2)      \
  ULPSCOPE_WITH_EVERY_B(DO, e3m2)      \
  ULPSCOPE_WITH_EVERY_B(DO, e2m3)      \
  ULPSCOPE_WITH_EVERY_B(DO, e2m1)

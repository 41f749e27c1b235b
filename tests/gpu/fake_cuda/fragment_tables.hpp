// SPDX-License-Identifier: Apache-2.0
// The fragment tables of the PTX ISA 9.0 as it prints them, shape by shape: "Matrix Fragments for mma.m8n8k4 with .f16 floating
// point type", "... with .f64 floating point type", "mma.m16n8k4", "mma.m16n8k8", "mma.m16n8k16 with floating point type",
// "mma.m16n8k16 with integer type" (e4m3, e5m2), "mma.m16n8k32", "wgmma.mma_async.m64nNk16", "m64nNk8", "m64nNk32". Written
// without a look at gpu/cuda/fragments.hpp, which they judge.
#pragma once

namespace fake_cuda {

struct Cell {
  int row, column;
};

/// i: the number of the element in the fragment, from low to high. `bits` of an element of A and B.
inline Cell fragment_a(int m, int k, int bits, int thread, int i) {
  const int warp = thread / 32, laneid = thread % 32, group = laneid >> 2, in_group = laneid % 4;
  if (m == 8 && bits == 16) return {laneid < 16 ? laneid % 4 : laneid % 4 + 4, i};
  if (m == 8) return {group, in_group};
  const int top = warp * 16 + group, bottom = top + 8;
  if (bits == 16 && k == 8) return {i < 2 ? top : bottom, in_group * 2 + (i & 1)};
  if (bits == 16) return {i < 2 || (4 <= i && i < 6) ? top : bottom, in_group * 2 + (i & 1) + (i < 4 ? 0 : 8)};
  if (bits == 8 && k == 16) return {i < 4 ? top : bottom, in_group * 4 + (i & 3)};
  if (bits == 8) return {i < 4 || (8 <= i && i < 12) ? top : bottom, in_group * 4 + (i & 3) + (i < 8 ? 0 : 16)};
  if (k == 4) return {i == 0 ? top : bottom, in_group};
  if (k == 8) return {i == 0 || i == 2 ? top : bottom, i < 2 ? in_group : in_group + 4};
  return {i % 2 == 0 ? top : bottom, i % 2 == 0 ? i * 2 + in_group : i * 2 - 2 + in_group};  // f64, k = 16
}

/// Row: k.
inline Cell fragment_b(int m, int k, int bits, int thread, int i) {
  const int laneid = thread % 32, group = laneid >> 2, in_group = laneid % 4;
  if (m == 8 && bits == 16) return {i, laneid < 16 ? laneid % 4 : laneid % 4 + 4};
  if (bits == 16 && k == 8) return {in_group * 2 + i, group};
  if (bits == 16) return {in_group * 2 + (i & 1) + (i < 2 ? 0 : 8), group};
  if (bits == 8 && k == 16) return {in_group * 4 + i, group};
  if (bits == 8) return {in_group * 4 + (i & 3) + (i < 4 ? 0 : 16), group};
  if (k == 4) return {in_group, group};
  if (k == 8) return {i == 0 ? in_group : in_group + 4, group};
  return {in_group + i * 4, group};  // f64, k = 16
}

/// `bits` of an element of A and B, `sum_bits` of one of C and D.
inline Cell fragment_c(int m, int bits, int sum_bits, int thread, int i) {
  const int warp = thread / 32, laneid = thread % 32, group = laneid >> 2, in_group = laneid % 4;
  if (m == 8 && bits == 16 && sum_bits == 16) return {laneid < 16 ? laneid % 4 : laneid % 4 + 4, i};
  if (m == 8 && bits == 16) {
    const int x = (laneid & 1) + (i & 2);
    return {laneid < 16 ? x : x + 4, (i & 4) + (laneid & 2) + (i & 1)};
  }
  if (m == 8) return {group, in_group * 2 + i};
  return {warp * 16 + (i < 2 ? group : group + 8), in_group * 2 + (i & 1)};
}

}  // namespace fake_cuda

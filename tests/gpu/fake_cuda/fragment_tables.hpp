// SPDX-License-Identifier: Apache-2.0
// The fragment tables of the PTX ISA 9.0 as it prints them, shape by shape: "Matrix Fragments for mma.m8n8k4 with .f16 floating
// point type", "... with .f64 floating point type", "mma.m16n8k4", "mma.m16n8k8", "mma.m16n8k16 with floating point type",
// "mma.m16n8k16 with integer type" (e4m3, e5m2), "mma.m16n8k32", "mma.m16n8k64" (e2m1), "wgmma.mma_async.m64nNk16", "m64nNk8",
// "m64nNk32"; and "Block Scaling for mma.sync". Written without a look at gpu/cuda/fragments.hpp, which they judge.
#pragma once

#include <optional>

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
  if (bits == 4) return {i < 8 || (16 <= i && i < 24) ? top : bottom, in_group * 8 + (i & 7) + (i < 16 ? 0 : 32)};
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
  if (bits == 4) return {in_group * 8 + (i & 7) + (i < 8 ? 0 : 32), group};
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

/// Which of a warp's scale registers an instruction reads: {byte-id, thread-id}.
struct ScaleSelector {
  int byte_id, thread_id;
};

/// Where the scale of a row of A, or of a column of B, lies for the chunk of products number `chunk`.
struct ScaleSource {
  int thread, byte;
};
/// .scale_vec::1X takes any byte, 2X bytes 0 and 1 or 2 and 3, 4X all; nothing where the selector is none.
inline std::optional<int> scale_byte(int scale_vec, int byte_id, int chunk) {
  const bool allowed = scale_vec == 1   ? 0 <= byte_id && byte_id <= 3
                       : scale_vec == 2 ? byte_id == 0 || byte_id == 2
                                        : byte_id == 0;
  return allowed ? std::optional(byte_id + chunk) : std::nullopt;
}
/// A quad is four threads, one for each row of A's upper half: thread-id 0 names its first two threads, 1 the last two. Of the
/// two the first has the row of the upper half, the second that eight rows below.
inline std::optional<ScaleSource> scale_of_a(int scale_vec, ScaleSelector selector, int row, int chunk) {
  const auto byte = scale_byte(scale_vec, selector.byte_id, chunk);
  if (!byte || selector.thread_id < 0 || selector.thread_id > 1) return std::nullopt;
  return ScaleSource{(row & 7) * 4 + selector.thread_id * 2 + (row >= 8 ? 1 : 0), *byte};
}
/// thread-id names one thread of each quad, which has the column of the quad's number.
inline std::optional<ScaleSource> scale_of_b(int scale_vec, ScaleSelector selector, int column, int chunk) {
  const auto byte = scale_byte(scale_vec, selector.byte_id, chunk);
  if (!byte || selector.thread_id < 0 || selector.thread_id > 3) return std::nullopt;
  return ScaleSource{column * 4 + selector.thread_id, *byte};
}

}  // namespace fake_cuda

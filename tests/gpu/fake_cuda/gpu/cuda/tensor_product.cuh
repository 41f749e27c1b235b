// SPDX-License-Identifier: Apache-2.0
// The stand-in for the product's header of the same name. Sums are no better than they have to be: all terms are cut to 24 bits
// from the greatest one on, and what is below the normal numbers is lost.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

#include "cuda_runtime.h"

namespace ulpscope::gpu::cuda {
namespace fake {

struct TensorPart {
  const std::uint32_t *a, *b;
  float* d;
};

/// 2^exponent, of a normal double.
inline double power(int exponent) { return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52); }
/// The exponent of a normal double.
inline int exponent_of(double x) { return static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52 & 0x7ff) - 1023; }

/// c and 16 products.
inline float sum_of(const double (&row)[16], const double (&column)[16], float c) {
  double greatest = std::fabs(double{c});
  for (int k = 0; k < 16; ++k) greatest = std::max(greatest, std::fabs(row[k] * column[k]));
  if (greatest == 0) return 0;
  const int unit = exponent_of(greatest) - 23;
  const double units = power(-unit);
  auto sum = static_cast<std::int64_t>(double{c} * units);  // toward zero, as below
  for (int k = 0; k < 16; ++k) sum += static_cast<std::int64_t>(row[k] * column[k] * units);
  const auto magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
  const int beyond = std::max(0, static_cast<int>(std::bit_width(magnitude)) - 24);
  const double cut = static_cast<double>(magnitude >> beyond << beyond) * power(unit);
  return cut < 0x1p-126 ? 0.0F : static_cast<float>(sum < 0 ? -cut : cut);
}

/// The registers of a warp: those of A are rows 0-7 and 8-15 of the first eight k, then of the others.
inline void multiply_warp(std::span<TensorPart* const> warp) {
  const auto half = [](std::uint32_t word, int i) {
    return double{std::bit_cast<float>(i == 0 ? word << 16 : word & 0xffff0000)};
  };
  double rows[16][16], columns[8][16];
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned word = 0; word < 4; ++word)
      for (int i = 0; i < 2; ++i) {
        const unsigned k = lane % 4 * 2 + word / 2 * 8 + static_cast<unsigned>(i);
        rows[lane / 4 + word % 2 * 8][k] = half(warp[lane]->a[word], i);
        if (word % 2 == 0) columns[lane / 4][k] = half(warp[lane]->b[word / 2], i);
      }
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 4; ++i) {
      float& d = warp[lane]->d[i];
      d = sum_of(rows[lane / 4 + i / 2 * 8], columns[lane % 4 * 2 + i % 2], d);
    }
}

}  // namespace fake

inline void add_products(const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], float (&d)[4]) {
  fake::TensorPart mine{a, b, d};
  fake_cuda::exchange(32, mine, fake::multiply_warp);
}

}  // namespace ulpscope::gpu::cuda

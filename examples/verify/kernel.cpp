// SPDX-License-Identifier: Apache-2.0
// The right kernel: three loops.
#include "kernel.hpp"

std::vector<Bf16> matmul(const std::vector<Bf16>& a, const std::vector<Bf16>& b, std::size_t m, std::size_t n, std::size_t k) {
  std::vector<float> sums(m * n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t l = 0; l < k; ++l)
      for (std::size_t j = 0; j < n; ++j) sums[i * n + j] += to_float(a[i * k + l]) * to_float(b[l * n + j]);
  std::vector<Bf16> d(m * n);
  for (std::size_t i = 0; i < d.size(); ++i) d[i] = to_bf16(sums[i]);
  return d;
}

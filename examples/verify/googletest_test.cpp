// SPDX-License-Identifier: Apache-2.0
// The kernel judged by a predicate of GoogleTest.
#include "verify/googletest.hpp"

#include <gtest/gtest.h>

#include "emu/bulk.hpp"
#include "kernel.hpp"

using namespace ulpscope;
using verify::is_matmul_of;

/// What codes of bfloat16 mean.
static std::vector<float> values_of(const std::vector<Bf16>& codes) {
  std::vector<float> values(codes.size());
  emu::decode<Bf16, float>(emu::bf16, codes, values);
  return values;
}

class Matmul : public testing::TestWithParam<std::size_t> {};

TEST_P(Matmul, IsRight) {
  const std::size_t m = 48, n = 40, k = GetParam();
  const std::vector<Bf16> a = bf16_inputs(m * k, 1), b = bf16_inputs(k * n, 2);

  const std::vector<Bf16> d = matmul(a, b, m, n, k);

  const std::vector<float> of_a = values_of(a), of_b = values_of(b), of_d = values_of(d);
  EXPECT_TRUE(is_matmul_of(of_d, {.a = of_a, .b = of_b, .m = m, .n = n, .k = k, .in = emu::bf16, .out = emu::bf16}));
}

INSTANTIATE_TEST_SUITE_P(MultiplesOf32AndNot, Matmul, testing::Values(64, 80));

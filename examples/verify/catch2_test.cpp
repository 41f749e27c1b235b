// SPDX-License-Identifier: Apache-2.0
// The kernel judged by a matcher of Catch2.
#include "verify/catch2.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "emu/bulk.hpp"
#include "kernel.hpp"

using namespace ulpscope;
using verify::IsMatmulOf;
using verify::Output;

/// What codes of bfloat16 mean.
static std::vector<float> values_of(const std::vector<Bf16>& codes) {
  std::vector<float> values(codes.size());
  emu::decode<Bf16, float>(emu::bf16, codes, values);
  return values;
}

TEST_CASE("the kernel multiplies") {
  const std::size_t m = 48, n = 40, k = GENERATE(64, 80);
  const std::vector<Bf16> a = bf16_inputs(m * k, 1), b = bf16_inputs(k * n, 2);

  const std::vector<Bf16> d = matmul(a, b, m, n, k);

  const std::vector<float> of_a = values_of(a), of_b = values_of(b), of_d = values_of(d);
  CHECK_THAT(Output(of_d), IsMatmulOf({.a = of_a, .b = of_b, .m = m, .n = n, .k = k, .in = emu::bf16, .out = emu::bf16}));
}

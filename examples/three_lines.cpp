// SPDX-License-Identifier: Apache-2.0
// The README's three lines: a number rounded, matrices multiplied as a tensor core does it, and a product checked.
#include <cstdio>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/engine_matmul.hpp"
#include "emu/engines.hpp"
#include "verify/check.hpp"

using namespace ulpscope;
using namespace ulpscope::emu;

int main() {
  constexpr std::size_t m = 48, n = 40, k = 80;
  const std::vector<float> a(m * k, 0.75F), b(k * n, -1.5F);
  std::vector<float> d(m * n);
  const EngineOperand<float> left{bf16, a, {48, 80}}, right{bf16, b, {80, 40}};

  const Rounded rounded = round_to(e4m3, 0.3);
  engine_matmul(EngineMatmul<float>{.engine = parse_engine("sm_90", {bf16, bf16}), .a = left, .b = right}, d);
  const auto report = verify::check_output({.a = a, .b = b, .m = 48, .n = 40, .k = 80, .in = bf16}, d);

  std::printf("0.3 becomes %g; d[0] = %g; the product %s\n", rounded.value, static_cast<double>(d[0]),
              report.passes() ? "passes" : "fails");
}

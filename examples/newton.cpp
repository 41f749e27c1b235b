// SPDX-License-Identifier: Apache-2.0
// Newton's iteration for 1/a in bfloat16: where it ends, written with products and with fused multiply-adds, in three rounding
// directions. The direction is part of the type; the loop is written once. The fused form rounds to nearest wrongly only if all
// bits of the significand of a are ones (P. Markstein, IBM J. Res. Dev. 34, 1990).
#include <cstdio>

#include "emu/number.hpp"

using namespace ulpscope::emu;

template <Rounding rounding>
using Bfloat16 = Number<bf16, RoundingOptions{.rounding = rounding}>;

constexpr auto plain = [](auto a, auto x) { return x * (2 - a * x); };
constexpr auto fused = [](auto a, auto x) { return fma(x, fma(-a, x, 1), x); };  // the residual 1 - a x is rounded once

template <class N, class Step>
void print_iterates(const char* name, Step step) {
  std::printf("%-16s", name);
  N x = 0.25;
  for (int i = 0; i < 7; ++i, x = step(N(3), x)) std::printf(" %-11.9g", static_cast<double>(x));
  std::printf(" 1/3 rounds to %.9g\n", static_cast<double>(1 / N(3)));
}

/// Every a in [1, 2), each from 3/4.
template <class N, class Step>
void print_ends(const char* name, Step step) {
  int right = 0, wrong = 0, endless = 0;
  double last_wrong = 0;
  for (N a = 1; a < 2; a = nextup(a)) {
    N x = 0.75;
    for (int i = 0; i < 30; ++i) x = step(a, x);
    const bool settled = step(a, x) == x;
    if (!settled) ++endless;
    if (settled && x == 1 / a) ++right;
    if (settled && x != 1 / a) ++wrong, last_wrong = static_cast<double>(a);
  }
  std::printf("%-16s right %3d  wrong %2d  endless %2d", name, right, wrong, endless);
  if (wrong > 0) std::printf("  last wrong: a = %.9g", last_wrong);
  std::puts("");
}

int main() {
  print_iterates<Bfloat16<Rounding::nearest_even>>("plain, nearest", plain);
  print_iterates<Bfloat16<Rounding::upward>>("plain, upward", plain);
  print_iterates<Bfloat16<Rounding::downward>>("plain, downward", plain);
  print_iterates<Bfloat16<Rounding::nearest_even>>("fused, nearest", fused);

  std::puts("\nAll 128 values of a in [1, 2):");
  print_ends<Bfloat16<Rounding::nearest_even>>("plain, nearest", plain);
  print_ends<Bfloat16<Rounding::upward>>("plain, upward", plain);
  print_ends<Bfloat16<Rounding::downward>>("plain, downward", plain);
  print_ends<Bfloat16<Rounding::nearest_even>>("fused, nearest", fused);
  print_ends<Bfloat16<Rounding::upward>>("fused, upward", fused);
  print_ends<Bfloat16<Rounding::downward>>("fused, downward", fused);
}

// SPDX-License-Identifier: Apache-2.0
// Instructions on vectors are counted, and no others, in a child that leaves this process as it is.
#include "bench/stepped.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>

using namespace ulpscope;

#if defined(__x86_64__)
namespace {

/// `count` times six instructions with those prefixes, of both lengths, and two without.
void execute(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    asm volatile(
        "vpxor %%xmm0, %%xmm0, %%xmm0\n\t"
        "vmovd %%eax, %%xmm1\n\t"
        "pxor %%xmm2, %%xmm2\n\t"
        "vmovdqa %%xmm0, %%xmm3\n\t"
        "vpaddd %%xmm3, %%xmm0, %%xmm0\n\t"
        "nop\n\t"
        "vpshufb %%xmm3, %%xmm0, %%xmm0\n\t"
        "vpor %%xmm3, %%xmm0, %%xmm0"
        :
        :
        : "xmm0", "xmm1", "xmm2", "xmm3");
}

void skip_if_untraced() {
  if (!__builtin_cpu_supports("avx")) SKIP("this processor has no AVX");
  if (!bench::vector_instructions([] {})) SKIP("processes may not be traced here");
}

}  // namespace

TEST_CASE("instructions with a VEX prefix are counted, and no others") {
  skip_if_untraced();
  const auto of = [](std::size_t count) { return bench::vector_instructions([=] { execute(count); }).value(); };
  CHECK(of(7) - of(2) == 30);
  CHECK(of(2) - of(0) == 12);
}

TEST_CASE("what a child does is its own, and a child that ends counts nothing") {
  skip_if_untraced();
  int here = 1;
  CHECK(bench::vector_instructions([&] { here = 2; }));
  CHECK(here == 1);
  CHECK_FALSE(bench::vector_instructions([] { std::_Exit(0); }));
  CHECK_FALSE(bench::vector_instructions([] { std::abort(); }));
}
#else
TEST_CASE("instructions of other processors are not counted") {
  CHECK_FALSE(bench::vector_instructions([] {}));
}
#endif

TEST_CASE("a benchmark counts only when it is asked to, and the difference of two calls") {
  unsetenv("ULPSCOPE_BENCH_COUNT");
  CHECK_FALSE(bench::more_vector_instructions([] { std::abort(); }, [] { std::abort(); }));
#if defined(__x86_64__)
  skip_if_untraced();
  setenv("ULPSCOPE_BENCH_COUNT", "1", 1);
  CHECK(bench::more_vector_instructions([] { execute(2); }, [] { execute(9); }) == -42.0);
  CHECK_FALSE(bench::more_vector_instructions([] { execute(2); }, [] { std::abort(); }));
  unsetenv("ULPSCOPE_BENCH_COUNT");
#endif
}

// SPDX-License-Identifier: Apache-2.0
// emu's remainder against the x87 instruction FPREM1, which computes IEEE 754's (Intel SDM, volume 2, FPREM1).
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "cpu_check.hpp"
#include "emu/catalogue.hpp"

using namespace peers;

namespace {

/// Loading, FPREM1 until it has finished (C2, bit 10 of the status word, is clear), storing. All are exact, so that neither
/// direction nor precision of the x87 matters; its invalid flag is bit 0.
template <class Word>
Executed remainder(const Operands& x, std::uint32_t) {
  const Word a = static_cast<Word>(x.a), b = static_cast<Word>(x.b);
  Word result = 0;
  std::uint16_t status = 0;
#define REMAINDER(suffix)                                                               \
  asm volatile("fnclex\n\tfld" suffix " %[b]\n\tfld" suffix                             \
               " %[a]\n1:\tfprem1\n\tfnstsw %%ax\n\ttestb $4, %%ah\n\tjnz 1b\n\t"       \
               "fstp" suffix " %[result]\n\tfstp %%st(0)\n\tfnstsw %[status]\n\tfnclex" \
               : [result] "=m"(result), [status] "=m"(status)                           \
               : [a] "m"(a), [b] "m"(b)                                                 \
               : "rax", "cc", "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)")
  if constexpr (sizeof(Word) == 4)
    REMAINDER("s");
  else
    REMAINDER("l");
#undef REMAINDER
  return {result, status & mxcsr_ie};
}

template <emu::Format f>
emu::Result ours(const Operands& x, const emu::RoundingOptions& options) {
  return emu::remainder(f, x.a, x.b, options);
}

template <class Word, emu::Format f>
void check_remainder(const Layout& layout, int random) {
  const std::vector<Law> law = {{"fprem1", remainder<Word>, ours<f>, number(f)}};
  check(law, directions(), pairs_of_interesting(layout));
  check(law, directions(), random_pairs(layout, random));
}

}  // namespace

TEST_CASE("FPREM1 is fp32's remainder, exact in every direction, invalid where that is", "[peers][arithmetic]") {
  check_remainder<std::uint32_t, emu::fp32>(float_layout, effort(500'000));
}

TEST_CASE("FPREM1 is fp64's remainder, exact in every direction, invalid where that is", "[peers][arithmetic]") {
  check_remainder<std::uint64_t, emu::fp64>(double_layout, effort(100'000));
}

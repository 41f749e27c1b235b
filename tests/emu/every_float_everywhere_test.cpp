// SPDX-License-Identifier: Apache-2.0
// Every format of at most 19 bits on every float, in every direction and policy.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <utility>

#include "tests/emu/every_float.hpp"

namespace {
using namespace ulpscope;
using every_float::require_every_float;

template <emu::Format F>
void require_every_float_in_every_direction() {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (require_every_float<F, laws::deterministic[I], emu::Policy::nonsaturating>(), ...);
    (require_every_float<F, laws::deterministic[I], emu::Policy::saturating>(), ...);
  }
  (std::make_index_sequence<std::size(laws::deterministic)>{});
}

// The formats of at most 19 bits, one case each, in every direction and policy.
#define ULPSCOPE_EVERY(format)                                                                                   \
  TEST_CASE("every float32 rounds right to " #format ", in every direction and policy", "[every][exhaustive]") { \
    require_every_float_in_every_direction<emu::format>();                                                       \
  }
ULPSCOPE_EVERY(tf32)
ULPSCOPE_EVERY(float16)
ULPSCOPE_EVERY(bfloat16)
ULPSCOPE_EVERY(float8_e5m2)
ULPSCOPE_EVERY(float8_e4m3fn)
ULPSCOPE_EVERY(float8_e4m3)
ULPSCOPE_EVERY(float8_e3m4)
ULPSCOPE_EVERY(float8_e4m3fnuz)
ULPSCOPE_EVERY(float8_e5m2fnuz)
ULPSCOPE_EVERY(float8_e4m3b11fnuz)
ULPSCOPE_EVERY(float8_e8m0fnu)
ULPSCOPE_EVERY(binary8p1se)
ULPSCOPE_EVERY(binary8p1ue)
ULPSCOPE_EVERY(binary8p3se)
ULPSCOPE_EVERY(binary8p3ue)
ULPSCOPE_EVERY(binary8p3uf)
ULPSCOPE_EVERY(binary8p4se)
ULPSCOPE_EVERY(binary8p4ue)
ULPSCOPE_EVERY(binary8p4uf)
ULPSCOPE_EVERY(binary8p7sf)
ULPSCOPE_EVERY(binary8p8uf)
ULPSCOPE_EVERY(float6_e3m2fn)
ULPSCOPE_EVERY(float6_e2m3fn)
ULPSCOPE_EVERY(float4_e2m1fn)

static_assert(std::count_if(emu::catalogue.begin(), emu::catalogue.end(),
                            [](const emu::NamedFormat& named) { return named.format.bits() <= 19; }) == 24,
              "a format of at most 19 bits has no case above");

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// Every format of at most 19 bits on every float, in every direction and policy.
#include <catch2/catch_test_macros.hpp>
#include <utility>

#include "tests/emu/every_float.hpp"
#include "tests/emu/formats_of_few_bits.hpp"

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

// A case for each format, in every direction and policy.
#define ULPSCOPE_EVERY(format)                                                                                   \
  TEST_CASE("every float32 rounds right to " #format ", in every direction and policy", "[every][exhaustive]") { \
    require_every_float_in_every_direction<emu::format>();                                                       \
  }
ULPSCOPE_FORMATS_OF_FEW_BITS(ULPSCOPE_EVERY)

}  // namespace

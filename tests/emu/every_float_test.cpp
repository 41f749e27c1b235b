// SPDX-License-Identifier: Apache-2.0
// The formats that most ask for, as most ask for them, on every float. Compiled for speed, which the cases beside are not.
#include "tests/emu/every_float.hpp"

#include <catch2/catch_test_macros.hpp>

namespace {
using namespace ulpscope;
using every_float::require_every_float;

constexpr auto nearest = emu::Rounding::nearest_even;
constexpr auto plain = emu::Policy::nonsaturating;

TEST_CASE("every float32 rounds to the nearest float16", "[every][long]") { require_every_float<emu::fp16, nearest, plain>(); }
TEST_CASE("every float32 rounds to the nearest bfloat16", "[every][long]") { require_every_float<emu::bf16, nearest, plain>(); }
TEST_CASE("every float32 rounds to the nearest e4m3", "[every][long]") { require_every_float<emu::e4m3, nearest, plain>(); }
TEST_CASE("every float32 rounds to the nearest e5m2", "[every][long]") { require_every_float<emu::e5m2, nearest, plain>(); }

}  // namespace

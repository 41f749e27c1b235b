// SPDX-License-Identifier: Apache-2.0
// Stands for the tests that need x86-64's instructions.
#include <catch2/catch_test_macros.hpp>

TEST_CASE("emu is what the CPU's own arithmetic and conversions are") { SKIP("the instructions compared with are x86-64's"); }

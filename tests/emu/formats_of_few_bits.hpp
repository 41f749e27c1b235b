// SPDX-License-Identifier: Apache-2.0
// The formats of the catalogue whose every code, direction and float can be visited, as a list for macros.
#pragma once

#include <algorithm>

#include "emu/catalogue.hpp"

/// CASE(name) for each format of at most 19 bits.
// clang-format off
#define ULPSCOPE_FORMATS_OF_FEW_BITS(CASE) \
  CASE(tf32) CASE(float16) CASE(bfloat16) CASE(float8_e5m2) CASE(float8_e4m3fn) CASE(float8_e4m3) \
  CASE(float8_e3m4) CASE(float8_e4m3fnuz) CASE(float8_e5m2fnuz) CASE(float8_e4m3b11fnuz) CASE(float8_e8m0fnu) \
  CASE(binary8p1se) CASE(binary8p1ue) CASE(binary8p3se) CASE(binary8p3ue) CASE(binary8p3uf) CASE(binary8p4se) \
  CASE(binary8p4ue) CASE(binary8p4uf) CASE(binary8p7sf) CASE(binary8p8uf) CASE(float6_e3m2fn) \
  CASE(float6_e2m3fn) CASE(float4_e2m1fn)
// clang-format on

#define ULPSCOPE_ONE_MORE(name) +1
static_assert(std::ranges::count_if(ulpscope::emu::catalogue, [](const auto& named) { return named.format.bits() <= 19; }) ==
                  0 ULPSCOPE_FORMATS_OF_FEW_BITS(ULPSCOPE_ONE_MORE),
              "a format of at most 19 bits is missing above");
#undef ULPSCOPE_ONE_MORE

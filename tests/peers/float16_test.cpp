// SPDX-License-Identifier: Apache-2.0
// emu against the compiler's own half, _Float16: its run-time library's conversions, or instructions where it was told to use
// them.
#include <catch2/catch_test_macros.hpp>
#include <cstdint>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "inputs.hpp"

using namespace ulpscope;

#if defined(__FLT16_MANT_DIG__)

namespace {

#if defined(__aarch64__)
using Half = __fp16;  // the name that GCC 12 has for it there
#else
using Half = _Float16;
#endif

/// NaNs keep their payload in _Float16; emu's are canonical.
bool same_half(std::uint64_t theirs, emu::Code ours) {
  return emu::fp16.is_nan(theirs) ? ours == emu::fp16.nan_code() : ours == theirs;
}

template <class Float>
void check() {
  const auto different = peers::first_difference<Float>(
      [](Float x) { return same_half(peers::bits_of<std::uint16_t>(static_cast<Half>(x)), emu::encode(emu::fp16, x)); });
  CAPTURE(different.value_or(0));
  CHECK_FALSE(different);
}

}  // namespace

TEST_CASE("_Float16 rounds float as fp16 nearest_even does", "[peers]") { check<float>(); }

TEST_CASE("_Float16 rounds double once, as fp16 nearest_even does", "[peers]") { check<double>(); }

TEST_CASE("every _Float16 means the same double as the code of fp16", "[peers]") {
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    const auto half = std::bit_cast<Half>(static_cast<std::uint16_t>(code));
    const auto theirs = static_cast<double>(half), ours = emu::decode(emu::fp16, code);
    CAPTURE(code);
    if (emu::fp16.is_nan(code))
      REQUIRE((theirs != theirs && ours != ours));
    else
      REQUIRE(std::bit_cast<std::uint64_t>(theirs) == std::bit_cast<std::uint64_t>(ours));
  }
}

#else

TEST_CASE("_Float16 converts as fp16 does", "[peers]") { SKIP("this compiler has no _Float16"); }

#endif

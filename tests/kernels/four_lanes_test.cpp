// SPDX-License-Identifier: Apache-2.0
// Whether the cases of this program, which are those of another, have vectors of four lanes to run on.
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "emu/simd.hpp"

using namespace ulpscope;

TEST_CASE("there are vectors of four lanes, and one lane", "[kernels]") {
  const std::vector<emu::SimdPath> paths = emu::simd_paths();
  if (paths.front() == emu::SimdPath::scalar) SKIP("this processor has no AVX2, in whose registers four lanes are tested");

  CHECK(paths == std::vector{emu::SimdPath::avx2, emu::SimdPath::scalar});
}

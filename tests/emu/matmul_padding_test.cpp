// SPDX-License-Identifier: Apache-2.0
// Zeros behind the products of a sum: where it is said that they leave every sum as it was, and where they do not.
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <span>
#include <vector>

#include "emu/engine_matmul.hpp"
#include "emu/engine_padding.hpp"
#include "emu/engines.hpp"
#include "emu/names.hpp"
#include "tests/emu/engine_problems.hpp"

namespace {

using namespace ulpscope::test;

/// A with `zeros` more columns, B with as many rows.
std::vector<float> product_with(std::size_t zeros, Problem p) {
  std::vector<float> wider;
  for (std::size_t i = 0; i < p.m; ++i) {
    wider.insert(wider.end(), p.a.begin() + static_cast<std::ptrdiff_t>(i * p.k),
                 p.a.begin() + static_cast<std::ptrdiff_t>((i + 1) * p.k));
    wider.resize(wider.size() + zeros, 0.0F);
  }
  p.a = wider, p.k += zeros;
  p.b.resize(p.k * p.n, 0.0F);
  return product(p.request());
}

}  // namespace

TEST_CASE("zeros keep the sums of the engines of which it is said") {
  Random random(21);
  std::size_t known = 0;
  bool has_hopper = false;
  for (const EngineMode& mode : engine_modes()) {
    if (mode.model.accumulator != float32) continue;
    for (const Kind kind : {Kind::ordinary, Kind::any_code, Kind::tiny, Kind::huge, Kind::sparse}) {
      const Problem p = problem_of(mode, kind, random, {.m = 20, .n = 70, .k = 100});
      if (!zeros_keep_sums(mode.model, p.a_format, p.b_format)) continue;
      ++known;
      has_hopper |= mode.engine == "sm_90" && p.a_format.bits() == 8;
      CAPTURE(mode.engine, mode.instruction, format_name(p.a_format), static_cast<int>(kind), p.m, p.n, p.k);
      const std::vector<float> expected = product(p.request());
      for (const std::size_t zeros : {std::size_t{1}, std::size_t{28}, std::size_t{200}})
        CHECK(differing(product_with(zeros, p), expected) == 0);
    }
  }
  CHECK(known > 20);
  CHECK(has_hopper);
}

TEST_CASE("zeros keep sums below the least normal number") {
  Random random(22);
  EngineMode mode{};
  mode.model = block_fma(8, 13), mode.model.result_fraction_bits = 13;
  const Format format = bfloat16;
  mode.inputs = std::span(&format, 1);
  CHECK(zeros_keep_sums(mode.model, format, format));
  for (int turn = 0; turn < 20; ++turn) {
    Problem p = problem_of(mode, Kind::tiny, random, {.m = 20, .n = 70, .k = 100});
    // A subnormal times a number near 2^-6: the alignment reaches below that of a sum alone.
    for (float& x : p.b) x = 0x1p-6F * static_cast<float>(decode(format, random.code(format, Kind::ordinary)));
    p.c.clear();
    CHECK(differing(product_with(64, p), product(p.request())) == 0);
  }
}

TEST_CASE("it is not said of sums that zeros change") {
  Random random(22);
  EngineMode mode{};
  const Format format = float8_e4m3fn;
  mode.model = block_fma(8, 13);  // results have more bits than an alignment keeps
  mode.inputs = std::span(&format, 1);
  CHECK_FALSE(zeros_keep_sums(mode.model, format, format));
  std::size_t changed = 0;
  for (int turn = 0; turn < 20; ++turn) {
    Problem p = problem_of(mode, Kind::ordinary, random, {.m = 20, .n = 70, .k = 100});
    p.c.clear();
    changed += differing(product_with(64, p), product(p.request()));
  }
  CHECK(changed > 0);
}

// SPDX-License-Identifier: Apache-2.0
// What the processor's units neither read nor leave behind, and what they refuse.
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <thread>
#include <vector>

#include "emu/error.hpp"
#include "tests/gpu/comparison.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

namespace {

using namespace ulpscope;
using gpu::test_problems;
using gpu::TestProblems;
using gpu::TestShape;
using testing::Code;
using testing::compare;
using testing::emulate;
using testing::run;
using testing::Subject;
using testing::subject;

constexpr std::uint64_t seed = 20240602;

/// The processor's components in use, by the bits of XCR0 (Intel SDM volume 1, 13.2).
std::uint64_t components_in_use() {
  std::uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return std::uint64_t{high} << 32 | low;
}

/// Results under a control word, and whether that word was there afterwards, flags included.
struct Controlled {
  std::vector<Code> d;
  unsigned after;
};

Controlled run_under(unsigned mxcsr, const Subject& s, const TestProblems& problems) {
  Controlled result{std::vector<Code>(problems.c.size()), 0};
  const unsigned before = _mm_getcsr();
  _mm_setcsr(mxcsr);
  s.unit->multiply(s.operation, problems.view(), result.d);
  result.after = _mm_getcsr();
  _mm_setcsr(before);
  return result;
}

void check_mxcsr_plays_no_part(const Subject& s) {
  constexpr unsigned masks = 0x1f80, downward = 0x2000, upward = 0x4000, toward_zero = 0x6000, ftz = 0x8000, daz = 0x0040;
  const TestProblems problems = test_problems(TestShape(s.operation, s.operation.products), seed, 0, 20000);
  const auto usual = run_under(masks, s, problems).d;
  for (const unsigned mxcsr : {masks | downward, masks | upward, masks | toward_zero, masks | ftz, masks | daz, 0u}) {
    CAPTURE(mxcsr);
    const Controlled other = run_under(mxcsr, s, problems);

    CHECK((other.d == usual));
    CHECK(other.after == mxcsr);
  }
}

}  // namespace

TEST_CASE("TDPBF16PS neither reads nor writes MXCSR") { check_mxcsr_plays_no_part(subject("cpu:amx_bf16", "TDPBF16PS")); }
TEST_CASE("VDPBF16PS neither reads nor writes MXCSR") { check_mxcsr_plays_no_part(subject("cpu:avx512_bf16", "VDPBF16PS")); }
TEST_CASE("the units of fused multiply-adds bring their own MXCSR") {
  check_mxcsr_plays_no_part(subject("cpu:avx512_fp16", "VFMADD231PH"));
  check_mxcsr_plays_no_part(subject("cpu:avx512f", "VFMADD231PS"));
  check_mxcsr_plays_no_part(subject("cpu:avx512f", "VFMADD231PD"));
}

TEST_CASE("a tile of fewer columns computes what an engine of fewer products does") {
  Subject s = subject("cpu:amx_bf16", "TDPBF16PS");
  for (int products = 2; products < 32; products += 2) {
    CAPTURE(products);
    s.operation.products = static_cast<std::size_t>(products);
    s.engine.products = products;
    s.engine.stages[0].terms = products / 2;
    for (const std::size_t tiles : {1u, 3u}) {
      const TestProblems problems = test_problems(TestShape(s.operation, tiles * s.operation.products), seed, 0, 5000);

      const auto found = compare(problems, run(*s.unit, s.operation, problems), emulate(s.engine, s.operation, problems));

      CAPTURE(found.first);
      CHECK(found.mismatches == 0);
    }
  }
}

TEST_CASE("zeros in a full tile instead of fewer columns change signs of zeros, and nothing else") {
  const Subject s = subject("cpu:amx_bf16", "TDPBF16PS");
  gpu::Operation narrow = s.operation;
  narrow.products = 8;
  const TestProblems problems = test_problems(TestShape(narrow, narrow.products), seed, 0, 100000);
  TestProblems padded{s.operation.products, {}, {}, problems.c, {}, {}};
  for (std::size_t i = 0; i < padded.c.size(); ++i)
    for (std::size_t k = 0; k < padded.products; ++k) {
      padded.a.push_back(k < narrow.products ? problems.a[i * narrow.products + k] : 0);
      padded.b.push_back(k < narrow.products ? problems.b[i * narrow.products + k] : 0);
    }

  const auto short_tiles = run(*s.unit, narrow, problems), full_tiles = run(*s.unit, s.operation, padded);

  constexpr Code negative_zero = 0x80000000;
  std::size_t other_zeros = 0, other_differences = 0;
  for (std::size_t i = 0; i < short_tiles.size(); ++i) {
    const bool zeros = short_tiles[i] == negative_zero && full_tiles[i] == 0;
    if (zeros) ++other_zeros;
    if (!zeros && short_tiles[i] != full_tiles[i]) ++other_differences;
  }
  CHECK(other_zeros > 0);
  CHECK(other_differences == 0);
}

TEST_CASE("tiles are released") {
  constexpr std::uint64_t tile_configuration = 1 << 17, tile_data = 1 << 18;
  const Subject s = subject("cpu:amx_bf16", "TDPBF16PS");
  run(*s.unit, s.operation, test_problems(TestShape(s.operation, s.operation.products), seed, 0, 100));

  CHECK((components_in_use() & (tile_configuration | tile_data)) == 0);
}

TEST_CASE("the processor's units answer in every thread") {
  for (const auto& unit : gpu::cpu_units()) {
    for (const gpu::Operation& operation : unit->operations()) {
      CAPTURE(unit->name(), operation.instruction);
      const TestProblems problems = test_problems(TestShape(operation, operation.products), seed, 0, 20000);
      const auto alone = run(*unit, operation, problems);
      std::vector<std::vector<Code>> together(4);
      std::vector<std::thread> threads;
      for (auto& d : together) threads.emplace_back([&] { d = run(*unit, operation, problems); });
      for (auto& thread : threads) thread.join();

      for (const auto& d : together) CHECK((d == alone));
    }
  }
}

TEST_CASE("the processor's units refuse what they do not have") {
  for (const auto& unit : gpu::cpu_units()) {
    gpu::Operation operation = unit->operations().front();
    operation.instruction = "mma.sync";
    CAPTURE(unit->name());

    CHECK_THROWS_AS(run(*unit, operation, TestProblems{operation.products, {}, {}, {}, {}, {}}), Error);
  }
}

TEST_CASE("a tile has an even number of products, no more than 32") {
  Subject s = subject("cpu:amx_bf16", "TDPBF16PS");
  for (const std::size_t products : {0u, 1u, 31u, 34u}) {
    s.operation.products = products;

    CHECK_THROWS_AS(run(*s.unit, s.operation, TestProblems{products, {}, {}, {}, {}, {}}), Error);
  }
}

#endif

// SPDX-License-Identifier: Apache-2.0
// What the processor's units neither read nor leave behind, and what they refuse.
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <thread>
#include <vector>

#include "emu/error.hpp"
#include "tests/gpu/comparison.hpp"
#include "tests/gpu/control_word.hpp"

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

#if defined(__x86_64__) || defined(__aarch64__)

/// Results under a control word, and whether that word was there afterwards, flags included.
struct Controlled {
  std::vector<Code> d;
  std::uint64_t after;
};

Controlled run_under(std::uint64_t word, const Subject& s, const TestProblems& problems) {
  Controlled result{std::vector<Code>(problems.c.size()), 0};
  const std::uint64_t before = testing::control_word();
  testing::set_control_word(word);
  s.unit->multiply(s.operation, problems.view(), result.d);
  result.after = testing::control_word();
  testing::set_control_word(before);
  return result;
}

void check_control_word_plays_no_part(const char* unit, const char* instruction) {
  const Subject s = subject(unit, instruction);
  const TestProblems problems = test_problems(TestShape(s.operation, s.operation.products), seed, 0, 20000);
  const auto usual = run(*s.unit, s.operation, problems);
  for (const std::uint64_t word : testing::control_words()) {
    CAPTURE(instruction, word);
    const Controlled other = run_under(word, s, problems);

    CHECK((other.d == usual));
    CHECK(other.after == word);
  }
}

#endif

}  // namespace

#if defined(__x86_64__)

TEST_CASE("TDPBF16PS neither reads nor writes MXCSR") { check_control_word_plays_no_part("cpu:amx_bf16", "TDPBF16PS"); }
TEST_CASE("VDPBF16PS neither reads nor writes MXCSR") { check_control_word_plays_no_part("cpu:avx512_bf16", "VDPBF16PS"); }
TEST_CASE("the units of fused multiply-adds bring their own MXCSR") {
  check_control_word_plays_no_part("cpu:avx512_fp16", "VFMADD231PH");
  check_control_word_plays_no_part("cpu:avx512f", "VFMADD231PS");
  check_control_word_plays_no_part("cpu:avx512f", "VFMADD231PD");
}

#elif defined(__aarch64__)

TEST_CASE("the units of bfloat16 bring their own FPCR") {
  for (const char* const instruction : {"BFDOT", "BFMMLA", "BFMLALB", "BFMLALT"})
    check_control_word_plays_no_part("cpu:arm_bf16", instruction);
}
TEST_CASE("the units of float16 bring their own FPCR") {
  for (const char* const instruction : {"FMLA 8H", "FMLAL", "FMLAL2"})
    check_control_word_plays_no_part("cpu:arm_fp16", instruction);
}
TEST_CASE("outer products bring their own FPCR") {
  for (const char* const instruction : {"BFMOPA", "FMOPA of halves", "FMOPA of singles", "FMOPA of doubles"})
    check_control_word_plays_no_part("cpu:arm_sme", instruction);
}
TEST_CASE("the units of float32 and float64 bring their own FPCR") {
  for (const char* const instruction : {"FMLA 4S", "FMLA 2D"}) check_control_word_plays_no_part("cpu:neon", instruction);
}

#endif

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

#if defined(__x86_64__)

/// The processor's components in use, by the bits of XCR0 (Intel SDM volume 1, 13.2).
std::uint64_t components_in_use() {
  std::uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return std::uint64_t{high} << 32 | low;
}

TEST_CASE("tiles are released") {
  constexpr std::uint64_t tile_configuration = 1 << 17, tile_data = 1 << 18;
  const Subject s = subject("cpu:amx_bf16", "TDPBF16PS");
  run(*s.unit, s.operation, test_problems(TestShape(s.operation, s.operation.products), seed, 0, 100));

  CHECK((components_in_use() & (tile_configuration | tile_data)) == 0);
}

#endif

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

// SPDX-License-Identifier: Apache-2.0
// The processor's own matrix units and the emulated engines: the same bits, signs of zeros and payloads of NaNs included.
#include <catch2/catch_test_macros.hpp>

#include "tests/gpu/unit_checks.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::testing;

Subject amx_bf16() { return subject("cpu:amx_bf16", "TDPBF16PS"); }
Subject avx512_bf16() { return subject("cpu:avx512_bf16", "VDPBF16PS"); }
Subject halves() { return subject("cpu:avx512_fp16", "VFMADD231PH"); }
Subject singles() { return subject("cpu:avx512f", "VFMADD231PS"); }
Subject doubles() { return subject("cpu:avx512f", "VFMADD231PD"); }

}  // namespace

TEST_CASE("TDPBF16PS gives the bits of the engine amx_bf16") { check_same_bits(amx_bf16(), 1000000); }
TEST_CASE("VDPBF16PS gives the bits of the engine avx512_bf16") { check_same_bits(avx512_bf16(), 3000000); }
TEST_CASE("VFMADD231PH gives the bits of the engine x86_fma") { check_same_bits(halves(), 3000000); }
TEST_CASE("VFMADD231PS gives the bits of the engine x86_fma") { check_same_bits(singles(), 3000000); }
TEST_CASE("VFMADD231PD gives the bits of the engine x86_fma") { check_same_bits(doubles(), 3000000); }

TEST_CASE("TDPBF16PS gives the bits of its engine, at length", "[exhaustive]") { check_same_bits(amx_bf16(), 20000000); }
TEST_CASE("VDPBF16PS gives the bits of its engine, at length", "[exhaustive]") { check_same_bits(avx512_bf16(), 100000000); }
TEST_CASE("VFMADD231PH gives the bits of its engine, at length", "[exhaustive]") { check_same_bits(halves(), 100000000); }
TEST_CASE("VFMADD231PS gives the bits of its engine, at length", "[exhaustive]") { check_same_bits(singles(), 100000000); }
TEST_CASE("VFMADD231PD gives the bits of its engine, at length", "[exhaustive]") { check_same_bits(doubles(), 100000000); }

// bfloat16 operands: 3f80 is 1, 1a00 is 2^-75, 1980 is 2^-76, 2000 is 2^-63.

TEST_CASE("VDPBF16PS by literal results") {
  check_literals(avx512_bf16(), {
                                    {"a signaling NaN becomes quiet", {0, 0}, {0, 0}, 0xff812345, 0xffc12345},
                                    {"NaN of a before that of b", {0xffc1, 0}, {0x7fc2, 0}, 0, 0xffc10000},
                                    {"NaN of a product before that of c", {0, 0x7f81}, {0, 0}, 0x7fc12345, 0x7fc10000},
                                    {"NaN of the even product before the odd", {0x7fc1, 0x7fc2}, {0, 0}, 0, 0x7fc10000},
                                    {"0 * infinity", {0x7f80, 0}, {0, 0}, 0, 0xffc00000},
                                    {"subnormal * infinity", {0, 0x7f80}, {0, 1}, 0, 0xffc00000},
                                    {"0 * infinity, and c is NaN", {0x7f80, 0}, {0, 0}, 0x7fc12345, 0x7fc12345},
                                    {"infinity - infinity", {0x7f80, 0xff80}, {0x3f80, 0x3f80}, 0, 0xffc00000},
                                    {"all are -0", {0x8000, 0x8000}, {0, 0}, 0x80000000, 0x80000000},
                                    {"-0 and a product that is +0", {0x8000, 0}, {0, 0}, 0x80000000, 0},
                                    {"a subnormal c keeps its sign", {0x8000, 0x8000}, {0, 0}, 0x80000001, 0x80000000},
                                    {"tiny, of a normal c", {0x9a00, 0}, {0x1a00, 0}, 0x00800000, 0},
                                    {"rounds to what is not tiny", {0x9a00, 0}, {0x1980, 0}, 0x00800000, 0x00800000},
                                    {"tiny and negative", {0x1a00, 0}, {0x1a00, 0}, 0x80800000, 0x80000000},
                                    {"a tiny product is not flushed alone", {0x1980, 0}, {0x1a00, 0}, 0x80800000, 0x80800000},
                                    {"overflow", {0x7f00, 0}, {0x7f00, 0}, 0, 0x7f800000},
                                });
}

TEST_CASE("TDPBF16PS by literal results") {
  check_literals(amx_bf16(),
                 {
                     {"a signaling NaN becomes quiet", {0}, {0}, 0xff812345, 0xffc12345},
                     {"NaN of a before that of b", {0xffc1}, {0x7fc2}, 0, 0xffc10000},
                     {"NaN of c before that of a product", {0x7fc1}, {0}, 0x7fc12345, 0x7fc12345},
                     {"NaN of an even product before an odd", {0x7fc1, 0x7fc2}, {0, 0}, 0, 0x7fc10000},
                     {"NaN of the later product", {0x7fc1, 0, 0x7fc3}, {0, 0, 0}, 0, 0x7fc30000},
                     {"a new NaN in the even sum before one of an odd product", {0x7f80, 0x7fc1}, {0, 0}, 0, 0xffc00000},
                     {"0 * infinity after a NaN", {0x7fc1, 0, 0x7f80}, {0, 0, 0}, 0, 0x7fc10000},
                     {"infinity - infinity", {0x7f80, 0xff80}, {0x3f80, 0x3f80}, 0, 0xffc00000},
                     {"the chains start at +0", std::vector<Code>(32, 0x8000), std::vector<Code>(32, 0), 0x80000000, 0},
                     {"products alone are tiny, and flushed", {0x1a00}, {0x1a00}, 0x80800000, 0x80800000},
                     {"tiny sum in a chain", {0x2000, 0, 0x9a00}, {0x2000, 0, 0x1a00}, 0, 0},
                     {"rounds to what is not tiny", {0x2000, 0, 0x9a00}, {0x2000, 0, 0x1980}, 0, 0x00800000},
                     {"overflow", {0x7f00}, {0x7f00}, 0, 0x7f800000},
                 });
}

TEST_CASE("TDPBF16PS keeps the -0 of two chains that end in flushed sums") {
  const Subject s = amx_bf16();
  TestProblems problem{32, std::vector<Code>(32), std::vector<Code>(32), {0x80000000}, {}, {}};
  for (const std::size_t last : {30u, 31u}) {
    problem.a[last] = 0x9a00;
    problem.b[last] = 0x1a00;
  }

  CHECK(run(*s.unit, s.operation, problem).front() == 0x80000000);
  CHECK(emulate(s.engine, s.operation, problem).front() == 0x80000000);
}

TEST_CASE("TDPBF16PS: a wrong engine is seen") {
  check_mutants_are_seen(
      amx_bf16(), {
                      unfused,
                      {"one chain", [](emu::Engine& e) { e.stages[0].terms = 32; }},
                      {"halves instead of even and odd", [](emu::Engine& e) { e.stages[0].run = 16; }},
                      {"c before the sum of the chains", [](emu::Engine& e) { e.stages[1].addend = emu::Addend::first; }},
                      {"odd before even", [](emu::Engine& e) { e.stages[1].descending = false; }},
                      {"descending k", [](emu::Engine& e) { e.stages[0].descending = true; }},
                      {"the sum of the chains from +0", [](emu::Engine& e) { e.stages[1].starts_at_zero = true; }},
                      {"the chains from their first products", [](emu::Engine& e) { e.stages[0].starts_at_zero = false; }},
                      {"one exact sum",
                       [](emu::Engine& e) {
                         e.stages[0].terms = emu::Stage::all;
                         e.stages[0].summing = emu::Summing::exact;
                         e.stages[0].addend = emu::Addend::first;
                         e.stage_count = 1;
                       }},
                  });
}

TEST_CASE("VDPBF16PS: a wrong engine is seen") {
  check_mutants_are_seen(avx512_bf16(),
                         {
                             unfused,
                             {"even before odd", [](emu::Engine& e) { e.stages[0].descending = false; }},
                             {"the pair before c", [](emu::Engine& e) { e.stages[0].addend = emu::Addend::last; }},
                             {"one exact sum", [](emu::Engine& e) { e.stages[0].summing = emu::Summing::exact; }},
                         });
}

TEST_CASE("VFMADD231PH: a wrong engine is seen") { check_mutants_are_seen(halves(), {unfused}); }
TEST_CASE("VFMADD231PS: a wrong engine is seen") { check_mutants_are_seen(singles(), {unfused}); }
TEST_CASE("VFMADD231PD: a wrong engine is seen") { check_mutants_are_seen(doubles(), {unfused}); }

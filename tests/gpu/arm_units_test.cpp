// SPDX-License-Identifier: Apache-2.0
// Arm's dot products, matrix products and fused multiply-adds and the emulated engines: the same bits, signs of zeros and
// payloads of NaNs included. On other processors all of this is skipped.
#include <catch2/catch_test_macros.hpp>

#include "tests/gpu/unit_checks.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::testing;

constexpr std::size_t million = 1000000;

Subject bf16(const char* instruction) { return subject("cpu:arm_bf16", instruction); }
Subject fp16(const char* instruction) { return subject("cpu:arm_fp16", instruction); }
Subject sme(const char* instruction) { return subject("cpu:arm_sme", instruction); }
Subject neon(const char* instruction) { return subject("cpu:neon", instruction); }

// bfloat16 operands: 3f80 is 1, 3080 is 2^-30, b080 its negative, 2000 is 2^-63, 1f80 is 2^-64, 7300 is 2^103, 7380 is 2^104.
const std::vector<Literal> literals_of_pairs{
    {"a NaN is the default one", {0, 0}, {0, 0}, 0xff812345, 0x7fc00000},
    {"and so is that of an operand", {0, 0xffc1}, {0, 0}, 0, 0x7fc00000},
    {"0 * infinity", {0x7f80, 0}, {0, 0}, 0, 0x7fc00000},
    {"subnormal * infinity", {0, 0x7f80}, {0, 1}, 0, 0x7fc00000},
    {"infinity - infinity", {0x7f80, 0xff80}, {0x3f80, 0x3f80}, 0, 0x7fc00000},
    {"infinity", {0x3f80, 0xff80}, {0x3f80, 0x3f80}, 0x7f7fffff, 0xff800000},
    {"the sum of products is rounded to odd", {0x3f80, 0x3080}, {0x3f80, 0x3f80}, 0, 0x3f800001},
    {"what is odd is cut", {0x3f80, 0xb080}, {0x3f80, 0x3f80}, 0, 0x3f7fffff},
    {"the sum with c is rounded to odd", {0x3f80, 0}, {0x3f80, 0}, 0x30800000, 0x3f800001},
    {"the products are added before c", {0x3f80, 0x3080}, {0x3f80, 0x3f80}, 0xbf800000, 0x34000000},
    {"all are -0", {0x8000, 0x8000}, {0, 0}, 0x80000000, 0x80000000},
    {"-0 and a product that is +0", {0x8000, 0}, {0, 0}, 0x80000000, 0},
    {"1 - 1", {0x3f80, 0xbf80}, {0x3f80, 0x3f80}, 0x80000000, 0},
    {"a subnormal c keeps its sign", {0x8000, 0x8000}, {0, 0}, 0x80000001, 0x80000000},
    {"products that are subnormal count as zeros", {0x2000, 0x2000}, {0x1f80, 0x1f80}, 0, 0},
    {"and keep their signs", {0xa000, 0xa000}, {0x1f80, 0x1f80}, 0x80000000, 0x80000000},
    {"a subnormal sum", {0x2000, 0xa000}, {0x2040, 0x2000}, 0, 0},
    {"overflow to nearest is none", {0x7300, 0}, {0x3f80, 0}, 0x7f7fffff, 0x7f7fffff},
    {"overflow", {0x7380, 0}, {0x3f80, 0}, 0x7f7fffff, 0x7f800000},
    {"overflow of a product", {0x7f00, 0xff00}, {0x4000, 0x3f80}, 0xff7fffff, 0x7f800000},
};

const std::vector<Mutant> mutants_of_pairs{
    {"to nearest even", [](emu::Engine& e) { e.stages[0].rounding = emu::Rounding::nearest_even; }},
    {"toward zero", [](emu::Engine& e) { e.stages[0].rounding = emu::Rounding::toward_zero; }},
    {"overflow to the largest finite number", [](emu::Engine& e) { e.overflow_is_infinity = false; }},
    {"one after another", [](emu::Engine& e) { e.stages[0].summing = emu::Summing::sequential; }},
};

const std::vector<Mutant> mutants_of_fma{
    {"NaNs as on x86", [](emu::Engine& e) { e.nan_result = emu::NanResult::operand; }},
    {"to odd", [](emu::Engine& e) { e.stages[0].rounding = emu::Rounding::to_odd; }},
};

std::vector<Mutant> with_unfused(std::vector<Mutant> mutants) {
  mutants.push_back(unfused);
  return mutants;
}

}  // namespace

TEST_CASE("BFDOT gives the bits of the engine arm_bf16") { check_same_bits(bf16("BFDOT"), million); }
TEST_CASE("BFMMLA gives the bits of the engine arm_bf16") { check_same_bits(bf16("BFMMLA"), million); }
TEST_CASE("BFMLALB gives the bits of the engine arm_fma") { check_same_bits(bf16("BFMLALB"), million); }
TEST_CASE("BFMLALT gives the bits of the engine arm_fma") { check_same_bits(bf16("BFMLALT"), million); }
TEST_CASE("FMLAL gives the bits of the engine arm_fma") { check_same_bits(fp16("FMLAL"), million); }
TEST_CASE("FMLAL2 gives the bits of the engine arm_fma") { check_same_bits(fp16("FMLAL2"), million); }
TEST_CASE("FMLA of halves gives the bits of the engine arm_fma") { check_same_bits(fp16("FMLA 8H"), million); }
TEST_CASE("FMLA of singles gives the bits of the engine arm_fma") { check_same_bits(neon("FMLA 4S"), million); }
TEST_CASE("FMLA of doubles gives the bits of the engine arm_fma") { check_same_bits(neon("FMLA 2D"), million); }

TEST_CASE("BFMOPA gives the bits of the engine arm_bf16") { check_same_bits(sme("BFMOPA"), million); }
TEST_CASE("FMOPA of halves gives the bits of the engine arm_fmopa") { check_same_bits(sme("FMOPA of halves"), million); }
TEST_CASE("FMOPA of singles gives the bits of the engine arm_fmopa") { check_same_bits(sme("FMOPA of singles"), million); }
TEST_CASE("FMOPA of doubles gives the bits of the engine arm_fmopa") { check_same_bits(sme("FMOPA of doubles"), million); }

TEST_CASE("Arm's units give the bits of their engines, at length", "[exhaustive]") {
  for (const char* const instruction : {"BFDOT", "BFMMLA", "BFMLALB", "BFMLALT"})
    check_same_bits(bf16(instruction), 30 * million);
  for (const char* const instruction : {"FMLAL", "FMLAL2", "FMLA 8H"}) check_same_bits(fp16(instruction), 30 * million);
  for (const char* const instruction : {"FMLA 4S", "FMLA 2D"}) check_same_bits(neon(instruction), 30 * million);
}

TEST_CASE("BFDOT by literal results") { check_literals(bf16("BFDOT"), literals_of_pairs); }
TEST_CASE("BFMMLA by literal results") {
  std::vector<Literal> literals;
  for (const Literal& pair : literals_of_pairs) {
    // -0 and the +0 of the second pair make +0.
    if (pair.d != 0x80000000) literals.push_back(pair);
  }
  literals.push_back({"all are -0", {0x8000, 0x8000, 0x8000, 0x8000}, {0, 0, 0, 0}, 0x80000000, 0x80000000});
  literals.push_back({"a pair after the other", {0x3f80, 0x3080, 0xbf80, 0}, {0x3f80, 0x3f80, 0x3f80, 0}, 0, 0x34000000});
  check_literals(bf16("BFMMLA"), literals);
}

TEST_CASE("FMLA of singles by literal results") {
  check_literals(neon("FMLA 4S"), {
                                      {"a signaling NaN becomes quiet", {0}, {0}, 0xff812345, 0xffc12345},
                                      {"a quiet NaN of c before that of a", {0x7fc00001}, {0}, 0x7fc12345, 0x7fc12345},
                                      {"a quiet NaN of a before that of b", {0x7fc00001}, {0x7fc00002}, 0, 0x7fc00001},
                                      {"a signaling NaN of b before a quiet of a", {0x7fc00001}, {0xff800002}, 0, 0xffc00002},
                                      {"a signaling NaN of a before a quiet of c", {0x7f800001}, {0}, 0x7fc12345, 0x7fc00001},
                                      {"a signaling NaN of c before all", {0x7f800001}, {0x7f800002}, 0x7f812345, 0x7fc12345},
                                      {"0 * infinity", {0}, {0xff800000}, 0, 0x7fc00000},
                                      {"0 * infinity, and c is a quiet NaN", {0}, {0x7f800000}, 0x7fc12345, 0x7fc00000},
                                      {"0 * infinity, and c is signaling", {0}, {0x7f800000}, 0x7f812345, 0x7fc12345},
                                      {"infinity - infinity", {0x3f800000}, {0x7f800000}, 0xff800000, 0x7fc00000},
                                  });
}

TEST_CASE("BFMOPA by literal results") { check_literals(sme("BFMOPA"), literals_of_pairs); }
// float16 operands: 3c00 is 1, 0c00 is 2^-12, 0c01 the next number.
TEST_CASE("FMOPA of halves by literal results") {
  check_literals(sme("FMOPA of halves"), {
                                             {"a NaN is the default one", {0, 0}, {0, 0}, 0xff812345, 0x7fc00000},
                                             {"0 * infinity", {0x7c00, 0}, {0, 0}, 0, 0x7fc00000},
                                             {"infinity - infinity", {0x7c00, 0xfc00}, {0x3c00, 0x3c00}, 0, 0x7fc00000},
                                             {"their sum is", {0x3c00, 0x0c00}, {0x3c00, 0x0c00}, 0xbf800000, 0},
                                             {"to nearest even", {0x3c00, 0x0c01}, {0x3c00, 0x0c00}, 0xbf800000, 0x34000000},
                                             {"all are -0", {0x8000, 0x8000}, {0, 0}, 0x80000000, 0x80000000},
                                             {"products of both signs", {0x8000, 0}, {0, 0}, 0x80000000, 0},
                                             {"a subnormal result", {0, 0}, {0, 0}, 0x80000001, 0x80000001},
                                         });
}

TEST_CASE("BFMOPA and FMOPA: a wrong engine is seen") {
  check_mutants_are_seen(sme("BFMOPA"), mutants_of_pairs);
  check_mutants_are_seen(sme("FMOPA of halves"),
                         {{"to odd", [](emu::Engine& e) { e.stages[0].rounding = emu::Rounding::to_odd; }},
                          {"one after another", [](emu::Engine& e) { e.stages[0].summing = emu::Summing::sequential; }}});
  check_mutants_are_seen(sme("FMOPA of singles"), with_unfused(mutants_of_fma));
}

TEST_CASE("BFDOT: a wrong engine is seen") { check_mutants_are_seen(bf16("BFDOT"), mutants_of_pairs); }
TEST_CASE("BFMMLA: a wrong engine is seen") {
  std::vector<Mutant> mutants = mutants_of_pairs;
  mutants.push_back({"all products before c", [](emu::Engine& e) { e.products = e.stages[0].terms = 4; }});
  check_mutants_are_seen(bf16("BFMMLA"), mutants);
}
TEST_CASE("BFMLALB and BFMLALT: a wrong engine is seen") {
  check_mutants_are_seen(bf16("BFMLALB"), with_unfused(mutants_of_fma));
  check_mutants_are_seen(bf16("BFMLALT"), with_unfused(mutants_of_fma));
}
TEST_CASE("FMLAL and FMLAL2: a wrong engine is seen") {
  check_mutants_are_seen(fp16("FMLAL"), mutants_of_fma);
  check_mutants_are_seen(fp16("FMLAL2"), mutants_of_fma);
}
TEST_CASE("FMLA: a wrong engine is seen") {
  check_mutants_are_seen(fp16("FMLA 8H"), with_unfused(mutants_of_fma));
  check_mutants_are_seen(neon("FMLA 4S"), with_unfused(mutants_of_fma));
  check_mutants_are_seen(neon("FMLA 2D"), with_unfused(mutants_of_fma));
}

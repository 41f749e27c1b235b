// SPDX-License-Identifier: Apache-2.0
// The comparison of emu with the CPU's instructions: codes, but for the payload and sign of NaNs, and flags.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "cpu_instructions.hpp"
#include "cpu_operands.hpp"
#include "emu/arithmetic.hpp"
#include "emu/names.hpp"

namespace peers {

namespace emu = ulpscope::emu;

/// What MXCSR says, and the options that mean the same to emu.
struct Environment {
  std::uint32_t control;
  emu::RoundingOptions options;
};

inline constexpr Environment nearest{mxcsr_usual | mxcsr_nearest, {.rounding = emu::Rounding::nearest_even}};

inline std::vector<Environment> directions() {
  return {nearest,
          {mxcsr_usual | mxcsr_down, {.rounding = emu::Rounding::downward}},
          {mxcsr_usual | mxcsr_up, {.rounding = emu::Rounding::upward}},
          {mxcsr_usual | mxcsr_zero, {.rounding = emu::Rounding::toward_zero}}};
}

/// Every direction with subnormal inputs as zero, with subnormal results flushed, and with both.
inline std::vector<Environment> flushing_directions() {
  std::vector<Environment> all;
  for (const Environment& e : directions())
    for (const std::uint32_t bits : {mxcsr_daz, mxcsr_ftz, mxcsr_daz | mxcsr_ftz}) {
      Environment flushing{e.control | bits, e.options};
      flushing.options.subnormals_are_zero = (bits & mxcsr_daz) != 0;
      flushing.options.flush_subnormals = (bits & mxcsr_ftz) != 0;
      all.push_back(flushing);
    }
  return all;
}

inline emu::Flags flags_of(std::uint32_t mxcsr) {
  const auto flag = [&](std::uint32_t bit, emu::Flags f) { return (mxcsr & bit) != 0 ? f : emu::no_flags; };
  return flag(mxcsr_ie, emu::invalid) | flag(mxcsr_ze, emu::divide_by_zero) | flag(mxcsr_oe, emu::overflow) |
         flag(mxcsr_ue, emu::underflow) | flag(mxcsr_pe, emu::inexact);
}

/// What a result is, and so which of its bits count and whether it may be a NaN.
struct ResultKind {
  std::uint64_t mask;
  std::optional<emu::Format> format;
};
inline ResultKind number(emu::Format f) { return {f.code_mask(), f}; }
inline ResultKind integer(int bits) { return {~std::uint64_t{0} >> (64 - bits), std::nullopt}; }
inline constexpr ResultKind eflags{0x4500, std::nullopt};

/// An instruction and what it should give.
struct Law {
  std::string name;
  Instruction hardware;
  emu::Result (*expected)(const Operands&, const emu::RoundingOptions&);
  ResultKind result;
};

inline std::optional<std::string> difference(const Law& law, const Environment& environment, const Operands& x) {
  const Executed executed = law.hardware(x, environment.control);
  std::uint64_t bits = executed.bits & law.result.mask;
  if (law.result.format && law.result.format->is_nan(bits)) bits = law.result.format->nan_code();
  const emu::Result hardware{bits, flags_of(executed.mxcsr)}, expected = law.expected(x, environment.options);
  if (hardware == expected) return std::nullopt;
  std::ostringstream out;
  out << law.name << ' ' << emu::name_of(environment.options.rounding) << std::hex << " MXCSR " << environment.control
      << " a=" << x.a << " b=" << x.b << " c=" << x.c << ": the CPU gives " << hardware.code << " flags " << int{hardware.flags}
      << ", emu " << expected.code << " flags " << int{expected.flags};
  return out.str();
}

/// Every law on all of the operands, one after the other, in every environment.
inline void check(const std::vector<Law>& laws, const std::vector<Environment>& environments,
                  const std::vector<Operands>& operands) {
  for (const Law& law : laws)
    for (const Environment& environment : environments)
      for (const Operands& x : operands)
        if (const auto wrong = difference(law, environment, x)) FAIL(*wrong);
  SUCCEED();
}

/// `count` in a build that is optimised, a twentieth of it otherwise.
constexpr int effort(int count) { return fast_build ? count : count / 20; }

inline std::vector<Operands> pairs_of_interesting(const Layout& layout) {
  const auto words = layout.interesting();
  std::vector<Operands> all;
  for (const std::uint64_t a : words)
    for (const std::uint64_t b : words) all.push_back({a, b});
  return all;
}

inline std::vector<Operands> random_pairs(const Layout& layout, int count) {
  Draws draws(3);
  std::vector<Operands> all;
  for (int i = 0; i < count; ++i) all.push_back(layout.pair(draws));
  return all;
}

/// All triples of zero, the least, the last subnormal, the first normal number, 1, the largest, infinity and a NaN of either
/// kind, of either sign; and random ones.
inline std::vector<Operands> special_and_random_triples(const Layout& layout, Instruction multiply, int count) {
  const std::uint64_t infinity = layout.sign() - layout.fraction_mask() - 1, first = layout.fraction_mask() + 1;
  std::vector<std::uint64_t> special;
  for (const std::uint64_t word : {std::uint64_t{0}, std::uint64_t{1}, first - 1, first, layout.word(false, layout.bias(), 0),
                                   infinity - 1, infinity, infinity + 1, layout.sign() - 1})
    for (const std::uint64_t sign : {std::uint64_t{0}, layout.sign()}) special.push_back(word | sign);
  std::vector<Operands> all;
  for (const std::uint64_t a : special)
    for (const std::uint64_t b : special)
      for (const std::uint64_t c : special) all.push_back({a, b, c});
  Draws draws(4);
  for (int i = 0; i < count; ++i) all.push_back(layout.triple(draws, multiply));
  return all;
}

/// Numbers, and finite exponents to scale them by: of any size, and few enough to stay in the range.
inline std::vector<Operands> scalings(const Layout& layout, int random) {
  const auto finite = [&](const Operands& x) { return layout.field(x.b) < layout.fields() - 1; };
  std::vector<Operands> all;
  for (const Operands& x : pairs_of_interesting(layout))
    if (finite(x)) all.push_back(x);
  Draws draws(5);
  for (int i = 0; i < random; ++i) {
    const std::int64_t field =
        layout.bias() - 2 + static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(layout.exponent_bits) + 2));
    const std::uint64_t word = draws.word() & layout.mask(), fraction = draws.word();
    const Operands x{word, layout.word(draws.coin(), field, fraction)};
    if (finite(x)) all.push_back(x);
  }
  return all;
}

/// Every `step`-th input of the conversions from Float.
template <class Float>
std::vector<Operands> one_in(std::size_t step) {
  using Word = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;
  std::vector<Operands> all;
  for (std::size_t i = 0; i < inputs<Float>().size(); i += step) all.push_back({.a = bits_of<Word>(inputs<Float>()[i])});
  return all;
}

inline std::vector<Operands> single(const std::vector<std::uint64_t>& words) {
  std::vector<Operands> all;
  for (const std::uint64_t word : words) all.push_back({.a = word});
  return all;
}

}  // namespace peers

// SPDX-License-Identifier: Apache-2.0
// Conversions and functions over arrays, with rules for special values.
#include "verify/conform/computation.hpp"

#include <algorithm>
#include <span>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/encode.hpp"

namespace ulpscope::verify {
namespace {

void convert(emu::Format from, const Words& inputs, emu::Format to, Words& results, const emu::RoundingOptions& options) {
  inputs.visit([&](const auto& in) {
    results.visit([&](auto& out) { emu::convert(from, std::span(in), to, std::span(out), options); });
  });
}

/// Without the sign, for what converts magnitudes.
Words magnitudes(emu::Format from, const Words& inputs) {
  Words out = inputs;
  out.visit([&](auto& words) {
    for (auto& word : words) word = static_cast<std::remove_reference_t<decltype(word)>>(word & from.magnitude_mask());
  });
  return out;
}

void convert_all(const Computation& c, const Words& inputs, Words& results) {
  if (!c.through) return convert(c.from, inputs, c.to, results, c.rules.options);
  Words between(c.through->format, inputs.size());
  convert(c.from, inputs, c.through->format, between, {.rounding = c.through->rounding});
  emu::RoundingOptions second = c.rules.options;
  second.subnormals_are_zero = false;  // those of `from`
  convert(c.through->format, between, c.to, results, second);
}

/// Whether a number lies in the middle between two of `to`; the last may be the one that would follow the largest.
bool is_tie(emu::Format from, emu::Code input, emu::Format to, const emu::RoundingOptions& options) {
  const emu::Code magnitude = input & from.magnitude_mask();
  if (from.is_nan(input) || from.is_infinite(input) || to.fraction_bits == emu::float64.fraction_bits) return false;
  // A middle has one bit more than the numbers of `to`, so that a normal number with more than that is none.
  const int more = from.fraction_bits - to.fraction_bits - 1;
  if (more > 0 && magnitude >= from.implicit_bit_code() && !from.is_integer() &&
      (magnitude & ((emu::Code{1} << more) - 1)) != 0)
    return false;
  emu::Format wider = to;  // has the numbers of `to`, all even there, and between them the middles
  ++wider.fraction_bits;
  const emu::Rounded cut = emu::convert(
      from, magnitude, wider, {.rounding = emu::Rounding::toward_zero, .subnormals_are_zero = options.subnormals_are_zero});
  return (cut.flags & emu::inexact) == 0 && (cut.code & 1) != 0;
}

/// Where a tie goes.
emu::Code tie_result(const Computation& c, emu::Code input) {
  const auto rounded = [&](emu::Rounding rounding) {
    emu::RoundingOptions options = c.rules.options;
    options.rounding = rounding;
    return emu::convert(c.from, input, c.to, options).code;
  };
  const emu::Code away = rounded(emu::Rounding::nearest_away);
  const bool away_is_odd = rounded(emu::Rounding::nearest_even) != away;
  return *c.ties == Ties::to_odd && away_is_odd ? away : rounded(emu::Rounding::toward_zero);
}

void convert_ties(const Computation& c, const Words& inputs, Words& results) {
  inputs.visit([&](const auto& in) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      const emu::Code input = in[i] & c.from.code_mask();
      if (!c.to.is_signed() && c.from.is_negative(input)) continue;  // no number at all
      if (is_tie(c.from, input, c.to, c.rules.options)) results.set(i, tie_result(c, input));
    }
  });
}

emu::Code operate(const Computation& c, emu::Code input) {
  const emu::RoundingOptions& options = c.rules.options;
  if (!c.through) return c.operation->function(c.from, input, options, 0).code;
  const emu::Format wide = c.through->format;
  const emu::Code operand = emu::convert(c.from, input, wide).code;
  const emu::Code between = c.operation->function(wide, operand, {.rounding = c.through->rounding}, 0).code;
  return emu::convert(wide, between, c.to, options).code;
}

void operate_all(const Computation& c, const Words& inputs, Words& results) {
  inputs.visit([&](const auto& in) {
    results.visit([&](auto& out) {
      using Word = typename std::remove_reference_t<decltype(out)>::value_type;
      std::transform(in.begin(), in.end(), out.begin(),
                     [&](emu::Code input) { return static_cast<Word>(operate(c, input & c.from.code_mask())); });
    });
  });
}

}  // namespace

void compute(const Computation& c, const Words& inputs, Words& results) {
  const bool by_magnitude = !c.to.is_signed() && c.rules.negative == NegativeRule::magnitude;
  if (c.operation) {
    operate_all(c, inputs, results);
  } else {
    const Words& asked = by_magnitude ? magnitudes(c.from, inputs) : inputs;
    convert_all(c, asked, results);
    if (c.ties) convert_ties(c, asked, results);
  }
  if (!change_anything(c.rules, c.to)) return;
  inputs.visit([&](const auto& in) {
    results.visit([&](auto& out) {
      using Word = typename std::remove_reference_t<decltype(out)>::value_type;
      const emu::Code mask = c.from.code_mask();
      const auto special = static_cast<Word>(c.to.has_nan() ? c.to.nan_code() : emu::Code{0});
      // Where the bare conversion gives no NaN there is nothing to change, except in formats that have none, and for zero and
      // infinity.
      for (std::size_t i = 0; i < in.size(); ++i) {
        const emu::Code input = in[i] & mask;
        const bool plain =
            out[i] != special && c.to.has_nan() && (input & c.from.magnitude_mask()) != 0 && !c.from.is_infinite(input);
        if (!plain) out[i] = static_cast<Word>(with_rules(c.rules, c.from, c.to, input, out[i]));
      }
    });
  });
}

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// Conversions and functions over arrays, with rules for special values.
#include "verify/conform/computation.hpp"

#include <algorithm>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

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

/// results[k] of options[k], of one format.
void apply(const emu::UnaryFunction& function, emu::Format format, const Words& inputs,
           std::span<const emu::RoundingOptions> options, std::span<Words> results) {
  inputs.visit([&](const auto& in) {
    using Array = std::remove_cvref_t<decltype(in)>;
    using Word = typename Array::value_type;
    std::vector<std::span<Word>> outs;
    for (Words& words : results)
      words.visit([&](auto& out) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(out)>, Array>) outs.emplace_back(out);
      });
    emu::apply(function, format, std::span<const Word>(in), options, std::span<const std::span<Word>>(outs));
  });
}
Words applied(const emu::UnaryFunction& function, emu::Format format, const Words& inputs,
              const emu::RoundingOptions& options) {
  Words out(format, inputs.size());
  apply(function, format, inputs, std::span(&options, 1), std::span(&out, 1));
  return out;
}

void operate_all(const Computation& c, const Words& inputs, Words& results) {
  if (!c.through) return apply(*c.operation, c.from, inputs, std::span(&c.rules.options, 1), std::span(&results, 1));
  const emu::Format wide = c.through->format;
  Words operands(wide, inputs.size());
  convert(c.from, inputs, wide, operands, {});
  convert(wide, applied(*c.operation, wide, operands, {.rounding = c.through->rounding}), c.to, results, c.rules.options);
}

/// What the rules make of the results of bare conversions or functions.
void apply_rules(const Computation& c, const Words& inputs, Words& results) {
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
  apply_rules(c, inputs, results);
}

void compute_each(std::span<const Computation* const> computations, const Words& inputs,
                  const std::function<void(std::size_t c, const Words& results)>& act) {
  const Computation& first = *computations.front();
  std::vector<std::size_t> bare;
  std::vector<emu::RoundingOptions> options;
  Words one(first.to, inputs.size());
  for (std::size_t c = 0; c < computations.size(); ++c) {
    if (!computations[c]->operation || computations[c]->through) {
      compute(*computations[c], inputs, one);
      act(c, one);
    } else {
      bare.push_back(c);
      options.push_back(computations[c]->rules.options);
    }
  }
  if (bare.empty()) return;
  std::vector<Words> results(bare.size(), Words(first.to, inputs.size()));
  apply(*first.operation, first.from, inputs, options, results);
  for (std::size_t k = 0; k < bare.size(); ++k) {
    apply_rules(*computations[bare[k]], inputs, results[k]);
    act(bare[k], results[k]);
  }
}

}  // namespace ulpscope::verify

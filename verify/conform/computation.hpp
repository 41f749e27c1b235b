// SPDX-License-Identifier: Apache-2.0
// What a converter or an elementwise function should return, over arrays of codes; and what a faulty one would return, which is
// another computation: another rounding, another policy, another format on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "emu/unary_functions.hpp"
#include "verify/conform/conform_rules.hpp"
#include "verify/conform/words.hpp"

namespace ulpscope::verify {

/// By name, case ignored, `-` and `_` alike.
std::optional<emu::UnaryFunction> parse_unary_operation(std::string_view word);
/// Every name.
std::vector<std::string> unary_operation_words();

/// A format on the way, and how it is reached.
struct Through {
  emu::Format format;                                    ///< the numbers on the way
  emu::Rounding rounding = emu::Rounding::nearest_even;  ///< to that format, not saturating
};

/// Where the middle between two neighbours goes, by rules that no emu::Rounding is.
enum class Ties : std::uint8_t { toward_zero, to_odd };

/// What a converter should compute.
struct Computation {
  emu::Format from, to;                          ///< of inputs and results
  Rules rules = {};                              ///< of its rounding, NaNs and infinities
  std::optional<emu::UnaryFunction> operation = {};  ///< absent: a conversion; present: of one format, from = to
  std::optional<Through> through = {};           ///< round to this format first; an operation is done in it
  std::optional<Ties> ties = {};                 ///< of a conversion to nearest: ties go there instead
};

/// results[i] of inputs[i], by the bulk functions where there are any. Sizes are equal; bits of an input beyond the format are
/// ignored. The same codes whatever the caller's floating-point environment is.
void compute(const Computation& computation, const Words& inputs, Words& results);
/// Calls act(c, results) for every computation, all of which are of one pair of formats. Functions that differ in their
/// rounding alone are evaluated once.
void compute_each(std::span<const Computation* const> computations, const Words& inputs,
                  const std::function<void(std::size_t c, const Words& results)>& act);

}  // namespace ulpscope::verify

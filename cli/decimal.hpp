// SPDX-License-Identifier: Apache-2.0
// Numbers as people type them, of any length, rounded once.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "emu/encode.hpp"

namespace ulpscope::cli {

/// A quotient of whole numbers.
struct Quotient;

/// A typed number between two doubles.
struct Typed {
  bool negative = false;
  double toward_zero = 0;    ///< magnitude, cut to a double; at most the largest finite one
  bool inexact = false;      ///< the number lies above `toward_zero`
  int versus_midpoint = -1;  ///< -1, 0, 1: below, at, above the middle between `toward_zero` and the next double
  bool is_beyond = false;    ///< finite, and of magnitude 2^1024 or more
  /// The magnitude itself; none of inf, nan, and of what lies beyond 10^400 or below 10^-700.
  std::shared_ptr<const Quotient> magnitude = {};

  /// The magnitude rounded to odd: every format of at most 51 bits of precision rounds it as it would the number itself.
  double to_odd() const;
};

/// Reads a decimal or hexadecimal floating literal, `inf`, `nan`, each with an optional sign; nothing if it is none.
/// Numbers of more than 100,000 digits are none either.
std::optional<Typed> parse_typed(std::string_view word);

/// Rounds a typed number once.
emu::Rounded round_typed(emu::Format format, const Typed& typed, const emu::RoundingOptions& options, std::uint32_t random);

/// How far `value` is from a typed number, in spacings of `format` at that: the nearest double. Infinite where `value` is and
/// the number is not, or the other way about, and where a number beyond 10^400 did not become infinite.
double error_ulp(emu::Format format, const Typed& typed, double value);

}  // namespace ulpscope::cli

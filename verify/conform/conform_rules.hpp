// SPDX-License-Identifier: Apache-2.0
// What a conversion owes to the values on which implementations differ: NaN, infinity, zero and negative numbers in formats
// that lack them. Rounding and overflow are emu::RoundingOptions; these rules say the rest.
#pragma once

#include <cstdint>
#include <optional>

#include "emu/format.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::verify {

/// How exactly a NaN result is looked at.
enum class NanCheck : std::uint8_t {
  any,   ///< any NaN for any NaN; what becomes of NaN in a format without NaN is not judged
  sign,  ///< the sign counts, the other bits do not
  code,  ///< every bit counts
};

/// The sign of a result that comes from a NaN or an overflow.
enum class Sign : std::uint8_t { positive, of_input, opposite };

/// What an infinite input becomes.
enum class InfinityRule : std::uint8_t { by_policy, is_nan };

/// What a number below zero becomes in a format without sign; is_nan: where that has a zero, what the conversion gives.
enum class NegativeRule : std::uint8_t { is_nan, magnitude, not_judged };

/// What zero becomes in a format without zero.
enum class ZeroRule : std::uint8_t { is_least, is_nan };

/// What a conversion prescribes.
struct Rules {
  emu::RoundingOptions options = {};                ///< the rounding and what overflow gives
  NanCheck nan_check = NanCheck::any;               ///< how NaN results are compared
  std::optional<emu::Code> nan_code = {};           ///< what a NaN becomes, without its sign; absent: the canonical code
  Sign nan_sign = Sign::positive;                   ///< of what a NaN becomes
  Sign overflow_nan_sign = Sign::positive;          ///< of the NaN that an overflow becomes
  InfinityRule infinity = InfinityRule::by_policy;  ///< what an infinity becomes
  NegativeRule negative = NegativeRule::is_nan;     ///< what a number below zero becomes where there is no sign
  ZeroRule zero = ZeroRule::is_least;               ///< what zero becomes where there is none

  friend bool operator==(const Rules&, const Rules&) = default;
};

/// Whether a result is looked at, given the rules.
inline bool is_judged(const Rules& rules, emu::Format from, emu::Format to, emu::Code input) {
  if (from.is_nan(input)) return to.has_nan() || rules.nan_check != NanCheck::any;
  return to.is_signed() || rules.negative != NegativeRule::not_judged || !from.is_negative(input);
}

/// `code`, the result of the bare conversion of `input`, after the rules.
emu::Code with_rules(const Rules& rules, emu::Format from, emu::Format to, emu::Code input, emu::Code code);

/// Whether with_rules() ever differs from its argument.
bool change_anything(const Rules& rules, emu::Format to);

/// Distance of two codes in the order of the numbers; both zeros are 0. Precondition: neither is NaN.
inline std::uint64_t ulp_distance(emu::Format format, emu::Code a, emu::Code b) {
  const emu::Code x = a & format.magnitude_mask(), y = b & format.magnitude_mask();
  if (format.is_negative(a) != format.is_negative(b)) return x + y;
  return x > y ? x - y : y - x;
}

/// Whether `got` may stand for `expected`, at most `ulp` codes away. Zeros of different signs may not stand for each other, nor
/// an infinity or a NaN for a number.
inline bool accepts(const Rules& rules, emu::Format to, emu::Code expected, emu::Code got, std::uint64_t ulp) {
  if (got == expected) return true;
  if (got > to.code_mask()) return false;
  if (to.is_nan(expected) || to.is_nan(got)) {
    if (!to.is_nan(expected) || !to.is_nan(got) || rules.nan_check == NanCheck::code) return false;
    return rules.nan_check == NanCheck::any || to.is_negative(expected) == to.is_negative(got);
  }
  if (to.is_infinite(expected) || to.is_infinite(got)) return false;  // neighbours in their codes, not in what they stand for
  const std::uint64_t distance = ulp_distance(to, expected, got);
  return distance != 0 && distance <= ulp;
}

}  // namespace ulpscope::verify

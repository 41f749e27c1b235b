// SPDX-License-Identifier: Apache-2.0
// Applies the rules to arrays, and accepts or rejects a result.
#include "verify/conform/conform_rules.hpp"

namespace ulpscope::verify {
namespace {

emu::Code with_sign(emu::Format to, emu::Code magnitude, Sign sign, bool negative_input) {
  if (!to.is_signed() || (to.is_nan(magnitude) && to.negative_zero_is_nan())) return magnitude;
  const bool negative = sign == Sign::of_input ? negative_input : sign == Sign::opposite && !negative_input;
  return magnitude | (negative ? to.sign_mask() : emu::Code{0});
}

}  // namespace

emu::Code with_rules(const Rules& rules, emu::Format from, emu::Format to, emu::Code input, emu::Code code) {
  const bool negative = from.is_negative(input);
  if (from.is_nan(input)) {
    const emu::Code canonical = to.has_nan() ? to.nan_code() : to.max_finite_code();
    return with_sign(to, rules.nan_code.value_or(canonical), rules.nan_sign, negative);
  }
  if (from.is_infinite(input) && rules.infinity == InfinityRule::is_nan) return to.nan_code();
  if (from.is_zero(input) && !to.has_zero() && rules.zero == ZeroRule::is_nan) return to.nan_code();
  if (to.is_nan(code)) return with_sign(to, code, rules.overflow_nan_sign, negative);
  return code;
}

bool change_anything(const Rules& rules, emu::Format to) {
  const Rules plain{.options = rules.options, .nan_check = rules.nan_check};
  const bool same_code = !rules.nan_code || (to.has_nan() && *rules.nan_code == to.nan_code());
  Rules rest = rules;
  rest.nan_code.reset();
  return !same_code || !(rest == plain);
}

}  // namespace ulpscope::verify

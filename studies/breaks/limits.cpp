// SPDX-License-Identifier: Apache-2.0
// Codes of positive numbers have the order of the numbers, so that the first one at which an operation gives up is found by
// halving.
#include "studies/breaks/limits.hpp"

#include <limits>

#include "emu/arithmetic.hpp"
#include "emu/decode.hpp"
#include "emu/elementary.hpp"
#include "emu/encode.hpp"

namespace ulpscope::studies {
namespace {

using emu::Code;
using emu::Format;

/// The least code of a positive number for which `holds`, which then holds for all greater ones; none: one above them all.
template <class Holds>
Code first_code(Format format, Holds holds) {
  Code low = 1, high = format.max_finite_code() + 1;
  while (low < high) {
    const Code middle = low + (high - low) / 2;
    if (holds(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/// NaN for what is no code of a positive number.
double number(Format format, Code code) {
  return code == 0 || code > format.max_finite_code() ? std::numeric_limits<double>::quiet_NaN() : emu::decode(format, code);
}

}  // namespace

std::vector<LimitRow> limits_of(Format format, const emu::RoundingOptions& options) {
  std::vector<LimitRow> rows;
  const auto add = [&](const char* what, double value) { rows.push_back({what, format, options.rounding, value}); };
  const auto overflows = [](const emu::Result& result) { return (result.flags & emu::overflow) != 0; };
  const auto is_zero = [&](const emu::Result& result) { return format.is_zero(result.code); };
  const Code one = emu::encode(format, 1.0), minus = format.sign_mask();
  const Code none = format.max_finite_code() + 1;

  const Code exp_overflow = first_code(format, [&](Code x) { return overflows(emu::exp(format, x, options)); });
  const Code exp_zero = first_code(format, [&](Code x) { return is_zero(emu::exp(format, x | minus, options)); });
  const Code square_overflow = first_code(format, [&](Code x) { return overflows(emu::mul(format, x, x, options)); });
  const Code square_kept = first_code(format, [&](Code x) { return !is_zero(emu::mul(format, x, x, options)); });
  const Code update_kept = first_code(format, [&](Code x) { return emu::add(format, one, x, options).code != one; });
  const Code down_kept = first_code(format, [&](Code x) { return emu::sub(format, one, x, options).code != one; });
  // Where the largest number itself does not overflow, nothing does.
  add("exp_last_finite", number(format, exp_overflow == none ? 0 : exp_overflow - 1));
  add("exp_first_zero", -number(format, exp_zero));
  add("square_last_finite", number(format, square_overflow == none ? 0 : square_overflow - 1));
  add("square_last_zero", number(format, square_kept - 1));
  add("update_of_one_first_kept", number(format, update_kept));
  add("update_of_one_first_kept_down", number(format, down_kept));
  add("epsilon_1e-8", emu::round_to(format, 1e-8, options).value);
  add("epsilon_1e-5", emu::round_to(format, 1e-5, options).value);
  add("beta2_0.999", emu::round_to(format, 0.999, options).value);
  return rows;
}

}  // namespace ulpscope::studies

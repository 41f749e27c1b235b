// SPDX-License-Identifier: Apache-2.0
// What emu claims that an element operation of a device computes: the exact result of its operands, rounded once; then relu and
// the device's NaN. The operands' format and that of the result may differ. IEEE 754-2019, 5.4.1, 6 and 7; PTX ISA, cvt, add,
// sub, mul, fma.
#pragma once

#include "emu/arithmetic.hpp"
#include "emu/encode.hpp"
#include "emu/format.hpp"
#include "emu/real.hpp"
#include "gpu/elementwise.hpp"

namespace ulpscope::gpu {

namespace detail {

/// As much of a NaN's fraction as there is room for, not quieted: an infinity where nothing is left of it.
ULPSCOPE_INLINE constexpr emu::Code cut_nan(emu::Format from, emu::Code nan, emu::Format to) noexcept {
  const int dropped = from.fraction_bits - to.fraction_bits;
  const emu::Code fraction = nan & from.fraction_mask();
  return (from.is_negative(nan) ? to.sign_mask() : 0) | to.infinity_code() |
         (dropped > 0 ? fraction >> dropped : fraction << -dropped);
}

/// The NaN that comes of a NaN operand: quieted, its sign and as much of its payload as there is room for.
ULPSCOPE_INLINE constexpr emu::Code surviving_nan(const ElementModel& model, emu::Format from, emu::Code operand) noexcept {
  const emu::Format to = model.to;
  if (model.nans_are_cut) return cut_nan(from, operand, to);
  const bool survives = model.nan_result != emu::NanResult::canonical && from.specials == emu::Specials::ieee &&
                        to.specials == emu::Specials::ieee && to.has_nan();
  if (!survives) return model.nan_code;
  const emu::Code quiet = (to.fraction_mask() + 1) >> 1;
  return cut_nan(from, operand, to) | quiet;
}

ULPSCOPE_INLINE constexpr bool is_signaling(emu::Format format, emu::Code code) noexcept {
  return format.is_nan(code) && (code << 1 & (format.fraction_mask() + 1)) == 0;
}

/// The operands as NanResult::signaling_operand looks for NaNs: c, a, b, the signaling ones first. One or more are NaNs.
ULPSCOPE_INLINE constexpr emu::Code signaling_survivor(const ElementModel& model, emu::Code a, emu::Code b,
                                                       emu::Code c) noexcept {
  const emu::Format from = model.from, to = model.to;
  const bool has_b = numbers_of(model.kind) > 1, has_c = numbers_of(model.kind) > 2;
  if (has_c && is_signaling(to, c)) return surviving_nan(model, to, c);
  if (is_signaling(from, a)) return surviving_nan(model, from, a);
  if (has_b && is_signaling(from, b)) return surviving_nan(model, from, b);
  const bool invalid = has_c && ((from.is_infinite(a) && from.is_zero(b)) || (from.is_zero(a) && from.is_infinite(b)));
  if (invalid) return model.nan_code;
  if (has_c && to.is_nan(c)) return surviving_nan(model, to, c);
  return surviving_nan(model, from, from.is_nan(a) ? a : b);
}

/// An operand taken apart. Zeros, subnormals that count as such, and what is no number have no significand.
template <class Word>
struct Element {
  emu::exact::Real<Word> real;
  bool infinite;

  ULPSCOPE_INLINE constexpr bool is_zero() const noexcept { return !infinite && real.is_zero(); }
};

template <class Word>
ULPSCOPE_INLINE constexpr Element<Word> element(emu::Format format, emu::Code code) noexcept {
  if (format.is_infinite(code)) return {{0, 0, format.is_negative(code)}, true};
  return {emu::exact::real_of<Word>(format, code), false};
}

/// A result before its rounding.
template <class Word>
struct ElementSum {
  emu::exact::Real<Word> real;
  bool infinite = false, nan = false;
};

template <class Word>
ULPSCOPE_INLINE constexpr ElementSum<Word> product(const Element<Word>& x, const Element<Word>& y) noexcept {
  if (!x.infinite && !y.infinite) return {emu::exact::multiply(x.real, y.real)};
  return {{0, 0, x.real.negative != y.real.negative}, true, x.is_zero() || y.is_zero()};
}

template <class Word>
ULPSCOPE_INLINE constexpr ElementSum<Word> sum(const ElementSum<Word>& x, const Element<Word>& y,
                                               const emu::RoundingOptions& options) noexcept {
  if (x.nan) return x;
  const bool opposed = x.infinite && y.infinite && x.real.negative != y.real.negative;
  if (x.infinite) return {x.real, true, opposed};
  if (y.infinite) return {y.real, true};
  return {emu::exact::add(x.real, y.real, emu::exact::zero_is_negative(options))};
}

template <class Word>
ULPSCOPE_INLINE constexpr ElementSum<Word> exact_element(const ElementModel& model, emu::Code a, emu::Code b,
                                                         emu::Code c) noexcept {
  const emu::Format format = model.from;
  const Element<Word> x = element<Word>(format, a);
  const ElementSum<Word> alone{x.real, x.infinite};
  if (numbers_of(model.kind) == 1) return alone;
  Element<Word> y = element<Word>(format, b);
  switch (model.kind) {
    case ElementKind::multiply: return product(x, y);
    case ElementKind::fma: return sum(product(x, y), element<Word>(model.to, c), model.options);
    case ElementKind::subtract: y.real = y.real.negated(); break;
    default: break;
  }
  return sum(alone, y, model.options);
}

/// The rounding of an exact result; nan_code where it is none.
template <class Word>
ULPSCOPE_INLINE constexpr emu::Code rounded_element(const ElementModel& model, const ElementSum<Word>& exact,
                                                    emu::Code random_word) noexcept {
  if (exact.nan) return model.nan_code;
  // With r of the dropped bits at hand as d, d + random carries out of r bits just where 2^r - 1 - random < d.
  const std::uint32_t random = model.kind == ElementKind::convert_randomly ? ~model.random.of(random_word) : 0;
  if (!exact.infinite) return emu::exact::round_unpacked(model.to, exact.real, model.options, random).code;
  return emu::exact::infinite_result(model.to, exact.real.negative, model.options).code;
}

}  // namespace detail

/// The code of the result; operands that the operation does not take are not looked at. `c` has the format of the result.
ULPSCOPE_HD inline emu::Code element_result(const ElementModel& model, emu::Code a, emu::Code b, emu::Code c) {
  const emu::Format from = model.from, to = model.to;
  const emu::Code word = b;
  a = emu::exact::operand(from, model.ignores_sign ? a & from.magnitude_mask() : a, model.options);
  b = numbers_of(model.kind) > 1 ? emu::exact::operand(from, b, model.options) : 0;
  c = numbers_of(model.kind) > 2 ? emu::exact::operand(to, c, model.options) : 0;
  const bool b_is_nan = numbers_of(model.kind) > 1 && from.is_nan(b), c_is_nan = numbers_of(model.kind) > 2 && to.is_nan(c);
  if (model.nan_result == emu::NanResult::signaling_operand && (from.is_nan(a) || b_is_nan || c_is_nan))
    return detail::signaling_survivor(model, a, b, c);
  if (model.nan_result == emu::NanResult::second_operand) {
    if (b_is_nan) return detail::surviving_nan(model, from, b);
    if (c_is_nan) return detail::surviving_nan(model, to, c);
  }
  if (from.is_nan(a)) return detail::surviving_nan(model, from, a);
  if (b_is_nan) return detail::surviving_nan(model, from, b);
  if (c_is_nan) return detail::surviving_nan(model, to, c);

  // Products take twice the precision of the operands, and a rounding two bits more than it leaves.
  const bool narrow = from.precision() <= 24 && to.precision() <= 24;
  const emu::Code code = narrow
                             ? detail::rounded_element(model, detail::exact_element<std::uint64_t>(model, a, b, c), word)
                             : detail::rounded_element(model, detail::exact_element<emu::exact::Word128>(model, a, b, c), word);
  if (to.is_nan(code)) return model.nan_code;
  return model.relu && to.is_negative(code) ? 0 : code;
}

}  // namespace ulpscope::gpu

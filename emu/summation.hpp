// SPDX-License-Identifier: Apache-2.0
// Sums and dot products in a chosen order, with an accumulator of a chosen format that rounds after every operation; and what
// order and accumulator cost, measured against the exact sum. The orders are defined in docs/numerics.md, "Sums and products of
// many terms"; N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., chapter 4, tells what to expect of
// them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>

#include "emu/arithmetic.hpp"
#include "emu/bits.hpp"
#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/exact_sum.hpp"
#include "emu/format.hpp"
#include "emu/philox.hpp"
#include "emu/product_rounding.hpp"
#include "emu/real.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::emu {

/// The order in which terms are summed.
enum class Summation : std::uint8_t {
  sequential,  ///< from the first term to the last
  pairwise,    ///< the first ceil(n/2) terms, the rest, and the sum of the two
  blocked,     ///< sequential blocks; their sums, sequentially
  kahan,       ///< sequential with the last addition's error carried along (W. Kahan, CACM 8 (1965) 40)
};

/// How a sum is computed.
struct SummationOptions {
  Summation order = Summation::sequential;  ///< of the additions
  Products products = Products::fused;      ///< of a dot product: whether each is rounded before it is added
  std::size_t leaf_terms = 1;               ///< pairwise: this many terms or fewer are summed sequentially; at least 1
  std::size_t block_terms = 128;            ///< blocked: terms of a block; at least 1
  RoundingOptions rounding = {};            ///< of every operation
  std::uint64_t seed = 0;                   ///< stochastic: the n-th rounding, from 0, takes rounding_bits(seed, n)
};

namespace detail {

/// An operand before it meets the accumulator: a number of any format or an exact product of two.
template <class Word>
struct Term {
  enum Kind : std::uint8_t { number, infinite, nan, invalid_nan };
  Real<Word> real;  ///< of an infinity the sign alone
  Kind kind = number;
};

template <class Word>
ULPSCOPE_INLINE constexpr Term<Word> term_of(Format format, Code code, const RoundingOptions& options) noexcept {
  code = operand(format, code, options);
  if (format.is_nan(code)) return {{}, format.is_signaling_nan(code) ? Term<Word>::invalid_nan : Term<Word>::nan};
  if (format.is_infinite(code)) return {{0, Real<Word>::exponent_of_zero, format.is_negative(code)}, Term<Word>::infinite};
  return {real_of<Word>(format, code)};
}

template <class Word>
ULPSCOPE_INLINE constexpr Term<Word> multiply_terms(const Term<Word>& a, const Term<Word>& b) noexcept {
  using T = Term<Word>;
  if (a.kind == T::number && b.kind == T::number) return {multiply(a.real, b.real)};
  const auto is_zero = [](const T& x) { return x.kind == T::number && x.real.is_zero(); };
  const bool zero_times_infinity = (a.kind == T::infinite && is_zero(b)) || (is_zero(a) && b.kind == T::infinite);
  if (zero_times_infinity || a.kind == T::invalid_nan || b.kind == T::invalid_nan) return {{}, T::invalid_nan};
  if (a.kind == T::nan || b.kind == T::nan) return {{}, T::nan};
  return {{0, Real<Word>::exponent_of_zero, a.real.negative != b.real.negative}, T::infinite};
}

template <class Word>
ULPSCOPE_INLINE constexpr Term<Word> negate(Term<Word> x) noexcept {
  x.real.negative = !x.real.negative;
  return x;
}

template <class Word>
ULPSCOPE_INLINE constexpr Term<Word> add_terms(const Term<Word>& a, const Term<Word>& b,
                                               const RoundingOptions& options) noexcept {
  using T = Term<Word>;
  if (a.kind == T::number && b.kind == T::number) return {add(a.real, b.real, zero_is_negative(options))};
  if (a.kind == T::invalid_nan || b.kind == T::invalid_nan) return {{}, T::invalid_nan};
  if (a.kind == T::nan || b.kind == T::nan) return {{}, T::nan};
  if (a.kind == b.kind && a.real.negative != b.real.negative) return {{}, T::invalid_nan};
  return a.kind == T::infinite ? a : b;
}

template <class Word>
ULPSCOPE_INLINE constexpr Result round_term(Format format, const Term<Word>& x, const RoundingOptions& options,
                                            std::uint32_t random) noexcept {
  using T = Term<Word>;
  if (x.kind == T::number) return deliver(round_unpacked(format, x.real, options, random));
  if (x.kind == T::infinite) return infinite_result(format, x.real.negative, options);
  return nan_result(format, x.kind == T::invalid_nan ? invalid : no_flags);
}

/// Formats of the operands and of the accumulator, known at run time or, faster, at compile time.
struct ChosenFormats {
  Format a, b, accumulator;
};
template <Format left, Format right, Format to>
struct FixedFormats {
  static constexpr Format a = left, b = right, accumulator = to;
};

/// A float or double is its own code.
template <class T>
ULPSCOPE_INLINE constexpr Code code_of(T x) noexcept {
  if constexpr (std::floating_point<T>)
    return bit_cast<typename Interchange<T>::Word>(x);
  else
    return x;
}

/// In place of the elements of b: the terms are those of a.
struct NoFactor {};

/// One sum of terms a[i], or of products a[i] * b[i].
template <class Word, class Formats, class A, class B>
class Summer {
 public:
  constexpr Summer(Formats formats, std::span<const A> a, std::span<const B> b, std::size_t count,
                   const SummationOptions& options) noexcept
      : formats_(formats), a_(a), b_(b), count_(count), options_(options) {}

  constexpr Result run() noexcept {
    if (count_ == 0) return round_term(formats_.accumulator, Term<Word>{}, options_.rounding, next_random());
    Code sum = 0;
    switch (options_.order) {
      case Summation::sequential: sum = sequential(0, count_); break;
      case Summation::pairwise: sum = pairwise(0, count_); break;
      case Summation::blocked: sum = blocked(); break;
      case Summation::kahan: sum = kahan(); break;
    }
    return {sum, flags_};
  }

 private:
  using T = Term<Word>;
  static constexpr bool products = !std::same_as<B, NoFactor>;

  constexpr std::uint32_t next_random() noexcept {
    return options_.rounding.rounding == Rounding::stochastic ? rounding_bits(options_.seed, roundings_++) : 0;
  }
  constexpr Code rounded(const T& x) noexcept {
    const Result result = round_term(formats_.accumulator, x, options_.rounding, next_random());
    flags_ = flags_ | result.flags;
    return result.code;
  }
  constexpr T read(Code sum) const noexcept { return term_of<Word>(formats_.accumulator, sum, options_.rounding); }
  constexpr Code plus(const T& x, const T& y) noexcept { return rounded(add_terms(x, y, options_.rounding)); }
  constexpr Code minus(const T& x, const T& y) noexcept { return plus(x, negate(y)); }

  /// Term i as it meets the accumulator.
  constexpr T term(std::size_t i) noexcept {
    const T x = term_of<Word>(formats_.a, code_of(a_[i]), options_.rounding);
    if constexpr (!products) {
      return x;
    } else {
      const T product = multiply_terms(x, term_of<Word>(formats_.b, code_of(b_[i]), options_.rounding));
      return options_.products == Products::fused ? product : read(rounded(product));
    }
  }
  /// Term i as the accumulator's first.
  constexpr Code load(std::size_t i) noexcept { return rounded(term(i)); }

  constexpr Code sequential(std::size_t begin, std::size_t end) noexcept {
    Code sum = load(begin);
    for (std::size_t i = begin + 1; i < end; ++i) sum = plus(read(sum), term(i));
    return sum;
  }

  constexpr Code pairwise(std::size_t begin, std::size_t end) noexcept {
    const std::size_t count = end - begin;
    if (count <= options_.leaf_terms || count == 1) return sequential(begin, end);
    const std::size_t middle = end - count / 2;
    const Code left = pairwise(begin, middle), right = pairwise(middle, end);
    return plus(read(left), read(right));
  }

  constexpr Code blocked() noexcept {
    const std::size_t block = options_.block_terms > 0 ? options_.block_terms : 1;
    const auto end_of = [&](std::size_t begin) { return count_ - begin > block ? begin + block : count_; };
    Code sum = sequential(0, end_of(0));
    for (std::size_t begin = end_of(0); begin < count_; begin = end_of(begin))
      sum = plus(read(sum), read(sequential(begin, end_of(begin))));
    return sum;
  }

  constexpr Code kahan() noexcept {
    Code sum = load(0);
    Code error = encode(formats_.accumulator, 0.0);
    for (std::size_t i = 1; i < count_; ++i) {
      const Code corrected = minus(term(i), read(error));
      const Code next = plus(read(sum), read(corrected));
      error = minus(read(minus(read(next), read(sum))), read(corrected));
      sum = next;
    }
    return sum;
  }

  [[no_unique_address]] Formats formats_;
  std::span<const A> a_;
  std::span<const B> b_;
  std::size_t count_;
  SummationOptions options_;
  Flags flags_ = no_flags;
  std::uint64_t roundings_ = 0;
};

/// Products and sums fit the Real of this word with two bits to spare: see add in emu/real.hpp.
constexpr bool fits_64(Format a, Format b, Format accumulator) noexcept {
  return a.precision() + b.precision() <= 60 && accumulator.precision() <= 24;
}

template <class Formats, class A, class B>
constexpr Result run_sum(Formats formats, std::span<const A> a, std::span<const B> b, std::size_t count,
                         const SummationOptions& options) noexcept {
  return fits_64(formats.a, formats.b, formats.accumulator)
             ? Summer<std::uint64_t, Formats, A, B>(formats, a, b, count, options).run()
             : Summer<Word128, Formats, A, B>(formats, a, b, count, options).run();
}

template <class Range>
using ElementOf = std::ranges::range_value_t<Range>;

/// A contiguous range of codes, or of floats or doubles, which are codes of float32 and float64.
template <class Range>
concept TermRange = CodeRange<Range> || (std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
                                         (std::same_as<ElementOf<Range>, float> || std::same_as<ElementOf<Range>, double>));
template <class Range>
concept FloatRange = TermRange<Range> && !CodeRange<Range>;

template <FloatRange Range>
inline constexpr Format format_of = std::same_as<ElementOf<Range>, float> ? float32 : float64;

/// Whether the elements can be codes of `format`.
template <TermRange Range>
constexpr bool holds(Format format) noexcept {
  if constexpr (FloatRange<Range>) return format == format_of<Range>;
  return format.bits() <= static_cast<int>(8 * sizeof(ElementOf<Range>));
}

template <class Formats, TermRange Terms>
constexpr Result sum_of(Formats formats, const Terms& terms, const SummationOptions& options) noexcept {
  return run_sum(formats, std::span<const ElementOf<Terms>>(terms), std::span<const NoFactor>(), std::ranges::size(terms),
                 options);
}
template <class Formats, TermRange A, TermRange B>
constexpr Result dot_of(Formats formats, const A& a, const B& b, const SummationOptions& options) noexcept {
  const std::size_t in_a = std::ranges::size(a), in_b = std::ranges::size(b);
  return run_sum(formats, std::span<const ElementOf<A>>(a), std::span<const ElementOf<B>>(b), in_a < in_b ? in_a : in_b,
                 options);
}
inline constexpr Format no_format{2, 0, 0, Specials::finite};

}  // namespace detail

/// The sum of codes of `from` in an accumulator of format `accumulator`: a code of that format, and all flags raised on the
/// way. The sum of nothing is +0.
template <detail::CodeRange Codes>
constexpr Result sum(Format from, const Codes& terms, Format accumulator, const SummationOptions& options = {}) noexcept {
  return detail::sum_of(detail::ChosenFormats{from, detail::no_format, accumulator}, terms, options);
}
template <detail::FloatRange Floats>
constexpr Result sum(const Floats& terms, Format accumulator, const SummationOptions& options = {}) noexcept {
  return detail::sum_of(detail::ChosenFormats{detail::format_of<Floats>, detail::no_format, accumulator}, terms, options);
}
/// The same, faster, with formats that are template arguments.
template <Format from, Format accumulator, detail::TermRange Terms>
constexpr Result sum(const Terms& terms, const SummationOptions& options = {}) noexcept {
  static_assert(detail::holds<Terms>(from));
  return detail::sum_of(detail::FixedFormats<from, detail::no_format, accumulator>{}, terms, options);
}

/// The sum of a[i] * b[i], as many terms as the shorter range has.
template <detail::CodeRange CodesA, detail::CodeRange CodesB>
constexpr Result dot(Format a_format, const CodesA& a, Format b_format, const CodesB& b, Format accumulator,
                     const SummationOptions& options = {}) noexcept {
  return detail::dot_of(detail::ChosenFormats{a_format, b_format, accumulator}, a, b, options);
}
template <detail::FloatRange A, detail::FloatRange B>
constexpr Result dot(const A& a, const B& b, Format accumulator, const SummationOptions& options = {}) noexcept {
  return detail::dot_of(detail::ChosenFormats{detail::format_of<A>, detail::format_of<B>, accumulator}, a, b, options);
}
template <Format a_format, Format b_format, Format accumulator, detail::TermRange A, detail::TermRange B>
constexpr Result dot(const A& a, const B& b, const SummationOptions& options = {}) noexcept {
  static_assert(detail::holds<A>(a_format) && detail::holds<B>(b_format));
  return detail::dot_of(detail::FixedFormats<a_format, b_format, accumulator>{}, a, b, options);
}

}  // namespace ulpscope::emu

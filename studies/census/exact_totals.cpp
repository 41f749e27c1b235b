// SPDX-License-Identifier: Apache-2.0
// Adds up what each binade contributes to each statistic, as whole numbers times powers of two.
#include "studies/census/exact_totals.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"

namespace ulpscope::studies {
namespace {

using emu::Outcome;

/// A number of the format, divided by the scale: an integer times 2^exponent.
struct Bound {
  std::int64_t integer;
  int exponent;

  double value() const { return std::ldexp(static_cast<double>(integer), exponent); }
};

/// Forms the totals of one format and scale.
class Totals {
 public:
  Totals(const BinadeQuestion& question, const ScaledFormat& to)
      : question_(question),
        to_(to),
        most_{static_cast<std::int64_t>((to.format.max_finite_code() & to.format.fraction_mask()) |
                                        (to.format.fraction_mask() + 1)),
              to.format.max_exponent() - to.format.fraction_bits - to.log2_scale},
        least_{1, to.format.min_spacing_exponent() - to.log2_scale} {}

  void add(const BinadeTally& tally) {
    unit_ = tally.binade.exponent - Binade::fraction_bits;
    negative_ = tally.binade.negative;
    sums_.nonzero += tally.all.count;
    signal_.add(tally.all.squares.total(), 2 * unit_);
    const Treatment treatment = treat(to_, question_.options, question_.input_least, tally.binade);
    switch (treatment.fate) {
      case Fate::rounded: return add_rounded(tally, treatment);
      case Fate::exact: return count(treatment.below ? below(Outcome::exact) : Outcome::exact, tally.all.count);
      case Fate::to_zero: return add_to_zero(tally);
      case Fate::to_least: return add_to_least(tally);
      case Fate::overflow: return add_overflow(tally.all, tally.all.most);
      case Fate::no_sign:
        count(Outcome::overflow, tally.all.count);
        sums_.lost += tally.all.count;
        sums_.lost_when_saturating += tally.all.count;
        return;
    }
  }

  /// What took the way through windows; all of it is normal in this format.
  void add_window(const WindowSums& window) {
    if (!window.enabled()) return;
    const int dropped = Binade::fraction_bits - to_.format.fraction_bits;
    std::size_t which = 0;
    while (window.formats()[which].dropped != dropped) ++which;
    for (const auto& [least, totals] : window.totals()) add_window(least, totals.input, totals.errors[which]);

    const WindowRelative& relative = window.formats()[which].relative;
    const auto inexact = static_cast<std::uint64_t>(relative.inexact.total());
    count(Outcome::rounded, inexact);
    sums_.counts[static_cast<std::size_t>(Outcome::exact)] -= inexact;
    const Variant variant{dropped, Direction::nearest_even};
    quotients_.add(relative.quotients.total(relative.quotient_count),
                   QuotientLanes::unit_exponent(variant.quotient_exponent()));
    if (inexact == 0) return;
    const auto in_binade = std::bit_cast<float>(relative.largest_in_binade + std::bit_cast<std::int32_t>(1.0F));
    raise(static_cast<double>(relative.largest_size), relative.largest_quotient,
          std::ldexp(static_cast<double>(in_binade), to_.format.fraction_bits));
  }

  void add_special(const BinadePass& pass) {
    count(Outcome::nan, pass.nan());
    count(Outcome::infinite, pass.infinite());
    count(Outcome::zero, pass.zeros());
    if (to_.format.has_zero() || pass.zeros() == 0) return;
    const auto n = static_cast<Int128>(pass.zeros());  // zero becomes the least number
    sizes_.add(n, least_.exponent);
    signed_.add(n, least_.exponent);
    squares_.add(n, 2 * least_.exponent);
    sums_.max_abs = std::max(sums_.max_abs, least_.value());
    sums_.max_ulp = std::max(sums_.max_ulp, 1.0);
  }

  ExactSums finish(const BinadePass& pass) {
    const auto value = [](std::uint32_t magnitude) { return static_cast<double>(std::bit_cast<float>(magnitude)); };
    sums_.largest = {value(pass.largest().magnitude), pass.largest().index};
    if (sums_.nonzero != 0) sums_.smallest = {value(pass.smallest().magnitude), pass.smallest().index};
    return {sums_, signal_, squares_, lost_squares_, sizes_, signed_, quotients_};
  }

 private:
  void add_window(int least, const WindowInput& input, const WindowErrors& errors) {
    const int tail = least - Binade::fraction_bits, head = tail + WindowBlock::tail_bits;
    sums_.nonzero += input.count;
    count(Outcome::exact, input.count);  // those that are inexact are moved afterwards
    signal_.add(input.heads_squared, 2 * head);
    signal_.add(2 * input.heads_by_tails, head + tail);
    signal_.add(input.tails_squared, 2 * tail);
    sizes_.add(errors.sizes, tail);
    signed_.add(errors.error_heads, head);
    signed_.add(-input.tails, tail);
    squares_.add(errors.error_heads_squared, 2 * head);
    squares_.add(-2 * errors.error_heads_by_tails, head + tail);
    squares_.add(input.tails_squared, 2 * tail);
  }

  void count(Outcome outcome, std::uint64_t n) { sums_.counts[static_cast<std::size_t>(outcome)] += n; }

  /// `size`: |error| in the domain of the input; `quotient`: relative; `ulps`: in the format's spacing.
  void raise(double size, double quotient, double ulps) {
    sums_.max_abs = std::max(sums_.max_abs, size);
    sums_.max_rel = std::max(sums_.max_rel, quotient);
    sums_.max_ulp = std::max(sums_.max_ulp, ulps);
  }
  /// An error of `size` at a number of this binade, in units of the format's spacing there.
  double in_ulps(double size) const {
    const int exponent = std::max(unit_ + Binade::fraction_bits + to_.log2_scale, to_.format.min_exponent());
    return std::ldexp(size, to_.log2_scale - (exponent - to_.format.fraction_bits));
  }

  void add_rounded(const BinadeTally& tally, const Treatment& treatment) {
    const Variant& variant = treatment.variant;
    const VariantSums& sums = tally.of(variant);
    add_sizes(sums.sizes.total(), sums.rounded.total() - tally.all.significands.total());
    squares_.add(sums.squares.total(), 2 * unit_);
    quotients_.add(sums.quotients.total(sums.quotient_count), QuotientLanes::unit_exponent(variant.quotient_exponent()));
    const double largest = std::ldexp(sums.largest_size(), unit_);
    raise(largest, sums.largest_quotient, in_ulps(largest));

    const auto inexact = static_cast<std::uint64_t>(sums.inexact.total()),
               carried = static_cast<std::uint64_t>(sums.carried.total());
    const std::uint64_t in_range = tally.all.count - sums.over.count;
    if (!treatment.below) {
      count(Outcome::exact, in_range - inexact);
      count(Outcome::rounded, inexact);
      if (sums.over.count != 0) add_overflow(sums.over, tally.all.most);
      return;
    }
    const bool all_nonzero = variant.dropped <= Binade::fraction_bits && !variant.flushes;
    const std::uint64_t others = tally.all.count - (treatment.counts_carried() ? carried : 0);
    if (treatment.counts_carried()) count(treatment.next_below ? Outcome::rounded : below(Outcome::rounded), carried);
    if (all_nonzero && !to_.format.has_subnormals()) {
      const std::uint64_t rounded = inexact - (tally.all.count - others);  // what carried is inexact
      count(Outcome::rounded, rounded);
      count(Outcome::exact, others - rounded);
      return;
    }
    count(all_nonzero ? Outcome::subnormal : Outcome::to_zero, others);
  }
  /// The class of a nonzero result below the least normal exponent, which among integers is not subnormal.
  Outcome below(Outcome otherwise) const { return to_.format.has_subnormals() ? Outcome::subnormal : otherwise; }

  /// sizes: the sum of |error|; outward: of errors, those away from zero being positive; in units.
  void add_sizes(Int128 sizes, Int128 outward) {
    sizes_.add(sizes, unit_);
    signed_.add(negative_ ? -outward : outward, unit_);
  }

  void add_to_zero(const BinadeTally& tally) {
    count(Outcome::to_zero, tally.all.count);
    add_sizes(tally.all.significands.total(), -tally.all.significands.total());
    squares_.add(tally.all.squares.total(), 2 * unit_);
    quotients_.add(static_cast<Int128>(tally.all.count), 0);
    const double largest = std::ldexp(tally.all.most, unit_);
    raise(largest, 1, in_ulps(largest));
  }

  /// To that of the same sign, whose distance is |least - |x||, or of the other, at least + |x|.
  void add_to_least(const BinadeTally& tally) {
    count(below(Outcome::rounded), tally.all.count);
    const bool other_sign = negative_ && !to_.format.is_signed();
    const bool inward = !other_sign && unit_ + Binade::fraction_bits >= least_.exponent;  // an input that counts as zero
    const auto n = static_cast<Int128>(tally.all.count);
    const Int128 x = tally.all.significands.total();
    const Int128 sign_of_x = other_sign ? 1 : -1, error_sign = negative_ && !other_sign ? -1 : 1;
    const int size_sign = inward ? -1 : 1;
    sizes_.add(size_sign * n, least_.exponent);
    sizes_.add(size_sign * sign_of_x * x, unit_);
    signed_.add(error_sign * n, least_.exponent);
    signed_.add(error_sign * sign_of_x * x, unit_);
    squares_.add(n, 2 * least_.exponent);
    squares_.add(2 * sign_of_x * x, unit_ + least_.exponent);
    squares_.add(tally.all.squares.total(), 2 * unit_);
    add_bound_over_x(tally.all, least_, size_sign);
    quotients_.add(size_sign * sign_of_x * n, 0);

    const double least = least_.value(), near = std::ldexp(tally.all.least, unit_), far = std::ldexp(tally.all.most, unit_);
    const double size = other_sign ? least + far : inward ? far - least : least - near;
    const double largest_quotient = inward ? size / far : (other_sign ? least + near : size) / near;
    raise(size, largest_quotient, in_ulps(size));
  }

  /// Adds the sum of bound / |x|.
  void add_bound_over_x(const SignificandSums& sums, Bound bound, int sign) {
    const int unit = QuotientLanes::unit_exponent(0) - Binade::fraction_bits;  // of 1 / significand
    quotients_.add(static_cast<Int128>(sign * bound.integer) * sums.reciprocals.total(sums.reciprocal_count),
                   unit + bound.exponent - unit_);
  }

  void add_overflow(const SignificandSums& sums, std::uint32_t most) {
    count(Outcome::overflow, sums.count);
    const emu::RoundingOptions& options = question_.options;
    const emu::Code code = emu::out_of_range_code(to_.format, options, negative_, false);
    const bool lost = to_.format.is_nan(code) || to_.format.is_infinite(code);
    const auto n = static_cast<Int128>(sums.count);
    WideSum& squares = lost ? lost_squares_ : squares_;
    squares.add(n * most_.integer * most_.integer, 2 * most_.exponent);
    squares.add(static_cast<Int128>(-2 * most_.integer) * sums.significands.total(), unit_ + most_.exponent);
    squares.add(sums.squares.total(), 2 * unit_);
    if (lost) {
      sums_.lost += sums.count;
      return;
    }
    const int inward = negative_ ? 1 : -1;
    sizes_.add(-n * most_.integer, most_.exponent);
    sizes_.add(sums.significands.total(), unit_);
    signed_.add(-inward * n * most_.integer, most_.exponent);
    signed_.add(inward * sums.significands.total(), unit_);
    quotients_.add(n, 0);
    add_bound_over_x(sums, most_, -1);
    const double x = std::ldexp(most, unit_), size = x - most_.value();
    raise(size, size / x, in_ulps(size));
  }

  const BinadeQuestion& question_;
  ScaledFormat to_;
  Bound most_, least_;
  int unit_ = 0;  ///< log2 of the last bit of the binade's significands
  bool negative_ = false;
  ErrorSums sums_;
  WideSum signal_, sizes_, signed_, squares_, lost_squares_, quotients_;
};

}  // namespace

void ExactSums::merge(const ExactSums& next) {
  counts.merge(next.counts);
  input.add(next.input);
  error.add(next.error);
  lost_error.add(next.lost_error);
  sizes.add(next.sizes);
  signed_error.add(next.signed_error);
  relative_error.add(next.relative_error);
}

ErrorSums ExactSums::rounded() const {
  const auto squares = [](const WideSum& sum) {
    const WideSum::Value v = sum.value();
    return SquareSum::of(v.significand, v.exponent);
  };
  ErrorSums sums = counts;
  sums.input = squares(input);
  sums.sum_abs = sizes.rounded();
  sums.sum_signed = signed_error.rounded();
  sums.sum_rel = relative_error.rounded();
  sums.error = squares(error);
  WideSum saturating = error;
  saturating.add(lost_error);
  sums.saturating_error = squares(saturating);
  return sums;
}

ExactSums exact_totals(const BinadePass& pass, const BinadeQuestion& question, const ScaledFormat& to) {
  Totals totals(question, to);
  pass.for_each([&](const BinadeTally& tally) { totals.add(tally); });
  totals.add_window(pass.window());
  totals.add_special(pass);
  return totals.finish(pass);
}

}  // namespace ulpscope::studies

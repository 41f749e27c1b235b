// SPDX-License-Identifier: Apache-2.0
// The losses of one rounding, and how losses of parts become a bound.
#include "emu/error_losses.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "emu/bits.hpp"
#include "emu/decode.hpp"
#include "emu/math.hpp"

namespace ulpscope::emu::detail {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::size_t pieces(std::size_t size, std::size_t piece) { return (size + piece - 1) / piece; }

/// What magnitudes can be multiplied by.
struct Growth {
  double strict;  ///< as in Higham's gamma
  double finite;  ///< (1 + u)^N <= exp(N u), which has a meaning for every N
  double likely;  ///< under the model of `probable`
};

Growth growth_of(const Losses& losses) {
  constexpr double lambda = 12;  // 2 exp(-lambda^2 / 2) < 10^-30
  const double all = losses.growth + losses.directed_growth;
  const double random = lambda * std::sqrt(losses.growth_variance);  // a product of (1 + d) is at most exp(sum of d)
  return {all < 1 ? 1 / (1 - all) : infinity, exp(all), exp(std::min(losses.growth, random) + losses.directed_growth)};
}

}  // namespace

Losses& Losses::operator+=(const Losses& other) noexcept {
  relative += other.relative;
  mean += other.mean;
  variance += other.variance;
  growth += other.growth;
  growth_variance += other.growth_variance;
  directed_growth += other.directed_growth;
  absolute += other.absolute;
  return *this;
}

Losses operator*(double count, const Losses& x) noexcept {
  return {.relative = count * x.relative,
          .mean = count * x.mean,
          .variance = count * x.variance,
          .growth = count * x.growth,
          .growth_variance = count * x.growth_variance,
          .directed_growth = count * x.directed_growth,
          .absolute = count * x.absolute};
}

double bounded_power_of_two(int exponent) noexcept {
  if (exponent > float64.max_exponent()) return infinity;
  return power_of_two(std::max(exponent, float64.min_spacing_exponent()));
}

Losses rounding_losses(Format format, int fraction_bits, Rounding rounding) noexcept {
  const bool nearest = rounding == Rounding::nearest_even || rounding == Rounding::nearest_away;
  const int unit_log2 = -fraction_bits - (nearest ? 1 : 0);
  const double unit = power_of_two(unit_log2), half = unit / 2;
  Losses losses{.relative = unit, .absolute = bounded_power_of_two(format.min_exponent() + unit_log2)};
  if (nearest) {
    losses.variance = losses.growth_variance = unit * unit;
    losses.growth = unit;
  } else if (rounding == Rounding::stochastic) {
    losses.variance = unit * unit;
    losses.directed_growth = unit;
  } else {
    losses.mean = half;
    losses.variance = half * half;
    losses.directed_growth = rounding == Rounding::toward_zero ? 0 : unit;
  }
  return losses;
}

double subnormal_product(Format a, Format b, const Chain& chain) noexcept {
  const auto least = [](Format f) { return bounded_power_of_two(f.min_exponent()); };
  const auto largest = [&](Format f, double given) {
    return std::max(least(f), std::min(given, decode(f, f.max_finite_code())));
  };
  const double of_a = a.has_subnormals() ? least(a) * largest(b, chain.largest_b) : 0;
  const double of_b = b.has_subnormals() ? least(b) * largest(a, chain.largest_a) : 0;
  return std::max(of_a, of_b);
}

SumParts sum_parts(std::size_t k, std::size_t step, Format accumulator, const Chain& chain) noexcept {
  const std::size_t splits = std::max<std::size_t>(chain.split_k, 1);
  const std::size_t length = std::min(k, pieces(pieces(k, splits), step) * step), chains = pieces(k, length);
  std::size_t shorter = chain.promote, longer = chain.scale_products;
  if (shorter == 0 || (longer != 0 && longer < shorter)) std::swap(shorter, longer);
  SumParts parts{chains, length, chain.scale_products > 0, accumulator == float64 ? float64 : float32};
  if (shorter == 0 || shorter >= length) shorter = length;
  parts.length = shorter;
  std::size_t in_chain = pieces(length, shorter);
  // Ends of scales are ends of promotion, or the other way about, where one divides the other and scales begin anew in every
  // chain.
  const bool anew = chains == 1 || chain.scale_products == 0 || length % chain.scale_products == 0;
  if (longer != 0 && (longer % shorter != 0 || !anew)) in_chain += pieces(length, longer) - 1;
  if (!anew) ++in_chain;
  parts.count = chains * in_chain;
  return parts;
}

ErrorBound bound_of(const Losses& part, double steps, const SumParts& parts, const Chain& chain) noexcept {
  const Growth growth = growth_of(part);
  ErrorBound bound{.relative = part.relative * growth.strict,
                   .absolute = part.absolute * (1 + part.relative * growth.finite),
                   .mean_relative = part.mean * growth.likely,
                   .random_relative = std::sqrt(part.variance) * growth.likely,
                   .losses = steps,
                   .unit = part.relative / std::max(steps, 1.0)};
  if (parts.is_single() && chain.epilogue == 0) return bound;

  const auto count = static_cast<double>(parts.count);
  const double roundings = count - 1 + (chain.has_c ? 1 : 0) + (parts.scaled ? 2 : 0) + static_cast<double>(chain.epilogue);
  Losses joining = roundings * rounding_losses(parts.joined_in, parts.joined_in.fraction_bits, Rounding::nearest_even);
  const Growth after = growth_of(joining);
  const bool multiplied = parts.scaled || chain.epilogue > 0;
  const double underflow = multiplied ? bounded_power_of_two(parts.joined_in.min_spacing_exponent()) : 0;
  const double scale = multiplied ? chain.largest_scale : 1;
  const double random = std::sqrt(joining.variance) * growth.likely * after.likely;
  bound.relative += joining.relative * after.strict * (1 + bound.relative);
  const double sum = count * (bound.absolute * scale + underflow) + static_cast<double>(chain.epilogue) * underflow;
  bound.absolute = sum * (1 + joining.relative * after.finite);
  bound.random_relative = std::sqrt(bound.random_relative * bound.random_relative + random * random);
  if (joining.relative > part.relative) {
    bound.losses = roundings;
    bound.unit = joining.relative / roundings;
  }
  return bound;
}

}  // namespace ulpscope::emu::detail

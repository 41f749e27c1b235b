// SPDX-License-Identifier: Apache-2.0
// Rounds an element, classifies it and adds its errors; plain inputs take a shorter loop.
#include "studies/census/round_and_count.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "emu/bulk.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/philox.hpp"

namespace ulpscope::studies {
namespace {

using emu::Format;
using emu::Outcome;
using emu::RoundingOptions;

constexpr double least_normal_double = std::numeric_limits<double>::min();

/// x / 2^exponent without overflow of the power on the way; |exponent| <= 1074.
inline double divide_by_power(double x, int exponent) {
  const int half = exponent / 2;
  return x * emu::power_of_two(-half) * emu::power_of_two(half - exponent);
}

/// The largest number of this sign that does not overflow; stochastic rounding may round it either way.
double last_in_range(Format format, RoundingOptions options, bool negative) {
  if (options.rounding == emu::Rounding::stochastic) return emu::max_finite(format);
  auto low = std::bit_cast<std::uint64_t>(emu::max_finite(format));
  auto high = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity());
  while (high - low > 1) {  // codes of positive doubles have their order
    const std::uint64_t middle = low + (high - low) / 2;
    const double x = std::bit_cast<double>(middle);
    (emu::round_to(format, negative ? -x : x, options).outcome == Outcome::overflow ? high : low) = middle;
  }
  return std::bit_cast<double>(low);
}

/// What became of a number, from what it was rounded to.
class Classifier {
 public:
  Classifier(Format format, const RoundingOptions& options, std::uint64_t seed)
      : format_(format),
        options_(options),
        seed_(seed),
        min_normal_(emu::min_normal(format)),
        last_positive_(last_in_range(format, options, false)),
        last_negative_(format.is_signed() ? last_in_range(format, options, true) : 0) {}

  /// No number up to this one overflows, whatever its sign; negative where all of a sign do.
  double in_range() const { return format_.is_signed() ? std::min(last_positive_, last_negative_) : -1; }
  double min_normal() const { return min_normal_; }

  /// `index`: the element's, which stochastic rounding depends on.
  Outcome operator()(double x, double rounded, std::uint64_t index) const {
    if (std::isnan(x)) return Outcome::nan;
    if (std::isinf(x)) return Outcome::infinite;
    if (x == 0) return Outcome::zero;
    const double size = std::fabs(x);
    if (!format_.is_signed() && x < 0 && !(options_.subnormals_are_zero && size < least_normal_double))
      return Outcome::overflow;
    if (!std::isfinite(rounded)) return Outcome::overflow;
    if (size > (x < 0 ? last_negative_ : last_positive_)) return beyond(x, index);
    if (rounded == 0) return Outcome::to_zero;
    if (std::fabs(rounded) < min_normal_) return Outcome::subnormal;
    return rounded == x ? Outcome::exact : Outcome::rounded;
  }

 private:
  Outcome beyond(double x, std::uint64_t index) const {
    if (options_.rounding != emu::Rounding::stochastic) return Outcome::overflow;
    return emu::round_to(format_, x, options_, emu::rounding_bits(seed_, index)).outcome;
  }

  Format format_;
  RoundingOptions options_;
  std::uint64_t seed_;
  double min_normal_, last_positive_, last_negative_;
};

/// One element on its way.
struct Element {
  double x;        ///< the input
  double product;  ///< with its scale
  double value;    ///< what that was rounded to
  double y;        ///< the value in the domain of x
  double saturated_y;
};

inline void add(ErrorSums& sums, Format format, const Element& e, Outcome outcome, std::uint64_t index) {
  ++sums.counts[static_cast<std::size_t>(outcome)];
  if (!std::isfinite(e.x)) return;
  const double magnitude = std::fabs(e.x);
  if (magnitude > sums.largest.magnitude) sums.largest = {magnitude, index};
  if (magnitude != 0) {
    ++sums.nonzero;
    if (magnitude < sums.smallest.magnitude) sums.smallest = {magnitude, index};
  }
  sums.input.add(e.x);
  if (std::isfinite(e.saturated_y))
    sums.saturating_error.add(e.saturated_y - e.x);
  else
    ++sums.lost_when_saturating;
  if (!std::isfinite(e.y)) {
    ++sums.lost;
    return;
  }
  const double error = e.y - e.x, size = std::fabs(error);
  sums.error.add(error);
  sums.sum_signed += error;
  sums.sum_abs += size;
  if (size > sums.max_abs) sums.max_abs = size;
  if (magnitude != 0) {
    const double relative = size / magnitude;
    sums.sum_rel += relative;
    if (relative > sums.max_rel) sums.max_rel = relative;
  }
  const double ulps = divide_by_power(std::fabs(e.value - e.product), emu::spacing_exponent(format, e.product));
  if (ulps > sums.max_ulp) sums.max_ulp = ulps;
}

/// Rounds and counts few elements at a time, so that what is between the steps stays in the first cache.
class Counter {
 public:
  Counter(Format format, const ScaleMap& scales, const tensors::DType& dtype, const RoundingOptions& options,
          std::uint64_t seed)
      : format_(format),
        scales_(scales),
        options_(options),
        seed_(seed),
        classify_(format, options, seed),
        max_finite_(emu::max_finite(format)),
        least_input_(options.subnormals_are_zero && dtype.format ? emu::min_normal(*dtype.format) : 0) {}

  static constexpr std::size_t block = 512;

  /// At most `block` values.
  template <class Float>
  void add(std::span<const Float> values, std::uint64_t first, ErrorSums& sums) {
    round(values, first);
    if (is_plain(values, first)) return count_plain(values, first, sums);
    for_each_run(values.size(), first, [&](std::size_t begin, std::size_t end, const ElementScale& scale) {
      for (std::size_t i = begin; i < end; ++i) count(static_cast<double>(values[i]), i, scale, first + i, sums);
    });
  }

  /// At most `block` values.
  template <class Float>
  void unscale(std::span<const Float> values, std::uint64_t first, std::span<double> out, std::span<emu::Code> codes) {
    round(values, first);
    if (!codes.empty()) emu::encode(format_, std::span<const double>(value_.data(), values.size()), codes);
    for_each_run(values.size(), first, [&](std::size_t begin, std::size_t end, const ElementScale& scale) {
      for (std::size_t i = begin; i < end; ++i) out[i] = unscaled(value_[i], scale);
    });
  }

 private:
  static double unscaled(double value, const ElementScale& scale) { return value * scale.numerator / scale.denominator; }

  /// Fills product_, scaled_ and value_.
  template <class Float>
  void round(std::span<const Float> values, std::uint64_t first) {
    for_each_run(values.size(), first, [&](std::size_t begin, std::size_t end, const ElementScale& scale) {
      multiply(values.subspan(begin, end - begin), scale, begin);
    });
    emu::round_to(format_, std::span<const double>(scaled_.data(), values.size()), std::span(value_.data(), values.size()),
                  options_, {seed_, first});
  }

  /// Calls act(begin, end, scale) for what lies next to each other under one scale.
  template <class Act>
  void for_each_run(std::size_t count, std::uint64_t first, Act act) const {
    for (std::size_t begin = 0; begin < count;) {
      const ScaleMap::Run run = scales_.run(first + begin);
      const auto end = begin + static_cast<std::size_t>(std::min<std::uint64_t>(run.count, count - begin));
      act(begin, end, run.scale);
      begin = end;
    }
  }

  template <class Float>
  void multiply(std::span<const Float> values, const ElementScale& scale, std::size_t at) {
    // A block whose stored scale is 0 has zeros for its elements; the product tells how far from them it is.
    const bool is_lost = scale.numerator == 0;
    if (scales_.multiplies_in_float() && !is_lost) {
      const auto factor = static_cast<double>(static_cast<float>(scale.multiply));
      for (std::size_t i = 0; i < values.size(); ++i)
        product_[at + i] = static_cast<double>(static_cast<float>(static_cast<double>(values[i]) * factor));
    } else {
      for (std::size_t i = 0; i < values.size(); ++i) product_[at + i] = static_cast<double>(values[i]) * scale.multiply;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto x = static_cast<double>(values[i]);
      const bool to_zero = x != 0 && (std::fabs(x) < least_input_ || (is_lost && std::isfinite(x)));
      scaled_[at + i] = to_zero ? std::copysign(0.0, x) : product_[at + i];
    }
  }

  /// Whether all numbers are finite and remain so, and their squares and those of the errors are ordinary. Fills error_.
  template <class Float>
  bool is_plain(std::span<const Float> values, std::uint64_t first) {
    for_each_run(values.size(), first, [&](std::size_t begin, std::size_t end, const ElementScale& scale) {
      for (std::size_t i = begin; i < end; ++i) error_[i] = unscaled(value_[i], scale) - static_cast<double>(values[i]);
    });
    const auto squares_well = [](double x) {
      const double size = std::fabs(x);
      return static_cast<int>(x == 0) |
             (static_cast<int>(size >= SquareSum::least_ordinary) & static_cast<int>(size <= SquareSum::most_ordinary));
    };
    const double in_range = classify_.in_range();
    int plain = 1;
    for (std::size_t i = 0; i < values.size(); ++i)
      plain &= squares_well(static_cast<double>(values[i])) & squares_well(error_[i]) &
               static_cast<int>(std::fabs(scaled_[i]) <= in_range);
    return plain != 0;
  }

  /// The same sums in the same order as by count(), without its questions.
  template <class Float>
  void count_plain(std::span<const Float> values, std::uint64_t first, ErrorSums& sums) const {
    double input = sums.input.ordinary(), error_squares = sums.error.ordinary(), saturating = sums.saturating_error.ordinary();
    double sum_signed = sums.sum_signed, sum_abs = sums.sum_abs, sum_rel = sums.sum_rel;
    double max_abs = sums.max_abs, max_rel = sums.max_rel, max_ulp = sums.max_ulp;
    std::uint64_t zeros = 0, to_zero = 0, subnormal = 0, exact = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto x = static_cast<double>(values[i]);
      const double error = error_[i], magnitude = std::fabs(x), size = std::fabs(error), value = std::fabs(value_[i]);
      input += x * x;
      error_squares += error * error;
      saturating += error * error;
      sum_signed += error;
      sum_abs += size;
      const double relative = magnitude == 0 ? 0 : size / magnitude;
      sum_rel += relative;
      max_abs = std::max(max_abs, size);
      max_rel = std::max(max_rel, relative);
      max_ulp = std::max(max_ulp, ulps(i));
      zeros += x == 0 ? 1 : 0;
      to_zero += value == 0 ? 1 : 0;                        // zeros among them
      subnormal += value < classify_.min_normal() ? 1 : 0;  // those before among them
      exact += value_[i] == scaled_[i] && value >= classify_.min_normal() ? 1 : 0;
      if (magnitude > sums.largest.magnitude) sums.largest = {magnitude, first + i};
      if (magnitude < sums.smallest.magnitude && magnitude != 0) sums.smallest = {magnitude, first + i};
    }
    sums.input.ordinary() = input, sums.error.ordinary() = error_squares, sums.saturating_error.ordinary() = saturating;
    sums.sum_signed = sum_signed, sums.sum_abs = sum_abs, sums.sum_rel = sum_rel;
    sums.max_abs = max_abs, sums.max_rel = max_rel, sums.max_ulp = max_ulp;
    sums.nonzero += values.size() - zeros;
    const auto add_to = [&](Outcome outcome, std::uint64_t n) { sums.counts[static_cast<std::size_t>(outcome)] += n; };
    add_to(Outcome::zero, zeros);
    add_to(Outcome::to_zero, to_zero - zeros);
    add_to(Outcome::subnormal, subnormal - to_zero);
    add_to(Outcome::exact, exact);
    add_to(Outcome::rounded, values.size() - subnormal - exact);
  }

  double ulps(std::size_t i) const {
    return divide_by_power(std::fabs(value_[i] - product_[i]), emu::spacing_exponent(format_, product_[i]));
  }

  void count(double x, std::size_t i, const ElementScale& scale, std::uint64_t index, ErrorSums& sums) const {
    const double scaled = scaled_[i], value = value_[i];
    Outcome outcome = classify_(scaled, value, index);
    // The class tells what became of the input, not of the scaled value, which a scale may make infinite, NaN or zero.
    if (std::isinf(x)) outcome = Outcome::infinite;
    if (std::isfinite(x) && !std::isfinite(scaled)) outcome = Outcome::overflow;
    if (x != 0 && scaled == 0) outcome = format_.has_zero() ? Outcome::to_zero : Outcome::rounded;
    const bool saturates = outcome == Outcome::overflow && (format_.is_signed() || scaled > 0);
    const double y = unscaled(value, scale);
    const double saturated_y = saturates ? unscaled(std::copysign(max_finite_, scaled), scale) : y;
    studies::add(sums, format_, {x, product_[i], value, y, saturated_y}, outcome, index);
  }

  Format format_;
  const ScaleMap& scales_;
  RoundingOptions options_;
  std::uint64_t seed_;
  Classifier classify_;
  double max_finite_, least_input_;
  std::array<double, block> product_, scaled_, value_, error_;
};

}  // namespace

template <class Float>
ErrorSums round_and_count(std::span<const Float> values, std::uint64_t first, Format format, const ScaleMap& scales,
                          const tensors::DType& dtype, const RoundingOptions& options, std::uint64_t seed) {
  ErrorSums sums;
  Counter counter(format, scales, dtype, options, seed);
  for (std::size_t i = 0; i < values.size(); i += Counter::block)
    counter.add(values.subspan(i, std::min(Counter::block, values.size() - i)), first + i, sums);
  return sums;
}

template <class Float>
void round_and_unscale(std::span<const Float> values, std::uint64_t first, Format format, const ScaleMap& scales,
                       const tensors::DType& dtype, const RoundingOptions& options, std::uint64_t seed, std::span<double> out,
                       std::span<emu::Code> codes) {
  Counter counter(format, scales, dtype, options, seed);
  for (std::size_t i = 0; i < values.size(); i += Counter::block) {
    const std::size_t size = std::min(Counter::block, values.size() - i);
    counter.unscale(values.subspan(i, size), first + i, out.subspan(i, size), codes.empty() ? codes : codes.subspan(i, size));
  }
}

template void round_and_unscale<float>(std::span<const float>, std::uint64_t, Format, const ScaleMap&, const tensors::DType&,
                                       const RoundingOptions&, std::uint64_t, std::span<double>, std::span<emu::Code>);
template void round_and_unscale<double>(std::span<const double>, std::uint64_t, Format, const ScaleMap&, const tensors::DType&,
                                        const RoundingOptions&, std::uint64_t, std::span<double>, std::span<emu::Code>);
template ErrorSums round_and_count<float>(std::span<const float>, std::uint64_t, Format, const ScaleMap&, const tensors::DType&,
                                          const RoundingOptions&, std::uint64_t);
template ErrorSums round_and_count<double>(std::span<const double>, std::uint64_t, Format, const ScaleMap&,
                                           const tensors::DType&, const RoundingOptions&, std::uint64_t);

}  // namespace ulpscope::studies

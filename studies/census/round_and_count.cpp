// SPDX-License-Identifier: Apache-2.0
// Rounds an element, classifies it and adds its errors; plain inputs take a shorter loop.
#include "studies/census/round_and_count.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/philox.hpp"
#include "studies/census/in_order_kernels.hpp"

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

  /// No magnitude up to in_range() overflows, whatever its sign, and every one beyond() does. Where either is not so of any,
  /// it is -1 or infinity.
  ///@{
  double in_range() const { return format_.is_signed() ? std::min(last_positive_, last_negative_) : -1; }
  double beyond() const {
    const bool is_known = format_.is_signed() && options_.rounding != emu::Rounding::stochastic;
    return is_known ? std::max(last_positive_, last_negative_) : std::numeric_limits<double>::infinity();
  }
  ///@}
  double min_normal() const { return min_normal_; }

  /// `index`: the element's, which stochastic rounding depends on.
  Outcome operator()(double x, double rounded, std::uint64_t index) const {
    if (std::isnan(x)) return Outcome::nan;
    if (std::isinf(x)) return Outcome::infinite;
    if (x == 0) return Outcome::zero;
    const double size = std::fabs(x);
    if (!format_.is_signed() && x < 0 && !(options_.subnormals_are_zero && size < least_normal_double))
      return format_.has_zero() ? exactly(x, index) : Outcome::overflow;
    if (!std::isfinite(rounded)) return Outcome::overflow;
    if (size > (x < 0 ? last_negative_ : last_positive_)) return beyond(x, index);
    if (rounded == 0) return Outcome::to_zero;
    if (std::fabs(rounded) < min_normal_) return Outcome::subnormal;
    return rounded == x ? Outcome::exact : Outcome::rounded;
  }

 private:
  Outcome beyond(double x, std::uint64_t index) const {
    return options_.rounding == emu::Rounding::stochastic ? exactly(x, index) : Outcome::overflow;
  }
  Outcome exactly(double x, std::uint64_t index) const {
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

/// Adds x^2: what is ordinary to its lane.
inline void add_square(double x, SquareSum& sum, double& lane) {
  if (SquareSum::is_ordinary(x))
    lane += x * x;
  else
    sum.add(x);
}

/// Adds an element whose sums are formed in this lane.
inline void add(ErrorSums& sums, InOrderSums& lanes, std::size_t lane, Format format, const Element& e, Outcome outcome,
                std::uint64_t index) {
  ++sums.counts[static_cast<std::size_t>(outcome)];
  if (!std::isfinite(e.x)) return;
  const double magnitude = std::fabs(e.x);
  if (magnitude > sums.largest.magnitude) sums.largest = {magnitude, index};
  if (magnitude != 0) {
    ++sums.nonzero;
    if (magnitude < sums.smallest.magnitude) sums.smallest = {magnitude, index};
  }
  add_square(e.x, sums.input, lanes.input[lane]);
  if (std::isfinite(e.saturated_y))
    add_square(e.saturated_y - e.x, sums.saturating_error, lanes.saturating_error[lane]);
  else
    ++sums.lost_when_saturating;
  if (!std::isfinite(e.y)) {
    ++sums.lost;
    return;
  }
  const double error = e.y - e.x, size = std::fabs(error);
  add_square(error, sums.error, lanes.error[lane]);
  if (size <= LargeSum::most_ordinary) {
    lanes.signed_error[lane] += error;
    lanes.abs_error[lane] += size;
  } else {
    sums.large_signed.add(error);
    sums.large_abs.add(size);
  }
  if (size > sums.max_abs) sums.max_abs = size;
  if (magnitude != 0) {
    const double relative = size / magnitude;
    lanes.rel_error[lane] += relative;
    if (relative > sums.max_rel) sums.max_rel = relative;
  }
  const double ulps = divide_by_power(std::fabs(e.value - e.product), emu::spacing_exponent(format, e.product));
  if (ulps > sums.max_ulp) sums.max_ulp = ulps;
}

/// The sum of the lanes: of those of one half with those of the other, until one is left.
double sum_of(InOrderSums::Lanes lanes) {
  for (std::size_t half = lanes.size() / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes.front();
}

/// What elements are rounded to: integers with a zero point lie anywhere among those of one bit more.
Format grid_of(Format format, const ScaleMap& scales) {
  return scales.has_zero_points() ? emu::integer(scales.zero_point_bits() + 1) : format;
}

/// Whether floats with their scale, the same for all, are what a product of floats is, wherever that is finite.
bool has_float_products(const ScaleMap& scales) {
  if (!scales.is_uniform() || scales.has_zero_points() || !FloatBlock::can_have(scales.uniform())) return false;
  return scales.multiplies_in_float() || scales.log2_uniform().value_or(-1) >= 0;
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
        question_{.in_float = scales.multiplies_in_float(),
                  .least_input = options.subnormals_are_zero && dtype.format ? emu::min_normal(*dtype.format) : 0,
                  .in_range = classify_.in_range(),
                  .beyond = classify_.beyond(),
                  .min_normal = classify_.min_normal(),
                  .min_exponent = format.min_exponent(),
                  .fraction_bits = format.fraction_bits},
        has_plain_blocks_(emu::fits_float(format)),
        is_all_floats_(has_plain_blocks_ && has_float_products(scales) && !options.subnormals_are_zero) {}

  static constexpr std::size_t block = InOrderBlock::size;

  /// At most `block` values, all but the last time.
  template <class Float>
  void add(std::span<const Float> values, std::uint64_t first) {
    if constexpr (std::is_same_v<Float, float>) {
      if (is_all_floats_ && add_floats(values, first)) return;
    }
    round(values, first);
    unscale(runs_, block_);
    if (has_plain_blocks_ && is_plain(block_, question_))
      return count_plain(std::span<const double>(block_.x.data(), values.size()), first,
                         [&](PlainCounts& counts) { add_plain(block_, question_, lanes_, counts); });
    for (const ScaleRun& run : runs_)
      for (std::size_t i = run.begin; i < run.end; ++i) count(i, run.scale, first + i);
  }

  /// Of all that was added.
  ErrorSums finish() {
    sums_.input.ordinary() += sum_of(lanes_.input);
    sums_.error.ordinary() += sum_of(lanes_.error);
    sums_.saturating_error.ordinary() += sum_of(lanes_.saturating_error);
    sums_.sum_signed = sum_of(lanes_.signed_error);
    sums_.sum_abs = sum_of(lanes_.abs_error);
    sums_.sum_rel = sum_of(lanes_.rel_error);
    return sums_;
  }

  /// At most `block` values.
  template <class Float>
  void unscaled(std::span<const Float> values, std::uint64_t first, std::span<double> out, std::span<emu::Code> codes) {
    round(values, first);
    if (!codes.empty()) encode(values.size(), codes);
    for (const ScaleRun& run : runs_)
      for (std::size_t i = run.begin; i < run.end; ++i) out[i] = without(run.scale, block_.value[i]);
  }

 private:
  static double without(const ElementScale& scale, double value) { return value * scale.numerator / scale.denominator; }

  /// Codes of the block's values; of integers with a zero point bytes of the sum, in two's complement.
  void encode(std::size_t count, std::span<emu::Code> codes) const {
    if (!scales_.has_zero_points()) return emu::encode(format_, std::span<const double>(block_.value.data(), count), codes);
    const double least = -std::ldexp(1.0, scales_.zero_point_bits() - 1);
    for (const ScaleRun& run : runs_)
      for (std::size_t i = run.begin; i < run.end; ++i)
        codes[i] = static_cast<std::uint8_t>(static_cast<int>(block_.value[i] - run.scale.low + least));
  }

  /// Takes values to the ends of the integers that codes have.
  void clamp_to_codes() {
    const double codes = std::ldexp(1.0, scales_.zero_point_bits()) - 1;
    for (const ScaleRun& run : runs_)
      for (std::size_t i = run.begin; i < run.end; ++i)
        block_.value[i] = std::clamp(block_.value[i], run.scale.low, run.scale.low + codes);
  }

  /// Fills all of the block but the errors, and runs_.
  template <class Float>
  void round(std::span<const Float> values, std::uint64_t first) {
    runs_.clear();
    scales_.for_each_run(first, values.size(), [&](std::uint64_t at, std::uint64_t count, const ElementScale& scale) {
      const auto begin = static_cast<std::size_t>(at - first);
      runs_.push_back({begin, begin + static_cast<std::size_t>(count), scale});
    });
    multiply(values, runs_, question_, block_);
    emu::round_to(format_, std::span<const double>(block_.scaled.data(), values.size()),
                  std::span(block_.value.data(), values.size()), options_, {seed_, first});
    if (scales_.has_zero_points()) clamp_to_codes();
  }

  /// Of floats that are floats under their scale, too. @returns false, and nothing is added, where a block is not plain
  bool add_floats(std::span<const float> values, std::uint64_t first) {
    const ElementScale& scale = scales_.uniform();
    std::span<const float> products = values;
    if (scale.multiply != 1) {
      multiply(values, static_cast<float>(scale.multiply), std::span(products_).first(values.size()));
      products = std::span(products_).first(values.size());
    }
    if (!are_within(question_.in_range, products)) return false;
    const std::span rounded = std::span(rounded_).first(values.size());
    emu::round_to(format_, products, rounded, options_, {seed_, first});
    count_plain(values, first, [&](PlainCounts& counts) {
      add_plain({values, products, rounded, scale}, question_, lanes_, counts);
    });
    return true;
  }

  /// add(counts): of a plain block of these inputs.
  template <class Float, class Add>
  void count_plain(std::span<const Float> values, std::uint64_t first, Add add) {
    PlainCounts plain{.largest = sums_.largest.magnitude, .smallest = sums_.smallest.magnitude};
    plain.max_abs = sums_.max_abs, plain.max_rel = sums_.max_rel, plain.max_ulp = sums_.max_ulp;
    add(plain);
    sums_.max_abs = plain.max_abs, sums_.max_rel = plain.max_rel, sums_.max_ulp = plain.max_ulp;
    if (plain.largest > sums_.largest.magnitude) sums_.largest = {plain.largest, first + place_of(plain.largest, values)};
    if (plain.smallest < sums_.smallest.magnitude) sums_.smallest = {plain.smallest, first + place_of(plain.smallest, values)};
    sums_.nonzero += values.size() - plain.zeros;
    const auto add_to = [&](Outcome outcome, std::uint64_t n) { sums_.counts[static_cast<std::size_t>(outcome)] += n; };
    add_to(Outcome::zero, plain.zeros);
    add_to(Outcome::to_zero, plain.to_zero - plain.zeros);
    add_to(Outcome::subnormal, plain.below_normal - plain.to_zero);
    add_to(Outcome::exact, plain.exact);
    add_to(Outcome::overflow, plain.overflows);
    add_to(Outcome::rounded, values.size() - plain.below_normal - plain.exact - plain.overflows);
  }

  /// The first place of an input of this magnitude.
  template <class Float>
  static std::size_t place_of(double magnitude, std::span<const Float> values) {
    std::size_t i = 0;
    while (static_cast<double>(std::fabs(values[i])) != magnitude) ++i;
    return i;
  }

  void count(std::size_t i, const ElementScale& scale, std::uint64_t index) {
    const double x = block_.x[i], scaled = block_.scaled[i], value = block_.value[i];
    Outcome outcome = classify_(scaled, value, index);
    // The class tells what became of the input, not of the scaled value, which a scale may make infinite, NaN or zero.
    if (std::isinf(x)) outcome = Outcome::infinite;
    if (std::isfinite(x) && !std::isfinite(scaled)) outcome = Outcome::overflow;
    if (x != 0 && scaled == 0) outcome = format_.has_zero() ? Outcome::to_zero : Outcome::rounded;
    const bool below = scaled < 0 && !format_.is_signed();  // the whole range
    const bool saturates = outcome == Outcome::overflow && (!below || format_.has_zero());
    const double y = without(scale, value);
    const double saturated = below ? 0 : std::copysign(max_finite_, scaled);
    const double saturated_y = saturates ? without(scale, saturated) : y;
    studies::add(sums_, lanes_, i % InOrderBlock::sum_lanes, format_, {x, block_.product[i], value, y, saturated_y}, outcome,
                 index);
  }

  Format format_;
  const ScaleMap& scales_;
  RoundingOptions options_;
  std::uint64_t seed_;
  Classifier classify_;
  double max_finite_;
  InOrderQuestion question_;
  bool has_plain_blocks_, is_all_floats_;
  InOrderBlock block_;
  alignas(64) std::array<float, block> products_, rounded_;
  std::vector<ScaleRun> runs_;
  InOrderSums lanes_;
  ErrorSums sums_;
};

}  // namespace

template <class Float>
ErrorSums round_and_count(std::span<const Float> values, std::uint64_t first, Format format, const ScaleMap& scales,
                          const tensors::DType& dtype, const RoundingOptions& options, std::uint64_t seed) {
  Counter counter(grid_of(format, scales), scales, dtype, options, seed);
  for (std::size_t i = 0; i < values.size(); i += Counter::block)
    counter.add(values.subspan(i, std::min(Counter::block, values.size() - i)), first + i);
  return counter.finish();
}

template <class Float>
void round_and_unscale(std::span<const Float> values, std::uint64_t first, Format format, const ScaleMap& scales,
                       const tensors::DType& dtype, const RoundingOptions& options, std::uint64_t seed, std::span<double> out,
                       std::span<emu::Code> codes) {
  Counter counter(grid_of(format, scales), scales, dtype, options, seed);
  for (std::size_t i = 0; i < values.size(); i += Counter::block) {
    const std::size_t size = std::min(Counter::block, values.size() - i);
    counter.unscaled(values.subspan(i, size), first + i, out.subspan(i, size), codes.empty() ? codes : codes.subspan(i, size));
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

// SPDX-License-Identifier: Apache-2.0
// Elements of a norm with what a kernel may differ by, and rows whose squares leave the accumulator's range.
#include "verify/operations/layer_norm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/hypotenuse.hpp"
#include "emu/names.hpp"
#include "verify/operations/ball.hpp"
#include "verify/operations/kept_rows.hpp"
#include "verify/operations/layer_norm_errors.hpp"
#include "verify/operations/norm_moments.hpp"
#include "verify/operations/random_sums.hpp"
#include "verify/operations/real.hpp"

namespace ulpscope::verify {
namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();

template <class T>
T normalised(const T& centred, const T& root, double weight, double bias) {
  return centred / root * T(weight) + T(bias);
}

bool all_finite(std::span<const float> x) {
  return std::all_of(x.begin(), x.end(), [](float v) { return std::isfinite(v); });
}
/// NaN if one of them is: what stands for no bound at all.
double greater(double x, double y) { return std::isnan(x) || x > y ? x : y; }
bool any_nan(std::span<const float> x) {
  return std::any_of(x.begin(), x.end(), [](float v) { return std::isnan(v); });
}

/// What all elements of a row share in one way to its moments.
struct WayErrors {
  MomentErrors moments;
  double mean = 0;         ///< |m| as a kernel may have it
  double of_root = 0;      ///< relative error of the computed 1/root, without the linear part of `linear`
  double linear = 0;       ///< relative: half of what random errors of the squares come to
};

/// And in all of them.
struct RowErrors {
  Ball root;                    ///< of variance + eps
  double inverse = 0;           ///< an upper bound of 1/root
  bool overflows = false;       ///< sums may leave the accumulator's range
  std::vector<WayErrors> ways;  ///< that a kernel may have taken
};

class LayerNormExpectation final : public RowExpectation {
 public:
  explicit LayerNormExpectation(LayerNorm operation)
      : RowExpectation(operation.x.shape, operation.last), op_(std::move(operation)) {
    for (std::uint64_t i = 0; i < op_.x.rows(); ++i) overflowing_.push_back(may_overflow(op_.x.row(i)) ? 1 : 0);
  }

  std::string bound() const override {
    return fmt::format("{}; {}; {}{}{}", words_of_sum(op_.arithmetic, op_.x.columns()), words_of_functions(op_.arithmetic),
                       op_.norm == Norm::layer ? words_of_variance() : "mean of squares",
                       op_.normalized ? "; rounded to " + emu::format_name(*op_.normalized) + " before the weight" : "",
                       op_.false_alarm ? words_of_false_alarm(*op_.false_alarm) : "");
  }

  /// Squares that overflow make the root infinite and the quotient 0.
  bool admits(std::uint64_t index, double output) const override {
    const std::uint64_t columns = op_.x.columns();
    if (overflowing_[static_cast<std::size_t>(index / columns)] == 0 || !all_finite(op_.x.row(index / columns))) return false;
    const Expected left = zero_times_weight(static_cast<std::size_t>(index % columns));
    const auto rounded = [&](double x) { return emu::round_to(last().out, x, last().options).value; };
    return rounded(left.value - left.allowed) <= output && output <= rounded(left.value + left.allowed);
  }
  bool may_admit_zero() const override {
    return std::any_of(overflowing_.begin(), overflowing_.end(), [](std::uint8_t overflows) { return overflows != 0; });
  }

 private:
  const char* words_of_variance() const {
    switch (op_.variance) {
      case Variance::centred: return "variance of x - mean";
      case Variance::two_pass: return "variance of x - mean, the mean first";
      case Variance::one_pass: break;
    }
    return "variance as mean of squares - square of mean";
  }
  double weight(std::size_t i) const { return op_.weight ? static_cast<double>(op_.weight->elements[i]) : 1; }
  double bias(std::size_t i) const { return op_.bias ? static_cast<double>(op_.bias->elements[i]) : 0; }
  double columns() const { return static_cast<double>(op_.x.columns()); }

  /// Nothing to divide by: sums of squares are zero exactly when each of them is.
  bool is_undefined(std::span<const float> x) const {
    if (any_nan(x) || (op_.norm == Norm::layer && !all_finite(x))) return true;
    const float same = op_.norm == Norm::layer ? x.front() : 0.0F;
    return op_.eps == 0 && std::all_of(x.begin(), x.end(), [&](float v) { return v == same; });
  }

  /// Whether a sum of squares, or of magnitudes, may be infinite in some order.
  bool may_overflow(std::span<const float> x) const {
    double squares = 0, magnitudes = 0;
    for (const float v : x) {
      const double size = std::abs(static_cast<double>(v));
      magnitudes += size, squares += size * size;
    }
    // (x - m)^2 sum up to the sum of x^2 at most, the square of a difference of two means to 4 times as much; each difference
    // and square is rounded, and so are their sums.
    if (op_.norm == Norm::layer) squares *= 4;
    const double grown = (1 + sum_relative(op_.arithmetic, x.size())) * (1 + 8 * sum_unit(op_.arithmetic));
    return !(std::max(squares, magnitudes) * grown <= largest(op_.arithmetic.format));
  }

  void row(std::uint64_t index, std::span<Expected> elements) const override {
    const auto x = op_.x.row(index);
    std::fill(elements.begin(), elements.end(), undefined());
    if (is_undefined(x)) return;
    if (!all_finite(x)) return of_infinite_root(x, elements);
    Moments<Ball> exact = moments<Ball>(op_.norm, x);
    Ball divisor = exact.variance + Ball(op_.eps);
    if (!(divisor.value > 2 * divisor.radius)) {
      exact = narrowed(moments<Real>(op_.norm, x));
      divisor = exact.variance + Ball(op_.eps);
    }
    const RowErrors errors = errors_of(index, x, exact, divisor);
    for (std::size_t i = 0; i < x.size(); ++i) elements[i] = element(i, static_cast<double>(x[i]), exact.centred[i], errors);
  }

  /// x / infinity is 0, infinity / infinity NaN.
  void of_infinite_root(std::span<const float> x, std::span<Expected> elements) const {
    for (std::size_t i = 0; i < x.size(); ++i)
      if (std::isfinite(x[i])) elements[i] = zero_times_weight(i);
  }
  Expected zero_times_weight(std::size_t i) const {
    return within(bias(i), 0, unit(op_.arithmetic.format) * std::abs(bias(i)), std::abs(bias(i)));
  }

  RowSums sums_of(std::span<const float> x, const Moments<Ball>& exact) const {
    RowSums sums{.n = static_cast<double>(x.size()), .centred = upper(exact.squares), .mean = upper(exact.mean)};
    for (const float v : x) {
      sums.magnitudes += std::abs(static_cast<double>(v));
      sums.squares += static_cast<double>(v) * static_cast<double>(v);
    }
    return sums;
  }

  /// The better one of the certain bound and, where the roundings are random, of the probable one.
  MomentErrors moment_errors(MomentWay way, const RowSums& sums, std::span<const float> x, const Moments<Ball>& exact,
                             bool random_roundings) const {
    const MomentErrors worst = worst_errors(op_.arithmetic, sums, way);
    if (!random_roundings) return worst;
    std::vector<double> centred;
    for (const Ball& c : exact.centred) centred.push_back(std::copysign(upper(c), c.value));
    const MomentErrors random =
        random_errors(op_.arithmetic, sums, way, x, centred, static_cast<double>(op_.x.rows()), *op_.false_alarm);
    return random.squares + random.random_squares < worst.squares ? random : worst;
  }

  bool has_random_roundings(std::span<const float> x, const Moments<Ball>& exact) const {
    const bool modelled = op_.variance != Variance::one_pass || op_.norm == Norm::rms;
    return op_.false_alarm && modelled && sum_relative(op_.arithmetic, x.size()) < 1 && !roundings_agree(x, exact);
  }

  /// Of the terms of either sum: squares, and for a mean the elements.
  bool roundings_agree(std::span<const float> x, const Moments<Ball>& exact) const {
    const double u = unit(op_.arithmetic.format);
    std::vector<float> squares;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double term = op_.norm == Norm::rms ? static_cast<double>(x[i]) : exact.centred[i].value;
      squares.push_back(static_cast<float>(term * term));
    }
    return verify::roundings_agree(squares, u) || (op_.norm != Norm::rms && verify::roundings_agree(x, u));
  }

  RowErrors errors_of(std::uint64_t index, std::span<const float> x, const Moments<Ball>& exact, const Ball& divisor) const {
    const RowSums sums = sums_of(x, exact);
    const bool random = has_random_roundings(x, exact);
    const double lowest = divisor.value - divisor.radius;
    RowErrors out{.root = sqrt(divisor),
                  .inverse = 1 / (std::sqrt(lowest) * (1 - 0x1p-50)),
                  .overflows = overflowing_[static_cast<std::size_t>(index)] != 0,
                  .ways = {}};
    for (const MomentWay way : ways_of(op_.norm, op_.variance))
      out.ways.push_back(errors_of_way(moment_errors(way, sums, x, exact, random), sums, divisor));
    return out;
  }

  WayErrors errors_of_way(const MomentErrors& moments, const RowSums& sums, const Ball& divisor) const {
    const double u = unit(op_.arithmetic.format), tiny = underflow(op_.arithmetic.format);
    const double of_squares = moments.squares + moments.random_squares;
    // The division by n, eps in the format, and the addition round once each.
    const double inherited = of_squares / sums.n + 3 * u * (upper(divisor) + of_squares / sums.n) + tiny;
    const double lowest = divisor.value - divisor.radius, ratio = inherited / lowest;
    WayErrors out{.moments = moments};
    out.linear = moments.random_squares / sums.n / lowest / 2;
    const double f = 2 * function_relative(op_.arithmetic);  // a root and a division
    out.of_root = ratio < 1 ? (1 / std::sqrt(1 - ratio)) * (1 + f) - 1 - out.linear : unbounded;
    out.mean = op_.norm == Norm::layer ? sums.mean + moments.mean + moments.random_mean : 0;
    return out;
  }

  /// (x - m) r w + b, or x (r w) + (b - m (r w)): how often each part is rounded. Without weight or bias some are not.
  double own_roundings(std::size_t i, double x, double centred, double inverse, const WayErrors& errors) const {
    const double u = unit(op_.arithmetic.format), b = std::abs(bias(i));
    const double scale = inverse * std::abs(weight(i)) * (1 + errors.of_root + errors.linear);
    const double w = op_.weight ? 1 : 0, biased = op_.bias ? 1 : 0;
    const bool layer = op_.norm == Norm::layer;
    const double at_once = (layer ? 2 : 1) + w + biased;
    const double subtracted = at_once * centred * scale + biased * b;
    const double fused = (2 + w) * std::abs(x) * scale + (2 + w + biased) * errors.mean * scale + 2 * biased * b;
    return u * (1 + 8 * u) * (layer ? std::max(subtracted, fused) : subtracted);
  }

  /// Of (x - m) times the root, as a multiple of 1/root, for |x - m| = c.
  double quotient_error(double c, double inverse, const WayErrors& errors) const {
    const MomentErrors& m = errors.moments;
    // Independent random errors add up by their squares.
    const double random = m.independent ? emu::hypotenuse(c * errors.linear, m.random_mean) : c * errors.linear + m.random_mean;
    const double shifted = c + m.mean + m.random_mean;
    const double off = random + m.mean + shifted * errors.of_root + (shifted - c) * errors.linear;
    if (!op_.normalized) return off;
    return off + unit(*op_.normalized) * (c + off) + underflow(*op_.normalized) / inverse;
  }

  Expected element(std::size_t i, double x, const Ball& centred, const RowErrors& errors) const {
    const Ball y = normalised<Ball>(centred, errors.root, weight(i), bias(i));
    const double c = upper(centred), w = std::abs(weight(i)), scale = w * errors.inverse, b = std::abs(bias(i));
    const double tiny = underflow(op_.arithmetic.format);
    double furthest = 0, allowed = 0;
    for (const WayErrors& way : errors.ways) {
      const double off = quotient_error(c, errors.inverse, way);
      furthest = greater(furthest, off);
      allowed = greater(allowed, off * scale + own_roundings(i, x, c + off, errors.inverse, way) + 4 * tiny * (1 + w + scale));
    }
    Expected out = within(y.value, y.radius, allowed, c * scale + b);
    const double up = (out.magnitude + y.value) / 2 + furthest * scale, down = (out.magnitude - y.value) / 2 + furthest * scale;
    out.may_overflow = errors.overflows && op_.norm == Norm::layer
                           ? Overflow::any
                           : overflow_of_interval(-down, up, largest(op_.arithmetic.format));
    return out;
  }

  Precise precise_element(std::uint64_t index, std::uint64_t column) const override {
    const auto x = op_.x.row(index);
    const auto i = static_cast<std::size_t>(column);
    if (!all_finite(x)) return precise_of(Real(bias(i)), last());
    const auto row = divisors_.of(index, [&] {
      const auto exact = moments<Real>(op_.norm, x);
      return Divisor{exact.sum, sqrt(Real(exact.variance + op_.eps))};
    });
    const Real centred = detail::centred(x[i], columns(), row->sum);
    return precise_of(normalised<Real>(centred, row->root, weight(i), bias(i)), last());
  }

  /// Of a row, in 200 digits.
  struct Divisor {
    Real sum;   ///< of x; 0 where no mean is subtracted
    Real root;  ///< of variance + eps
  };

  LayerNorm op_;
  KeptRows<Divisor> divisors_;
  std::vector<char> overflowing_;  ///< of each row whether its sums may leave the accumulator's range
};

void require_columns(const char* name, const std::optional<Values>& values, const Values& x) {
  if (!values) return;
  if (!all_finite(values->elements)) throw Error(fmt::format("{} holds NaN or infinity", name));
  if (values->elements.size() == x.columns()) return;
  throw Error(
      fmt::format("{} has shape {}; the rows of the input need {} elements", name, words_of_shape(values->shape), x.columns()));
}

}  // namespace

std::unique_ptr<Expectation> expect_layer_norm(LayerNorm operation) {
  if (operation.x.shape.empty() || operation.x.columns() == 0)
    throw Error(fmt::format("{} norm needs rows of at least one element, not {}", operation.norm == Norm::rms ? "RMS" : "layer",
                            words_of_shape(operation.x.shape)));
  require_columns("weight", operation.weight, operation.x);
  require_columns("bias", operation.bias, operation.x);
  if (!(operation.eps >= 0) || !std::isfinite(operation.eps)) throw Error("eps is a finite number of 0 or more");
  require_random(operation.arithmetic, operation.false_alarm);
  return std::make_unique<LayerNormExpectation>(std::move(operation));
}

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// Moments of a row as balls, and exactly where balls are too wide.
#include "verify/operations/layer_norm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "emu/error.hpp"
#include "emu/exact_sum.hpp"
#include "verify/operations/ball.hpp"
#include "verify/operations/layer_norm_errors.hpp"
#include "verify/operations/real.hpp"

namespace ulpscope::verify {
namespace {

Ball mean_of(std::span<const float> x) {
  emu::ExactSum sum;
  for (const float v : x) sum.add(v);
  const double value = sum.value();
  return Ball(value, std::abs(value) * 0x1p-53) / Ball(static_cast<double>(x.size()));
}

/// A row without its mean, and what it is divided by.
template <class T>
struct Moments {
  std::vector<T> centred;
  T squares = T(0.0);  ///< sum of centred^2
  T variance = T(0.0);
};

void centre(Norm norm, std::span<const float> x, std::vector<Ball>& out) {
  const Ball mean = norm == Norm::layer ? mean_of(x) : Ball();
  for (const float v : x)
    out.push_back(norm == Norm::layer ? Ball(static_cast<double>(v)) - mean : Ball(static_cast<double>(v)));
}
/// n x - sum x is exact.
void centre(Norm norm, std::span<const float> x, std::vector<Real>& out) {
  const double n = static_cast<double>(x.size());
  Real sum = 0;
  if (norm == Norm::layer)
    for (const float v : x) sum += static_cast<double>(v);
  for (const float v : x) out.push_back((Real(static_cast<double>(v)) * n - sum) / n);
}

template <class T>
Moments<T> moments(Norm norm, std::span<const float> x) {
  Moments<T> out;
  out.centred.reserve(x.size());
  centre(norm, x, out.centred);
  for (const T& c : out.centred) out.squares = out.squares + c * c;
  out.variance = out.squares / T(static_cast<double>(x.size()));
  return out;
}

template <class T>
T normalised(const T& centred, const T& root, double weight, double bias) {
  return centred / root * T(weight) + T(bias);
}

bool all_finite(std::span<const float> x) {
  return std::all_of(x.begin(), x.end(), [](float v) { return std::isfinite(v); });
}

class LayerNormExpectation final : public RowExpectation {
 public:
  explicit LayerNormExpectation(LayerNorm operation)
      : RowExpectation(operation.x.shape, operation.last), op_(std::move(operation)) {}

  std::string bound() const override {
    const char* how =
        op_.variance == Variance::centred ? "variance of x - mean" : "variance as mean of squares - square of mean";
    return fmt::format("{}; {}; {}", words_of_sum(op_.arithmetic, op_.x.columns()), words_of_functions(op_.arithmetic),
                       op_.norm == Norm::layer ? how : "mean of squares");
  }

 private:
  double weight(std::size_t i) const { return op_.weight ? static_cast<double>(op_.weight->elements[i]) : 1; }
  double bias(std::size_t i) const { return op_.bias ? static_cast<double>(op_.bias->elements[i]) : 0; }

  /// Nothing to divide by: sums of squares are zero exactly when each of them is.
  bool is_undefined(std::span<const float> x) const {
    if (!all_finite(x)) return true;
    const float same = op_.norm == Norm::layer ? x.front() : 0.0F;
    return op_.eps == 0 && std::all_of(x.begin(), x.end(), [&](float v) { return v == same; });
  }

  void row(std::uint64_t index, std::span<Expected> elements) const override {
    const auto x = op_.x.row(index);
    std::fill(elements.begin(), elements.end(), undefined());
    if (is_undefined(x)) return;
    Moments<Ball> exact = moments<Ball>(op_.norm, x);
    Ball divisor = exact.variance + Ball(op_.eps);
    if (!(divisor.value > 2 * divisor.radius)) {
      exact = narrowed(moments<Real>(op_.norm, x));
      divisor = exact.variance + Ball(op_.eps);
    }
    fill(x, exact, divisor, elements);
  }

  /// Where float64 cannot tell the variance from zero.
  static Moments<Ball> narrowed(const Moments<Real>& exact) {
    const auto ball = [](const Real& v) {
      const double value = v.convert_to<double>();
      return Ball(value, std::abs(value) * 0x1p-53 + std::numeric_limits<double>::denorm_min());
    };
    Moments<Ball> out{.centred = {}, .squares = ball(exact.squares), .variance = ball(exact.variance)};
    for (const Real& c : exact.centred) out.centred.push_back(ball(c));
    return out;
  }

  RowSums sums_of(std::span<const float> x, const Moments<Ball>& exact) const {
    RowSums sums{.n = static_cast<double>(x.size()), .centred = upper(exact.squares)};
    for (const float v : x) {
      sums.magnitudes += std::abs(static_cast<double>(v));
      sums.squares += static_cast<double>(v) * static_cast<double>(v);
    }
    return sums;
  }

  void fill(std::span<const float> x, const Moments<Ball>& exact, const Ball& divisor, std::span<Expected> elements) const {
    const double u = unit(op_.arithmetic.format), tiny = underflow(op_.arithmetic.format);
    const RowSums sums = sums_of(x, exact);
    const bool layer = op_.norm == Norm::layer;
    const double of_mean = layer ? mean_error(op_.arithmetic, sums) : 0;
    const double of_squares = layer ? centred_error(op_.arithmetic, sums, op_.variance) : squares_error(op_.arithmetic, sums);
    // The division by n, eps in the format, and the addition round once each.
    const double inherited = of_squares / sums.n + 3 * u * (upper(divisor) + of_squares / sums.n) + tiny;
    const double lowest = divisor.value - divisor.radius;
    const double ratio = inherited / lowest;
    const double infinity = std::numeric_limits<double>::infinity();
    const double f = 2 * function_relative(op_.arithmetic);  // a root and a division
    const bool overflows = layer && op_.variance == Variance::centred
                               ? std::max(sums.centred + of_squares, sums.magnitudes) > largest(op_.arithmetic.format)
                               : std::max(sums.squares, sums.magnitudes) * (1 + u) > largest(op_.arithmetic.format);
    // An overflowing variance makes the quotient 0, which no bound covers.
    const double of_root = ratio < 1 && !overflows ? (1 / std::sqrt(1 - ratio)) * (1 + f) - 1 : infinity;  // relative
    const Ball root = sqrt(divisor);
    const double least_root = std::sqrt(lowest) * (1 - 0x1p-50), mean = sums.magnitudes / sums.n;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Ball y = normalised<Ball>(exact.centred[i], root, weight(i), bias(i));
      const double c = upper(exact.centred[i]), scale = std::abs(weight(i)) / least_root,
                   v = std::abs(static_cast<double>(x[i]));
      // x - m may be left for later: x r + (b - m r). Its terms round four times each.
      const double of_centred = layer ? of_mean + 4 * u * (v + mean + of_mean) : 0;
      const double of_product = (c + of_centred) * (1 + of_root) - c;
      const double size = c * scale + std::abs(bias(i)) + of_product * scale;
      const double allowed = of_product * scale + 4 * u * size + 4 * tiny * (1 + std::abs(weight(i)) + scale);
      elements[i] = within(y.value, y.radius, allowed, c * scale + std::abs(bias(i)));
      elements[i].may_overflow = overflows || size > largest(op_.arithmetic.format);
    }
  }

  Precise precise_element(std::uint64_t index, std::uint64_t column) const override {
    const auto x = op_.x.row(index);
    const auto exact = moments<Real>(op_.norm, x);
    const Real root = sqrt(Real(exact.variance + op_.eps));
    const auto i = static_cast<std::size_t>(column);
    return precise_of(normalised<Real>(exact.centred[i], root, weight(i), bias(i)), last());
  }

  LayerNorm op_;
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
    throw Error("layer norm needs rows of at least one element, not " + words_of_shape(operation.x.shape));
  require_columns("weight", operation.weight, operation.x);
  require_columns("bias", operation.bias, operation.x);
  if (!(operation.eps >= 0) || !std::isfinite(operation.eps)) throw Error("eps is a finite number of 0 or more");
  return std::make_unique<LayerNormExpectation>(std::move(operation));
}

}  // namespace ulpscope::verify

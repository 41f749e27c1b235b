// SPDX-License-Identifier: Apache-2.0
// Losses: what a batch is worth, as one number.
#include <cmath>

#include "emu/error.hpp"
#include "training/tape/functions.hpp"
#include "training/tape/operations.hpp"
#include "training/tape/taken.hpp"

namespace ulpscope::training {
namespace {

/// The mean of `of(i)` over elements, summed in ascending order in float64.
template <class Of>
double mean_of(std::size_t count, Of of) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(of(i));
  return sum / static_cast<double>(count);
}

}  // namespace

template <class Real>
Variable cross_entropy(Tape<Real>& tape, Variable of, const std::vector<std::size_t>& classes) {
  const OperationPrecision precision = tape.precision_of("cross_entropy");
  const Variable x = taken(tape, of, precision);
  const Shape shape = tape.shape(x);
  if (shape.size() != 2 || shape[0] != classes.size() || shape[0] == 0)
    throw Error("cross_entropy: " + words_of(shape) + " for " + std::to_string(classes.size()) + " classes");
  const std::size_t batch = shape[0], length = shape[1];
  auto probabilities = std::make_shared<std::vector<Real>>(batch * length);
  const auto& xs = tape.value(x).values;
  const double loss = mean_of(batch, [&](std::size_t row) {
    if (classes[row] >= length)
      throw Error("cross_entropy: class " + std::to_string(classes[row]) + " of " + std::to_string(length));
    const Real* const in = xs.data() + row * length;
    Real most = in[0];
    for (std::size_t i = 1; i < length; ++i) most = in[i] > most || std::isnan(in[i]) ? in[i] : most;
    double sum = 0;
    for (std::size_t i = 0; i < length; ++i) sum += static_cast<double>(exponential(in[i] - most));
    const Real log_sum = static_cast<Real>(logarithm(sum));
    for (std::size_t i = 0; i < length; ++i) (*probabilities)[row * length + i] = exponential(in[i] - most - log_sum);
    return -(in[classes[row]] - most - log_sum);
  });
  return tape.record("cross_entropy", {x}, Array<Real>({}, static_cast<Real>(loss)), precision.output,
                     [shape, classes, probabilities](const Array<Real>& gradient) {
                       std::vector<Array<Real>> out(1, Array<Real>(shape));
                       const Real each = gradient.values[0] / static_cast<Real>(shape[0]);
                       for (std::size_t i = 0; i < out[0].count(); ++i) {
                         const bool right = i % shape[1] == classes[i / shape[1]];
                         out[0].values[i] = each * ((*probabilities)[i] - (right ? Real{1} : Real{0}));
                       }
                       return out;
                     });
}

template <class Real>
Variable mean_squared_error(Tape<Real>& tape, Variable of, Variable target) {
  const OperationPrecision precision = tape.precision_of("mse");
  const Variable x = taken(tape, of, precision);
  if (tape.shape(x) != tape.shape(target) || tape.value(x).empty())
    throw Error("mse: " + words_of(tape.shape(x)) + " and " + words_of(tape.shape(target)));
  const auto& xs = tape.value(x).values;
  const auto& ts = tape.value(target).values;
  const std::size_t count = xs.size();
  const double loss = mean_of(count, [&](std::size_t i) {
    const Real d = xs[i] - ts[i];
    return static_cast<Real>(d * d);
  });
  return tape.record("mse", {x, target}, Array<Real>({}, static_cast<Real>(loss)), precision.output,
                     [&tape, x, target, count](const Array<Real>& gradient) {
                       std::vector<Array<Real>> out(2);
                       const Real each = 2 * gradient.values[0] / static_cast<Real>(count);
                       const auto& a = tape.value(x).values;
                       const auto& t = tape.value(target).values;
                       out[0] = tape.array(tape.shape(x));
                       for (std::size_t i = 0; i < count; ++i) out[0].values[i] = each * (a[i] - t[i]);
                       if (tape.has_gradient(target)) {
                         out[1] = out[0];
                         for (Real& g : out[1].values) g = -g;
                       }
                       return out;
                     });
}

template <class Real>
Variable binary_cross_entropy_with_logits(Tape<Real>& tape, Variable of, Variable target) {
  const OperationPrecision precision = tape.precision_of("bce_with_logits");
  const Variable x = taken(tape, of, precision);
  if (tape.shape(x) != tape.shape(target) || tape.value(x).empty())
    throw Error("bce_with_logits: " + words_of(tape.shape(x)) + " and " + words_of(tape.shape(target)));
  const auto& xs = tape.value(x).values;
  const auto& ts = tape.value(target).values;
  const std::size_t count = xs.size();
  const double loss = mean_of(count, [&](std::size_t i) {
    const auto a = static_cast<double>(xs[i]);
    return static_cast<Real>(softplus(a) - a * static_cast<double>(ts[i]));
  });
  return tape.record("bce_with_logits", {x, target}, Array<Real>({}, static_cast<Real>(loss)), precision.output,
                     [&tape, x, target, count](const Array<Real>& gradient) {
                       std::vector<Array<Real>> out(2);
                       const Real each = gradient.values[0] / static_cast<Real>(count);
                       const auto& a = tape.value(x).values;
                       const auto& t = tape.value(target).values;
                       out[0] = tape.array(tape.shape(x));
                       for (std::size_t i = 0; i < count; ++i) out[0].values[i] = each * (logistic(a[i]) - t[i]);
                       if (tape.has_gradient(target)) {
                         out[1] = tape.array(tape.shape(x));
                         for (std::size_t i = 0; i < count; ++i) out[1].values[i] = -each * a[i];
                       }
                       return out;
                     });
}

#define ULPSCOPE_OPERATIONS(Real)                                                          \
  template Variable cross_entropy(Tape<Real>&, Variable, const std::vector<std::size_t>&); \
  template Variable mean_squared_error(Tape<Real>&, Variable, Variable);                   \
  template Variable binary_cross_entropy_with_logits(Tape<Real>&, Variable, Variable);

ULPSCOPE_OPERATIONS(float)
ULPSCOPE_OPERATIONS(double)
#undef ULPSCOPE_OPERATIONS

}  // namespace ulpscope::training

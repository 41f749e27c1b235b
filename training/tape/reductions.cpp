// SPDX-License-Identifier: Apache-2.0
// Sums, softmax and norms: operations on the numbers of a row together.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "emu/error.hpp"
#include "training/tape/functions.hpp"
#include "training/tape/operations.hpp"
#include "training/tape/parallel.hpp"
#include "training/tape/taken.hpp"

namespace ulpscope::training {
namespace {

/// Rows of the last dimension.
struct Rows {
  std::size_t count, length;

  explicit Rows(const Shape& shape)
      : count(shape.empty() ? 1 : count_of(shape) / std::max<std::size_t>(shape.back(), 1)),
        length(shape.empty() ? 1 : shape.back()) {}
};

/// act(row, first) for every row, in threads.
template <class Act>
void for_each_row(const Rows& rows, int threads, std::size_t cost, Act act) {
  for_each_part(rows.count, threads, cost * rows.length, [&](std::size_t row, std::size_t end) {
    for (; row < end; ++row) act(row, row * rows.length);
  });
}

/// Elements before, along and after a dimension.
struct Split {
  std::size_t before = 1, along = 1, after = 1;

  Split(const Shape& shape, std::optional<std::size_t> dimension) {
    if (!dimension) {
      along = count_of(shape);
      return;
    }
    for (std::size_t d = 0; d < shape.size(); ++d) (d < *dimension ? before : d > *dimension ? after : along) *= shape[d];
  }
};

template <class Real>
Variable sum_times(Tape<Real>& tape, std::string_view name, Variable of, std::optional<std::size_t> dimension, bool mean) {
  const OperationPrecision precision = tape.precision_of(name);
  const Variable x = taken(tape, of, precision);
  const Shape shape = tape.shape(x);
  if (dimension && *dimension >= shape.size())
    throw Error(std::string(name) + ": " + words_of(shape) + " has no dimension " + std::to_string(*dimension));
  const Split split(shape, dimension);
  Shape out_shape;
  if (dimension) (out_shape = shape)[*dimension] = 1;
  Array<Real> y = tape.array(out_shape);
  const double divisor = mean ? static_cast<double>(split.along) : 1;
  for (std::size_t b = 0; b < split.before; ++b) {
    for (std::size_t a = 0; a < split.after; ++a) {
      double sum = 0;
      for (std::size_t i = 0; i < split.along; ++i)
        sum += static_cast<double>(tape.value(x).values[(b * split.along + i) * split.after + a]);
      y.values[b * split.after + a] = static_cast<Real>(sum / divisor);
    }
  }
  return tape.record(name, {x}, std::move(y), precision.output, [&tape, shape, split, divisor](const Array<Real>& gradient) {
    std::vector<Array<Real>> of_inputs;
    of_inputs.push_back(tape.array(shape));
    for (std::size_t b = 0; b < split.before; ++b)
      for (std::size_t i = 0; i < split.along; ++i)
        for (std::size_t a = 0; a < split.after; ++a)
          of_inputs[0].values[(b * split.along + i) * split.after + a] =
              gradient.values[b * split.after + a] / static_cast<Real>(divisor);
    return of_inputs;
  });
}

/// The largest number of a row; NaN if one is.
template <class Real>
Real largest(const Real* row, std::size_t length) {
  Real most = -std::numeric_limits<Real>::infinity();
  for (std::size_t i = 0; i < length; ++i) most = row[i] > most || std::isnan(row[i]) ? row[i] : most;
  return most;
}

template <class Real>
double sum_of_exponentials(const Real* row, std::size_t length, Real most) {
  double sum = 0;
  for (std::size_t i = 0; i < length; ++i) sum += static_cast<double>(exponential(row[i] - most));
  return sum;
}

}  // namespace

template <class Real>
Variable sum(Tape<Real>& tape, Variable x, std::optional<std::size_t> dimension) {
  return sum_times(tape, "sum", x, dimension, false);
}

template <class Real>
Variable mean(Tape<Real>& tape, Variable x, std::optional<std::size_t> dimension) {
  return sum_times(tape, "mean", x, dimension, true);
}

template <class Real>
Variable softmax(Tape<Real>& tape, Variable of) {
  const OperationPrecision precision = tape.precision_of("softmax");
  const Variable x = taken(tape, of, precision), out = tape.next();
  Array<Real> y = tape.array(tape.shape(x));
  const Rows rows(y.shape);
  const auto& xs = tape.value(x).values;
  for_each_row(rows, tape.threads(), 64, [&](std::size_t, std::size_t first) {
    const Real* const row = xs.data() + first;
    const Real most = largest(row, rows.length);
    Real* const to = y.values.data() + first;
    for (std::size_t i = 0; i < rows.length; ++i) to[i] = exponential(row[i] - most);
    double total = 0;
    for (std::size_t i = 0; i < rows.length; ++i) total += static_cast<double>(to[i]);
    const Real sum = static_cast<Real>(total);
    for (std::size_t i = 0; i < rows.length; ++i) to[i] /= sum;
  });
  return tape.record("softmax", {x}, std::move(y), precision.output, [&tape, out, rows](const Array<Real>& gradient) {
    std::vector<Array<Real>> of_inputs;
    of_inputs.push_back(tape.array(gradient.shape));
    const auto& ys = tape.value(out).values;
    for_each_row(rows, tape.threads(), 4, [&](std::size_t, std::size_t first) {
      double dot = 0;
      for (std::size_t i = first; i < first + rows.length; ++i)
        dot += static_cast<double>(static_cast<Real>(gradient.values[i] * ys[i]));
      const Real shared = static_cast<Real>(dot);
      for (std::size_t i = first; i < first + rows.length; ++i) of_inputs[0].values[i] = ys[i] * (gradient.values[i] - shared);
    });
    return of_inputs;
  });
}

template <class Real>
Variable log_softmax(Tape<Real>& tape, Variable of) {
  const OperationPrecision precision = tape.precision_of("log_softmax");
  const Variable x = taken(tape, of, precision), out = tape.next();
  Array<Real> y = tape.array(tape.shape(x));
  const Rows rows(y.shape);
  const auto& xs = tape.value(x).values;
  for_each_row(rows, tape.threads(), 64, [&](std::size_t, std::size_t first) {
    const Real* const row = xs.data() + first;
    const Real most = largest(row, rows.length);
    const Real log_sum = static_cast<Real>(logarithm(sum_of_exponentials(row, rows.length, most)));
    for (std::size_t i = 0; i < rows.length; ++i) y.values[first + i] = row[i] - most - log_sum;
  });
  return tape.record("log_softmax", {x}, std::move(y), precision.output, [&tape, out, rows](const Array<Real>& gradient) {
    std::vector<Array<Real>> of_inputs;
    of_inputs.push_back(tape.array(gradient.shape));
    const auto& ys = tape.value(out).values;
    for_each_row(rows, tape.threads(), 64, [&](std::size_t, std::size_t first) {
      double total = 0;
      for (std::size_t i = first; i < first + rows.length; ++i) total += static_cast<double>(gradient.values[i]);
      const Real shared = static_cast<Real>(total);
      for (std::size_t i = first; i < first + rows.length; ++i)
        of_inputs[0].values[i] = gradient.values[i] - exponential(ys[i]) * shared;
    });
    return of_inputs;
  });
}

namespace {

/// x normalised, of each group of numbers that share a mean and a variance; and 1 / sqrt(variance + epsilon) of each.
template <class Real>
struct Normalised {
  std::vector<Real> x_hat, reciprocal;
};

/// dx of x_hat = (x - mean) * r from the gradient of x_hat, over `size` numbers; without a mean the second term is left out.
/// With g the gradient: r * (g - mean(g) - x_hat * mean(g * x_hat)).
template <class Real>
void normalised_backward(const Real* gradient, const Real* x_hat, Real reciprocal, std::size_t size, bool centered, Real* out) {
  double sum = 0, dot = 0;
  for (std::size_t i = 0; i < size; ++i) {
    sum += static_cast<double>(gradient[i]);
    dot += static_cast<double>(static_cast<Real>(gradient[i] * x_hat[i]));
  }
  const Real mean = centered ? static_cast<Real>(sum / static_cast<double>(size)) : Real{0};
  const Real mean_dot = static_cast<Real>(dot / static_cast<double>(size));
  for (std::size_t i = 0; i < size; ++i) out[i] = reciprocal * (gradient[i] - mean - x_hat[i] * mean_dot);
}

/// Each sum rounded once.
template <class Real>
Array<Real> rounded_sums(const std::vector<double>& sums, const Shape& shape) {
  Array<Real> out(shape);
  for (std::size_t i = 0; i < sums.size(); ++i) out.values[i] = static_cast<Real>(sums[i]);
  return out;
}

/// Norms of rows: x_hat * weight + bias.
template <class Real>
Variable row_norm(Tape<Real>& tape, std::string_view name, Variable of, Variable weight, std::optional<Variable> bias,
                  Real epsilon) {
  const bool centered = bias.has_value();
  const OperationPrecision precision = tape.precision_of(name);
  const Variable x = taken(tape, of, precision);
  const Rows rows(tape.shape(x));
  if (tape.value(weight).count() != rows.length)
    throw Error(std::string(name) + ": a weight of " + words_of(tape.shape(weight)) + " for rows of " +
                std::to_string(rows.length));
  Array<Real> y = tape.array(tape.shape(x));
  auto kept = std::make_shared<Normalised<Real>>();
  kept->x_hat.resize(y.count()), kept->reciprocal.resize(rows.count);
  const auto& xs = tape.value(x).values;
  const auto& w = tape.value(weight).values;
  const Real* const b = bias ? tape.value(*bias).values.data() : nullptr;
  for_each_row(rows, tape.threads(), 8, [&](std::size_t row, std::size_t first) {
    const Real* const in = xs.data() + first;
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < rows.length; ++i) sum += static_cast<double>(in[i]);
    const Real mean = centered ? static_cast<Real>(sum / static_cast<double>(rows.length)) : Real{0};
    for (std::size_t i = 0; i < rows.length; ++i) {
      const Real d = in[i] - mean;
      squares += static_cast<double>(static_cast<Real>(d * d));
    }
    const Real variance = static_cast<Real>(squares / static_cast<double>(rows.length));
    const Real reciprocal = kept->reciprocal[row] = 1 / std::sqrt(variance + epsilon);
    for (std::size_t i = 0; i < rows.length; ++i) {
      const Real x_hat = kept->x_hat[first + i] = (in[i] - mean) * reciprocal;
      y.values[first + i] = b == nullptr ? x_hat * w[i] : x_hat * w[i] + b[i];
    }
  });
  std::vector<Variable> inputs{x, weight};
  if (bias) inputs.push_back(*bias);
  // Weight and bias do not widen the result, as frameworks have it.
  return tape.record(name, inputs, std::move(y), precision.output.value_or(Storage{tape.format(x), {}}),
                     [&tape, weight, inputs, rows, kept, centered](const Array<Real>& gradient) {
                       std::vector<Array<Real>> out(inputs.size());
                       const auto& weights = tape.value(weight).values;
                       out[0] = tape.array(gradient.shape);
                       for_each_row(rows, tape.threads(), 8, [&](std::size_t row, std::size_t first) {
                         std::vector<Real> of_x_hat(rows.length);
                         for (std::size_t i = 0; i < rows.length; ++i) of_x_hat[i] = gradient.values[first + i] * weights[i];
                         normalised_backward(of_x_hat.data(), kept->x_hat.data() + first, kept->reciprocal[row], rows.length,
                                             centered, out[0].values.data() + first);
                       });
                       std::vector<double> of_weight(rows.length, 0.0), of_bias(rows.length, 0.0);
                       for (std::size_t first = 0; first < gradient.count(); first += rows.length)
                         for (std::size_t i = 0; i < rows.length; ++i) {
                           const Real g = gradient.values[first + i];
                           of_weight[i] += static_cast<double>(static_cast<Real>(g * kept->x_hat[first + i]));
                           of_bias[i] += static_cast<double>(g);
                         }
                       out[1] = rounded_sums<Real>(of_weight, tape.shape(weight));
                       if (inputs.size() > 2) out[2] = rounded_sums<Real>(of_bias, tape.shape(inputs[2]));
                       return out;
                     });
}

}  // namespace

template <class Real>
Variable layer_norm(Tape<Real>& tape, Variable x, Variable weight, Variable bias, Real epsilon) {
  return row_norm(tape, "layer_norm", x, weight, std::optional(bias), epsilon);
}

template <class Real>
Variable rms_norm(Tape<Real>& tape, Variable x, Variable weight, Real epsilon) {
  return row_norm(tape, "rms_norm", x, weight, {}, epsilon);
}

namespace {

template <class Real>
void check_channels(const Tape<Real>& tape, const Shape& shape, Variable weight, Variable bias) {
  if (shape.size() < 2 || tape.value(weight).count() != shape[1] || tape.value(bias).count() != shape[1])
    throw Error("batch_norm: " + words_of(shape) + " has no channels as weight " + words_of(tape.shape(weight)) + " and bias " +
                words_of(tape.shape(bias)) + " have them");
}

}  // namespace

template <class Real>
Variable batch_norm_by(Tape<Real>& tape, Variable of, Variable weight, Variable bias, Real epsilon,
                       const BatchStatistics<Real>& statistics) {
  const OperationPrecision precision = tape.precision_of("batch_norm");
  const Variable x = taken(tape, of, precision);
  const Shape shape = tape.shape(x);
  check_channels(tape, shape, weight, bias);
  if (statistics.mean.size() != shape[1] || statistics.variance.size() != shape[1])
    throw Error("batch_norm: statistics of " + std::to_string(statistics.mean.size()) + " channels for " + words_of(shape));
  const Split split(shape, 1);
  Array<Real> y = tape.value(x);
  for (std::size_t i = 0; i < y.count(); ++i) {
    const std::size_t c = i / split.after % split.along;
    const Real x_hat = (y.values[i] - statistics.mean[c]) * (1 / std::sqrt(statistics.variance[c] + epsilon));
    y.values[i] = x_hat * tape.value(weight).values[c] + tape.value(bias).values[c];
  }
  const Variable constant = tape.input(std::move(y), tape.format(x), false);
  return tape.record("batch_norm", {constant}, tape.value(constant), precision.output.value_or(Storage{tape.format(x), {}}),
                     {});
}

template <class Real>
Variable batch_norm(Tape<Real>& tape, Variable of, Variable weight, Variable bias, Real epsilon,
                    BatchStatistics<Real>* statistics) {
  const OperationPrecision precision = tape.precision_of("batch_norm");
  const Variable x = taken(tape, of, precision);
  const Shape shape = tape.shape(x);
  check_channels(tape, shape, weight, bias);
  const Split split(shape, 1);
  const std::size_t size = split.before * split.after;                                                   // numbers of a channel
  if (size == 1) throw Error("batch_norm: one number for each channel, of which there is no variance");  // as torch says
  const auto place = [split](std::size_t channel, std::size_t i) {
    return (i / split.after * split.along + channel) * split.after + i % split.after;
  };
  Array<Real> y = tape.array(shape);
  auto kept = std::make_shared<Normalised<Real>>();  // x_hat by channels
  kept->x_hat.resize(y.count()), kept->reciprocal.resize(split.along);
  if (statistics != nullptr) statistics->mean.resize(split.along), statistics->variance.resize(split.along);
  const auto& xs = tape.value(x).values;
  for (std::size_t c = 0; c < split.along; ++c) {
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < size; ++i) sum += static_cast<double>(xs[place(c, i)]);
    const Real mean = static_cast<Real>(sum / static_cast<double>(size));
    for (std::size_t i = 0; i < size; ++i) {
      const Real d = xs[place(c, i)] - mean;
      squares += static_cast<double>(static_cast<Real>(d * d));
    }
    const Real variance = static_cast<Real>(squares / static_cast<double>(size));
    if (statistics != nullptr) {
      statistics->mean[c] = mean;
      statistics->variance[c] = static_cast<Real>(squares / static_cast<double>(std::max<std::size_t>(size - 1, 1)));
    }
    const Real reciprocal = kept->reciprocal[c] = 1 / std::sqrt(variance + epsilon);
    for (std::size_t i = 0; i < size; ++i) {
      const Real x_hat = kept->x_hat[c * size + i] = (xs[place(c, i)] - mean) * reciprocal;
      y.values[place(c, i)] = x_hat * tape.value(weight).values[c] + tape.value(bias).values[c];
    }
  }
  // Weight and bias do not widen the result, as frameworks have it.
  return tape.record("batch_norm", {x, weight, bias}, std::move(y), precision.output.value_or(Storage{tape.format(x), {}}),
                     [&tape, weight, bias, split, size, place, kept](const Array<Real>& gradient) {
                       std::vector<Array<Real>> out{Array<Real>(gradient.shape), Array<Real>(tape.shape(weight)),
                                                    Array<Real>(tape.shape(bias))};
                       std::vector<Real> of_x_hat(size), of_x(size);
                       for (std::size_t c = 0; c < split.along; ++c) {
                         double of_weight = 0, of_bias = 0;
                         for (std::size_t i = 0; i < size; ++i) {
                           const Real g = gradient.values[place(c, i)];
                           of_weight += static_cast<double>(static_cast<Real>(g * kept->x_hat[c * size + i]));
                           of_bias += static_cast<double>(g);
                           of_x_hat[i] = g * tape.value(weight).values[c];
                         }
                         out[1].values[c] = static_cast<Real>(of_weight), out[2].values[c] = static_cast<Real>(of_bias);
                         normalised_backward(of_x_hat.data(), kept->x_hat.data() + c * size, kept->reciprocal[c], size, true,
                                             of_x.data());
                         for (std::size_t i = 0; i < size; ++i) out[0].values[place(c, i)] = of_x[i];
                       }
                       return out;
                     });
}

#define ULPSCOPE_OPERATIONS(Real)                                                                        \
  template Variable sum(Tape<Real>&, Variable, std::optional<std::size_t>);                              \
  template Variable mean(Tape<Real>&, Variable, std::optional<std::size_t>);                             \
  template Variable softmax(Tape<Real>&, Variable);                                                      \
  template Variable log_softmax(Tape<Real>&, Variable);                                                  \
  template Variable layer_norm(Tape<Real>&, Variable, Variable, Variable, Real);                         \
  template Variable rms_norm(Tape<Real>&, Variable, Variable, Real);                                     \
  template Variable batch_norm(Tape<Real>&, Variable, Variable, Variable, Real, BatchStatistics<Real>*); \
  template Variable batch_norm_by(Tape<Real>&, Variable, Variable, Variable, Real, const BatchStatistics<Real>&);

ULPSCOPE_OPERATIONS(float)
ULPSCOPE_OPERATIONS(double)
#undef ULPSCOPE_OPERATIONS

}  // namespace ulpscope::training

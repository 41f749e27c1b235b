// SPDX-License-Identifier: Apache-2.0
// Operations on each element by itself, and on pairs of elements with broadcasting.
#include <algorithm>
#include <cmath>
#include <utility>

#include "emu/error.hpp"
#include "training/tape/functions.hpp"
#include "training/tape/operations.hpp"
#include "training/tape/parallel.hpp"
#include "training/tape/taken.hpp"

namespace ulpscope::training {
namespace {

/// Of a function, in additions: arithmetic and a choice, or a series.
constexpr std::size_t cost_of_arithmetic = 1, cost_of_function = 32;

/// y = f(x); dx = dy * slope(x, y), y being the number that was stored.
template <class Real, class Function, class Slope>
Variable map(Tape<Real>& tape, std::string_view name, Variable of, std::size_t cost, Function f, Slope slope) {
  const OperationPrecision precision = tape.precision_of(name);
  const Variable x = taken(tape, of, precision);
  Array<Real> y = tape.array(tape.shape(x));
  for_each_part(y.count(), tape.threads(), cost,
                [f, from = tape.value(x).values.data(), to = y.values.data()](std::size_t i, std::size_t end) {
                  for (; i < end; ++i) to[i] = f(from[i]);
                });
  const Variable out = tape.next();
  return tape.record(name, {x}, std::move(y), precision.output, [&tape, x, out, cost, slope](const Array<Real>& gradient) {
    std::vector<Array<Real>> of_inputs;
    of_inputs.push_back(tape.array(gradient.shape));
    const Real *const xs = tape.value(x).values.data(), *const ys = tape.value(out).values.data();
    const Real* const from = gradient.values.data();
    Real* const to = of_inputs[0].values.data();
    for_each_part(gradient.count(), tape.threads(), cost, [=](std::size_t i, std::size_t end) {
      for (; i < end; ++i) to[i] = from[i] * slope(xs[i], ys[i]);
    });
    return of_inputs;
  });
}

/// Where the elements of an operand lie under those of a result that it is broadcast to.
struct Broadcast {
  Shape extents;                     ///< of the result
  std::vector<std::size_t> strides;  ///< of the operand; 0 where it is repeated

  Broadcast(const Shape& from, const Shape& to) : extents(to), strides(to.size(), 0) {
    std::size_t stride = 1;
    for (std::size_t d = from.size(); d-- > 0;) {
      const std::size_t at = d + to.size() - from.size();
      strides[at] = from[d] == 1 ? 0 : stride;
      stride *= from[d];
    }
  }

  std::size_t operator()(std::size_t index) const {
    std::size_t at = 0;
    for (std::size_t d = extents.size(); d-- > 0; index /= extents[d]) at += index % extents[d] * strides[d];
    return at;
  }
};

Shape common_shape(std::string_view name, const Shape& x, const Shape& y) {
  Shape out(std::max(x.size(), y.size()), 1);
  for (const Shape* shape : {&x, &y}) {
    for (std::size_t d = 0; d < shape->size(); ++d) {
      std::size_t& extent = out[d + out.size() - shape->size()];
      if (extent != 1 && (*shape)[d] != 1 && extent != (*shape)[d])
        throw Error(std::string(name) + ": shapes " + words_of(x) + " and " + words_of(y) + " do not fit together");
      if ((*shape)[d] != 1) extent = (*shape)[d];
    }
  }
  return out;
}

/// The gradient of an operand: that of the result times `factor`, summed over what was repeated, in ascending order in float64.
template <class Real, class Factor>
Array<Real> reduced(const Tape<Real>& tape, const Array<Real>& gradient, const Shape& shape, Factor factor) {
  Array<Real> out = tape.array(shape);
  if (gradient.shape == shape) {
    for (std::size_t i = 0; i < gradient.count(); ++i) out.values[i] = gradient.values[i] * factor(i);
    return out;
  }
  const Broadcast place(shape, gradient.shape);
  std::vector<double> sums(out.count(), 0.0);
  for (std::size_t i = 0; i < gradient.count(); ++i)
    sums[place(i)] += static_cast<double>(static_cast<Real>(gradient.values[i] * factor(i)));
  for (std::size_t i = 0; i < sums.size(); ++i) out.values[i] = static_cast<Real>(sums[i]);
  return out;
}

/// z = f(x, y); dx = dz * slope_x(x, y), dy = dz * slope_y(x, y).
template <class Real, class Function, class SlopeX, class SlopeY>
Variable combine(Tape<Real>& tape, std::string_view name, Variable of_x, Variable of_y, Function f, SlopeX slope_x,
                 SlopeY slope_y) {
  const OperationPrecision precision = tape.precision_of(name);
  const Variable x = taken(tape, of_x, precision), y = taken(tape, of_y, precision);
  Array<Real> z = tape.array(common_shape(name, tape.shape(x), tape.shape(y)));
  const Broadcast in_x(tape.shape(x), z.shape), in_y(tape.shape(y), z.shape);
  const bool same = tape.shape(x) == z.shape && tape.shape(y) == z.shape;
  const auto& xs = tape.value(x).values;
  const auto& ys = tape.value(y).values;
  for_each_part(z.count(), tape.threads(), same ? 1 : 8, [&](std::size_t i, std::size_t end) {
    if (same) {
      for (; i < end; ++i) z.values[i] = f(xs[i], ys[i]);
    } else {
      for (; i < end; ++i) z.values[i] = f(xs[in_x(i)], ys[in_y(i)]);
    }
  });
  return tape.record(name, {x, y}, std::move(z), precision.output,
                     [&tape, x, y, slope_x, slope_y](const Array<Real>& gradient) {
                       const auto& from_x = tape.value(x).values;
                       const auto& from_y = tape.value(y).values;
                       std::vector<Array<Real>> of_inputs(2);
                       const auto reduce = [&](const auto& at_x, const auto& at_y) {
                         if (tape.has_gradient(x))
                           of_inputs[0] = reduced(tape, gradient, tape.shape(x),
                                                  [&](std::size_t i) { return slope_x(from_x[at_x(i)], from_y[at_y(i)]); });
                         if (tape.has_gradient(y))
                           of_inputs[1] = reduced(tape, gradient, tape.shape(y),
                                                  [&](std::size_t i) { return slope_y(from_x[at_x(i)], from_y[at_y(i)]); });
                       };
                       const auto in_place = [](std::size_t i) { return i; };
                       if (tape.shape(x) == gradient.shape && tape.shape(y) == gradient.shape)
                         reduce(in_place, in_place);
                       else
                         reduce(Broadcast(tape.shape(x), gradient.shape), Broadcast(tape.shape(y), gradient.shape));
                       return of_inputs;
                     });
}

}  // namespace

template <class Real>
Variable add(Tape<Real>& tape, Variable x, Variable y) {
  const auto one = [](Real, Real) { return Real{1}; };
  return combine(
      tape, "add", x, y, [](Real a, Real b) { return a + b; }, one, one);
}

template <class Real>
Variable subtract(Tape<Real>& tape, Variable x, Variable y) {
  return combine(
      tape, "subtract", x, y, [](Real a, Real b) { return a - b; }, [](Real, Real) { return Real{1}; },
      [](Real, Real) { return Real{-1}; });
}

template <class Real>
Variable multiply(Tape<Real>& tape, Variable x, Variable y) {
  return combine(
      tape, "multiply", x, y, [](Real a, Real b) { return a * b; }, [](Real, Real b) { return b; },
      [](Real a, Real) { return a; });
}

template <class Real>
Variable divide(Tape<Real>& tape, Variable x, Variable y) {
  return combine(
      tape, "divide", x, y, [](Real a, Real b) { return a / b; }, [](Real, Real b) { return 1 / b; },
      [](Real a, Real b) { return -(a / b) / b; });
}

template <class Real>
Variable affine(Tape<Real>& tape, Variable x, Real factor, Real summand) {
  return map(
      tape, "affine", x, cost_of_arithmetic, [=](Real a) { return a * factor + summand; }, [=](Real, Real) { return factor; });
}

template <class Real>
Variable exp(Tape<Real>& tape, Variable x) {
  return map(
      tape, "exp", x, cost_of_function, [](Real a) { return exponential(a); }, [](Real, Real y) { return y; });
}

template <class Real>
Variable log(Tape<Real>& tape, Variable x) {
  return map(
      tape, "log", x, cost_of_function, [](Real a) { return logarithm(a); }, [](Real a, Real) { return 1 / a; });
}

template <class Real>
Variable sqrt(Tape<Real>& tape, Variable x) {
  return map(
      tape, "sqrt", x, cost_of_arithmetic, [](Real a) { return std::sqrt(a); }, [](Real, Real y) { return 1 / (2 * y); });
}

template <class Real>
Variable square(Tape<Real>& tape, Variable x) {
  return map(
      tape, "square", x, cost_of_arithmetic, [](Real a) { return a * a; }, [](Real a, Real) { return 2 * a; });
}

template <class Real>
Variable relu(Tape<Real>& tape, Variable x) {
  return map(
      tape, "relu", x, cost_of_arithmetic, [](Real a) { return a <= 0 ? Real{0} : a; },
      [](Real, Real y) { return y > 0 ? Real{1} : Real{0}; });
}

template <class Real>
Variable sigmoid(Tape<Real>& tape, Variable x) {
  return map(
      tape, "sigmoid", x, cost_of_function, [](Real a) { return logistic(a); }, [](Real, Real y) { return y * (1 - y); });
}

template <class Real>
Variable tanh(Tape<Real>& tape, Variable x) {
  return map(
      tape, "tanh", x, cost_of_function, [](Real a) { return static_cast<Real>(emu::tanh(static_cast<double>(a))); },
      [](Real, Real y) { return 1 - y * y; });
}

template <class Real>
Variable gelu(Tape<Real>& tape, Variable x) {
  return map(
      tape, "gelu", x, cost_of_function,
      [](Real a) {
        const auto wide = static_cast<double>(a);
        return static_cast<Real>(wide * normal_distribution(wide));
      },
      [](Real a, Real) {
        const auto wide = static_cast<double>(a);
        return static_cast<Real>(normal_distribution(wide) + wide * normal_density(wide));
      });
}

template <class Real>
Variable silu(Tape<Real>& tape, Variable x) {
  return map(
      tape, "silu", x, cost_of_function, [](Real a) { return a * logistic(a); },
      [](Real a, Real) {
        const Real s = logistic(a);
        return s * (1 + a * (1 - s));
      });
}

template <class Real>
Variable cast(Tape<Real>& tape, Variable x, const Storage& storage) {
  const auto backward = [&tape](const Array<Real>& gradient) {
    std::vector<Array<Real>> of_inputs;
    of_inputs.push_back(tape.copy(gradient.shape, gradient.values));
    return of_inputs;
  };
  return tape.record("cast", {x}, tape.copy(tape.shape(x), tape.value(x).values), storage, backward, tape.mask(x));
}

#define ULPSCOPE_OPERATIONS(Real)                              \
  template Variable add(Tape<Real>&, Variable, Variable);      \
  template Variable subtract(Tape<Real>&, Variable, Variable); \
  template Variable multiply(Tape<Real>&, Variable, Variable); \
  template Variable divide(Tape<Real>&, Variable, Variable);   \
  template Variable affine(Tape<Real>&, Variable, Real, Real); \
  template Variable exp(Tape<Real>&, Variable);                \
  template Variable log(Tape<Real>&, Variable);                \
  template Variable sqrt(Tape<Real>&, Variable);               \
  template Variable square(Tape<Real>&, Variable);             \
  template Variable relu(Tape<Real>&, Variable);               \
  template Variable sigmoid(Tape<Real>&, Variable);            \
  template Variable tanh(Tape<Real>&, Variable);               \
  template Variable gelu(Tape<Real>&, Variable);               \
  template Variable silu(Tape<Real>&, Variable);               \
  template Variable cast(Tape<Real>&, Variable, const Storage&);

ULPSCOPE_OPERATIONS(float)
ULPSCOPE_OPERATIONS(double)
#undef ULPSCOPE_OPERATIONS

}  // namespace ulpscope::training

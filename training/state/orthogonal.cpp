// SPDX-License-Identifier: Apache-2.0
// The iteration, on the smaller of the two products of a matrix and its transpose.
#include "training/state/orthogonal.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "training/tape/product.hpp"

namespace ulpscope::training {
namespace {

// The slope at 0 is as great as it can be where five steps are to end near 1 (Jordan, "Tuning the coefficients").
constexpr double a = 3.4445, b = -4.7750, c = 2.0315;
constexpr double least_norm = 1e-7;

/// Matrices in one format.
template <class Real>
class Iteration {
 public:
  using Values = std::vector<Real>;

  Iteration(emu::Format format, int threads) : format_(format), threads_(threads) {}

  void store(Values& values) const { emu::round_to(format_, std::span<const Real>(values), std::span<Real>(values)); }
  Real stored(Real x) const {
    Values one{x};
    store(one);
    return one[0];
  }

  Values product(const MatrixView<Real>& x, const MatrixView<Real>& y) {
    const auto operand = [&](const MatrixView<Real>& matrix, std::string_view place) {
      return ProductOperand<Real>{matrix, {.storage = {format_, {}}}, place};
    };
    const auto as_it_is = [](std::span<Real>, const Storage&, std::string_view, const Padding&) {};  // operands are numbers of the format
    Values d(x.rows * y.columns);
    multiply<Real>(operand(x, "input"), operand(y, "weight"),
                   {.engine = "fma", .accumulate = emu::fits_float(format_) ? emu::float32 : emu::float64, .threads = threads_},
                   as_it_is, workspace_, std::span<Real>(d));
    store(d);
    return d;
  }

  Values times(double factor, Values x) const {
    for (Real& value : x) value *= static_cast<Real>(factor);
    store(x);
    return x;
  }

  Values sum(Values x, const Values& y) const {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
    store(x);
    return x;
  }

  /// X / max(norm, least_norm).
  void normalize(Values& x) const {
    double squares = 0;
    for (const Real value : x) squares += static_cast<double>(value) * static_cast<double>(value);
    const Real norm = stored(static_cast<Real>(std::sqrt(squares)));
    const Real divisor = std::max(norm, stored(static_cast<Real>(least_norm)));
    for (Real& value : x) value /= divisor;
    store(x);
  }

  Values step(const Values& x, const MatrixExtents& extents) {
    const MatrixView<Real> matrix{x, extents.rows, extents.columns};
    const Values gram = product(matrix, matrix.t()), scaled = times(c, gram);
    const auto square = [&](const Values& values) { return MatrixView<Real>{values, extents.rows, extents.rows}; };
    const Values polynomial = sum(times(b, gram), product(square(scaled), square(gram)));
    return sum(times(a, x), product(square(polynomial), matrix));
  }

 private:
  emu::Format format_;
  int threads_;
  Workspace<Real> workspace_;
};

template <class Real>
std::vector<Real> transposed(const std::vector<Real>& values, const MatrixExtents& extents) {
  std::vector<Real> out(values.size());
  for (std::size_t i = 0; i < extents.rows; ++i)
    for (std::size_t j = 0; j < extents.columns; ++j) out[j * extents.rows + i] = values[i * extents.columns + j];
  return out;
}

}  // namespace

template <class Real>
std::vector<Real> orthogonalized(std::vector<Real> values, MatrixExtents extents, emu::Format format, std::uint64_t steps,
                                 int threads) {
  if (extents.rows * extents.columns != values.size())
    throw Error("a matrix of " + std::to_string(extents.rows) + "x" + std::to_string(extents.columns) + " with " +
                std::to_string(values.size()) + " elements");
  const bool is_tall = extents.rows > extents.columns;
  if (is_tall) {
    values = transposed(values, extents);
    std::swap(extents.rows, extents.columns);
  }
  Iteration<Real> iteration(format, threads);
  iteration.store(values);
  iteration.normalize(values);
  for (std::uint64_t i = 0; i < steps; ++i) values = iteration.step(values, extents);
  return is_tall ? transposed(values, extents) : values;
}

template std::vector<float> orthogonalized(std::vector<float>, MatrixExtents, emu::Format, std::uint64_t, int);
template std::vector<double> orthogonalized(std::vector<double>, MatrixExtents, emu::Format, std::uint64_t, int);

}  // namespace ulpscope::training

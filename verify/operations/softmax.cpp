// SPDX-License-Identifier: Apache-2.0
// Weights of a row, their errors, and elements that are not finite.
#include "verify/operations/softmax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "emu/error.hpp"
#include "verify/operations/ball.hpp"
#include "verify/operations/real.hpp"
#include "verify/operations/softmax_weights.hpp"

namespace ulpscope::verify {
namespace {

/// The finite elements of a row, and where they are.
struct FinitePart {
  bool undefined = false;
  std::vector<double> values;
  std::vector<std::size_t> positions;
};

FinitePart finite_part(std::span<const float> x) {
  FinitePart out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i]) || (std::isinf(x[i]) && x[i] > 0)) out.undefined = true;
    if (!std::isfinite(x[i])) continue;
    out.values.push_back(static_cast<double>(x[i]));
    out.positions.push_back(i);
  }
  out.undefined = out.undefined || out.values.empty();
  return out;
}

template <class T>
std::vector<T> numbers(const std::vector<double>& values) {
  std::vector<T> out;
  out.reserve(values.size());
  for (const double x : values) out.push_back(T(x));
  return out;
}

class SoftmaxExpectation final : public RowExpectation {
 public:
  explicit SoftmaxExpectation(Softmax operation)
      : RowExpectation(operation.x.shape, operation.last), op_(std::move(operation)) {}

  std::string bound() const override {
    return fmt::format("{}; {}; an online maximum changes at most once in {} elements",
                       words_of_sum(op_.arithmetic, op_.x.columns()), words_of_functions(op_.arithmetic), op_.block);
  }

 private:
  void row(std::uint64_t index, std::span<Expected> elements) const override {
    const FinitePart part = finite_part(op_.x.row(index));
    std::fill(elements.begin(), elements.end(), part.undefined ? undefined() : Expected{});
    if (part.undefined) return;
    const std::vector<Ball> scores = numbers<Ball>(part.values);
    const Ball greatest(*std::max_element(part.values.begin(), part.values.end()));
    const auto exact = exponentials<Ball>(scores, greatest);
    const std::vector<double> exact_scores(scores.size(), 0.0);
    const auto errors = exponential_errors(op_.arithmetic, exact, scores, greatest, exact_scores, op_.block);
    for (std::size_t j = 0; j < scores.size(); ++j) {
      const Ball y = exact.each[j] / exact.sum;
      const double allowed = quotient_error(op_.arithmetic, y, exact.sum, errors.each[j], errors.sum);
      elements[part.positions[j]] = within(y.value, y.radius, allowed, y.value);
    }
  }

  Precise precise_element(std::uint64_t index, std::uint64_t column) const override {
    const FinitePart part = finite_part(op_.x.row(index));
    const float x = op_.x.row(index)[static_cast<std::size_t>(column)];
    if (!std::isfinite(x)) return precise_of(Real(0), last());
    const std::vector<Real> scores = numbers<Real>(part.values);
    const Real greatest(*std::max_element(part.values.begin(), part.values.end()));
    const auto exact = exponentials<Real>(scores, greatest);
    return precise_of(exp(Real(static_cast<double>(x)) - greatest) / exact.sum, last());
  }

  Softmax op_;
};

}  // namespace

std::unique_ptr<Expectation> expect_softmax(Softmax operation) {
  if (operation.x.shape.empty() || operation.x.columns() == 0)
    throw Error("softmax needs rows of at least one element, not " + words_of_shape(operation.x.shape));
  if (operation.block == 0) throw Error("the block of an online softmax has at least 1 element");
  return std::make_unique<SoftmaxExpectation>(std::move(operation));
}

}  // namespace ulpscope::verify

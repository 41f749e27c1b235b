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
#include "emu/names.hpp"
#include "verify/operations/ball.hpp"
#include "verify/operations/kept_rows.hpp"
#include "verify/operations/random_sums.hpp"
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

FinitePart finite_part(std::span<const float> x, FullyMasked masked) {
  FinitePart out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i]) || (std::isinf(x[i]) && x[i] > 0)) out.undefined = true;
    if (!std::isfinite(x[i])) continue;
    out.values.push_back(static_cast<double>(x[i]));
    out.positions.push_back(i);
  }
  out.undefined = out.undefined || (out.values.empty() && masked != FullyMasked::zero);
  return out;
}

class SoftmaxExpectation final : public RowExpectation {
 public:
  explicit SoftmaxExpectation(Softmax operation)
      : RowExpectation(operation.x.shape, operation.last), op_(std::move(operation)) {}

  std::string bound() const override {
    std::string words = fmt::format("{}; {}; an online maximum changes at most once in {} elements",
                                    words_of_sum(sums(), op_.x.columns()), words_of_functions(op_.arithmetic), op_.block);
    if (op_.shifted) words += "; x - max x in " + emu::format_name(*op_.shifted);
    if (op_.exponentials) words += "; exponentials in " + emu::format_name(*op_.exponentials);
    if (op_.false_alarm) words += words_of_false_alarm(*op_.false_alarm);
    return words;
  }

 private:
  KernelArithmetic sums() const {
    KernelArithmetic arithmetic = op_.arithmetic;
    if (op_.sums) arithmetic.format = *op_.sums;
    return arithmetic;
  }
  /// One event for each row; none where the roundings of its sum are not random.
  double lambda(const std::vector<Ball>& terms) const {
    if (!op_.false_alarm) return 0;
    std::vector<float> values;
    for (const Ball& term : terms) values.push_back(static_cast<float>(term.value));
    if (roundings_agree(values, unit(sums().format))) return 0;
    return deviations(static_cast<double>(op_.x.rows()), *op_.false_alarm);
  }

  void row(std::uint64_t index, std::span<Expected> elements) const override {
    const FinitePart part = finite_part(op_.x.row(index), op_.fully_masked);
    std::fill(elements.begin(), elements.end(), part.undefined ? undefined() : Expected{});
    if (part.values.empty() || part.undefined) return;
    const std::vector<Ball> scores(part.values.begin(), part.values.end());
    const Ball greatest(*std::max_element(part.values.begin(), part.values.end()));
    const auto exact = exponentials<Ball>(scores, greatest);
    const std::vector<double> exact_scores(scores.size(), 0.0);
    const ExponentialArithmetic how{.arithmetic = op_.arithmetic,
                                    .sums = sums(),
                                    .shifted = op_.shifted,
                                    .exponentials = op_.exponentials,
                                    .block = op_.block,
                                    .lambda = lambda(exact.each)};
    const auto errors = exponential_errors(how, exact, scores, greatest, exact_scores);
    for (std::size_t j = 0; j < scores.size(); ++j) {
      const Ball y = exact.each[j] / exact.sum;
      const double allowed = quotient_error(op_.arithmetic, y, exact.sum, errors.each[j], errors.sum);
      elements[part.positions[j]] = within(y.value, y.radius, allowed, y.value);
    }
  }

  Precise precise_element(std::uint64_t index, std::uint64_t column) const override {
    const float x = op_.x.row(index)[static_cast<std::size_t>(column)];
    if (!std::isfinite(x)) return precise_of(Real(0), last());
    const auto row = denominators_.of(index, [&] { return denominator(index); });
    return precise_of(exp(Real(static_cast<double>(x)) - row->greatest) / row->sum, last());
  }

  /// Of a row, in 200 digits.
  struct Denominator {
    Real greatest;  ///< element
    Real sum;       ///< of e^(x - greatest)
  };
  Denominator denominator(std::uint64_t index) const {
    const FinitePart part = finite_part(op_.x.row(index), op_.fully_masked);
    Denominator out{Real(*std::max_element(part.values.begin(), part.values.end())), Real(0)};
    for (const double x : part.values) out.sum += exp(Real(x) - out.greatest);
    return out;
  }

  Softmax op_;
  KeptRows<Denominator> denominators_;
};

}  // namespace

std::unique_ptr<Expectation> expect_softmax(Softmax operation) {
  if (operation.x.shape.empty() || operation.x.columns() == 0)
    throw Error("softmax needs rows of at least one element, not " + words_of_shape(operation.x.shape));
  if (operation.block == 0) throw Error("the block of an online softmax has at least 1 element");
  KernelArithmetic sums = operation.arithmetic;
  if (operation.sums) sums.format = *operation.sums;
  require_random(sums, operation.false_alarm);
  return std::make_unique<SoftmaxExpectation>(std::move(operation));
}

}  // namespace ulpscope::verify

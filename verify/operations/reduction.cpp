// SPDX-License-Identifier: Apache-2.0
// Sums and dot products along an axis.
#include <fmt/format.h>

#include <utility>

#include "emu/error.hpp"
#include "emu/stop.hpp"
#include "verify/operations/product_sum.hpp"
#include "verify/operations/products.hpp"

namespace ulpscope::verify {
namespace {

class ReductionExpectation final : public Expectation {
 public:
  explicit ReductionExpectation(Dot operation) : op_(std::move(operation)) {
    require_judged(op_.last);
    shape_ = op_.axis == Axis::all ? std::vector<std::uint64_t>{} : op_.a.shape;
    if (!shape_.empty()) shape_.pop_back();
    length_ = op_.axis == Axis::all ? op_.a.elements.size() : op_.a.columns();
  }

  std::vector<std::uint64_t> shape() const override { return shape_; }
  emu::Format out() const override { return op_.last.out; }
  std::string of_scalar() const override { return "; that of all numbers is asked for with --axis all"; }
  std::string bound() const override { return words_of_sum(op_.arithmetic, length_); }
  std::string refusal() const override {
    if (sum_relative(op_.arithmetic, length_) < 1) return {};
    return bound() + " is 1 or more: a wider accumulator or a smaller depth of the sums makes it worth something";
  }
  void expect(std::uint64_t first, std::span<Expected> elements) const override {
    for (Expected& element : elements) {
      emu::stop_if_asked();
      element = over<ProductSum>(first++).expected(op_.arithmetic);
    }
  }
  Precise precise(std::uint64_t index) const override { return over<ExactProductSum>(index).precise(op_.last); }

 private:
  /// Without b the terms are those of a.
  template <class Accumulator>
  Accumulator over(std::uint64_t index) const {
    Accumulator sum;
    for (std::uint64_t i = index * length_; i < (index + 1) * length_; ++i) {
      const auto at = static_cast<std::size_t>(i);
      sum.add(op_.a.elements[at], op_.b.elements.empty() ? 1.0F : op_.b.elements[at]);
    }
    return sum;
  }

  Dot op_;
  std::vector<std::uint64_t> shape_;
  std::uint64_t length_ = 0;
};

}  // namespace

std::unique_ptr<Expectation> expect_sum(Sum operation) {
  return std::make_unique<ReductionExpectation>(Dot{.a = std::move(operation.x),
                                                    .b = {},
                                                    .axis = operation.axis,
                                                    .arithmetic = operation.arithmetic,
                                                    .last = operation.last});
}

std::unique_ptr<Expectation> expect_dot(Dot operation) {
  if (operation.a.shape != operation.b.shape)
    throw Error(fmt::format("dot of shapes {} and {}: give both the same shape", words_of_shape(operation.a.shape),
                            words_of_shape(operation.b.shape)));
  return std::make_unique<ReductionExpectation>(std::move(operation));
}

}  // namespace ulpscope::verify

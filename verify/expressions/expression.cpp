// SPDX-License-Identifier: Apache-2.0
// The value of a formula, element by element, as an expectation.
#include "verify/expressions/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "emu/names.hpp"
#include "verify/expressions/evaluation.hpp"
#include "verify/expressions/overflows.hpp"
#include "verify/operations/real.hpp"

namespace ulpscope::verify {

Formula formula_of(const Expression& expression) {
  std::vector<FormulaInput> inputs;
  for (const auto& [name, values] : expression.inputs) inputs.push_back({name, values.shape});
  return read_formula(expression.formula, inputs, expression.numbers, expression.arithmetic);
}
Evaluation evaluation_of(Expression expression) {
  Formula formula = formula_of(expression);
  std::vector<Values> values;
  for (auto& [name, tensor] : expression.inputs) values.push_back(std::move(tensor));
  return {std::move(formula), std::move(values), expression.threads};
}

namespace {

class ExpressionExpectation final : public Expectation {
 public:
  explicit ExpressionExpectation(Expression expression)
      : arithmetic_(expression.arithmetic), last_(expression.last), evaluation_(evaluation_of(std::move(expression))) {
    require_judged(last_);
  }

  std::vector<std::uint64_t> shape() const override { return evaluation_.formula().value().shape; }
  emu::Format out() const override { return last_.out; }

  bool is_elementwise() const override { return true; }  // what rows have in common is kept
  void expect(std::uint64_t first, std::span<Expected> elements) const override {
    evaluation_.for_each(first, elements.size(), [&](const Lanes& lanes, std::size_t done, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) elements[done + i] = expected(lanes.at(i));
    });
  }
  bool for_each_block(std::uint64_t first, std::size_t count, const TakeBlock& take) const override {
    ExpectedBlock block;
    static_assert(ExpectedBlock::size == Lanes::size);
    evaluation_.for_each(first, count, [&](const Lanes& lanes, std::size_t, std::size_t some) {
      block.count = some, block.in_range = lanes.exact || lanes.in_range;
      std::copy_n(lanes.value, some, block.value.begin());
      if (lanes.exact) {
        std::fill_n(block.radius.begin(), some, 0.0), std::fill_n(block.allowed.begin(), some, 0.0);
      } else {
        std::copy_n(lanes.radius, some, block.radius.begin());
        std::transform(lanes.error, lanes.error + some, block.allowed.begin(), loosened);
      }
      if (!block.in_range)
        for (std::size_t i = 0; i < some; ++i) block.may_overflow[i] = right_too(lanes.at(i));
      take(block);
    });
    return true;
  }
  Precise precise(std::uint64_t index) const override { return precise_of(evaluation_.precise(index), last_); }

  std::string bound() const override {
    return fmt::format("{} operations, {}, each on what those before it may be off by", emu::format_name(arithmetic_.format),
                       words_of_functions(arithmetic_));
  }
  std::string refusal() const override {
    if (worth_something()) return {};
    return "the bound is at least as large as what it bounds, everywhere: declare the formats that are computed in, the depth "
           "of the sums, or the roundings on the way, such as bf16(...)";
  }

 private:
  static Expected expected(const Approximate& x) {
    if (!std::isfinite(x.value))
      return {.value = x.value, .allowed = x.error, .magnitude = x.value, .may_overflow = right_too(x)};
    Expected out = within(x.value, x.radius, x.error, std::fabs(x.value));
    out.may_overflow = right_too(x);
    return out;
  }
  /// Zeros of both signs are equal.
  static Overflow right_too(const Approximate& x) {
    const Overflow special = x.overflow & Overflow::any;
    return special | where(!std::isfinite(x.value) && special != Overflow::none, Overflow::doubted);
  }

  /// Whether some element has a bound below its own size; zeros alone say nothing.
  bool worth_something() const {
    const std::uint64_t count = element_count(shape());
    std::array<Approximate, Lanes::size> some;
    bool any_nonzero = false;
    for (std::uint64_t first = 0; first < count; first += some.size()) {
      const auto left = static_cast<std::size_t>(std::min<std::uint64_t>(some.size(), count - first));
      evaluation_.values(first, std::span(some).first(left));
      for (const Approximate& x : std::span(some).first(left)) {
        if (std::isfinite(x.value) ? x.error < std::fabs(x.value) : !is_doubted(x)) return true;
        any_nonzero = any_nonzero || x.value != 0;
      }
    }
    return !any_nonzero;
  }

  KernelArithmetic arithmetic_;
  LastRounding last_;
  Evaluation evaluation_;
};

}  // namespace

std::unique_ptr<Expectation> expect_expression(Expression expression) {
  return std::make_unique<ExpressionExpectation>(std::move(expression));
}

}  // namespace ulpscope::verify

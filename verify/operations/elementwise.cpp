// SPDX-License-Identifier: Apache-2.0
// One function and one bound for each element.
#include "verify/operations/elementwise.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "verify/operations/elementwise_functions.hpp"
#include "verify/operations/real.hpp"

namespace ulpscope::verify {
namespace {

const Function* find(std::string_view name) {
  const auto all = functions();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Function& f) { return f.name == name; });
  return found == all.end() ? nullptr : &*found;
}

class ElementwiseExpectation final : public Expectation {
 public:
  ElementwiseExpectation(Elementwise operation, const Function& function) : op_(std::move(operation)), function_(function) {
    require_judged(op_.last);
  }

  std::vector<std::uint64_t> shape() const override { return op_.x.shape; }
  emu::Format out() const override { return op_.last.out; }
  std::string bound() const override {
    const double ulp = op_.arithmetic.function_ulp, absolute = op_.arithmetic.function_abs;
    const std::string beside = absolute == 0 ? "" : fmt::format(" and {:g}", absolute);
    if (ulp == 0) return fmt::format("{}, rounded once to {}{}", function_.name, format(), beside);
    return fmt::format("{} to {:g} ulp of {}{}", function_.name, ulp, format(), beside);
  }
  std::string refusal() const override {
    if (function_relative(op_.arithmetic) < 1) return {};
    return bound() + " is the whole result: a wider format or fewer ulp make it worth something";
  }
  bool is_elementwise() const override { return true; }
  void expect(std::uint64_t first, std::span<Expected> elements) const override {
    for (Expected& element : elements) element = of(op_.x.elements[static_cast<std::size_t>(first++)]);
  }
  Precise precise(std::uint64_t index) const override {
    return precise_of(function_.precise(Real(static_cast<double>(op_.x.elements[static_cast<std::size_t>(index)]))), op_.last);
  }
  /// x times a factor that is 0 is NaN for an infinite x, where its limit is 0: as the definitions have it, and PyTorch.
  bool admits(std::uint64_t index, double output) const override {
    const float x = op_.x.elements[static_cast<std::size_t>(index)];
    return std::isnan(output) && std::isinf(x) && x < 0 && is_gated(function_);
  }

 private:
  std::string format() const { return emu::format_name(op_.arithmetic.format); }

  Expected of(float input) const {
    const double x = static_cast<double>(input), y = function_.value(x);
    if (!std::isfinite(y)) return {.value = y, .magnitude = y};
    Expected out = within(y, is_exact(x, y) ? 0 : value_radius(y), allowed(x, y), std::abs(y));
    out.may_overflow = overflow_of_interval(y - out.allowed, y + out.allowed, largest(op_.arithmetic.format));
    return out;
  }
  /// Values of the functions that do not round. What is 0 far from 0 is only too small for a double.
  bool is_exact(double x, double y) const {
    return function_.name == "relu" || (y == 0 && (std::abs(x) <= 1 || std::isinf(x)));
  }

  double allowed(double x, double y) const {
    const KernelArithmetic& a = op_.arithmetic;
    if (is_exact(x, y) && (a.function_abs == 0 || function_.name == "relu")) return 0;
    if (a.function_ulp == 0 && a.function_abs == 0 && a.format == op_.last.out) return 0;
    if (function_.error && a.function_ulp != 0) return function_.error(a, x, y);
    return function_error(a, y) + underflow(a.format);
  }

  Elementwise op_;
  const Function& function_;
};

class ConversionExpectation final : public Expectation {
 public:
  explicit ConversionExpectation(Conversion operation) : op_(std::move(operation)) { require_judged(op_.last); }

  std::vector<std::uint64_t> shape() const override { return op_.x.shape; }
  emu::Format out() const override { return op_.last.out; }
  std::string bound() const override {
    const auto& options = op_.last.options;
    return fmt::format("one rounding to {}, {}, {}", emu::format_name(op_.last.out), emu::name_of(options.rounding),
                       emu::name_of(options.policy));
  }
  std::string refusal() const override { return {}; }
  bool is_bitwise() const override { return true; }
  bool is_elementwise() const override { return true; }
  void expect(std::uint64_t first, std::span<Expected> elements) const override {
    for (Expected& element : elements) {
      const double x = value(first++);
      element = {.value = x, .magnitude = std::abs(x)};
    }
  }
  Precise precise(std::uint64_t index) const override {
    const double x = value(index);
    return {x, 0, emu::round_to(op_.last.out, x, op_.last.options).value};
  }

 private:
  double value(std::uint64_t index) const { return static_cast<double>(op_.x.elements[static_cast<std::size_t>(index)]); }
  Conversion op_;
};

}  // namespace

std::vector<std::string> elementwise_words() {
  std::vector<std::string> words;
  for (const Function& f : functions()) words.emplace_back(f.name);
  return words;
}

std::unique_ptr<Expectation> expect_elementwise(Elementwise operation) {
  const Function* function = find(operation.function);
  if (!function) {
    const auto known = emu::closest_words(operation.function, elementwise_words());
    throw Error(fmt::format("unknown function {}: closest are {}", operation.function, fmt::join(known, ", ")));
  }
  return std::make_unique<ElementwiseExpectation>(std::move(operation), *function);
}

std::unique_ptr<Expectation> expect_conversion(Conversion operation) {
  return std::make_unique<ConversionExpectation>(std::move(operation));
}

}  // namespace ulpscope::verify

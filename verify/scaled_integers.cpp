// SPDX-License-Identifier: Apache-2.0
// Counts the roundings that a term meets: conversion, factors, additions.
#include "verify/scaled_integers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "emu/catalogue.hpp"
#include "products/operand.hpp"
#include "products/shape.hpp"
#include "verify/double_double.hpp"
#include "verify/matmul_bound.hpp"
#include "verify/operations/kernel_arithmetic.hpp"

namespace ulpscope::verify {
namespace {

/// Integers up to it are numbers of float32.
constexpr double most_unrounded = 0x1p24;

/// One scale of an operand, without the one of all of it.
double scale_of(const products::MatmulScales& scales, std::size_t matrix, std::size_t line, std::size_t k) {
  constexpr std::size_t all = products::MatmulScales::all;
  const std::size_t own = scales.matrices == 1 ? 0 : matrix;
  const std::size_t row = own * scales.for_lines + (scales.line_block == all ? 0 : line / scales.line_block);
  return static_cast<double>(scales.values[row * scales.for_k + (scales.k_block == all ? 0 : k / scales.k_block)]);
}

/// What multiplies a sum.
struct Factors {
  std::array<double, 5> values;  ///< the scales of its row and column, those of the operands, alpha
  std::size_t count = 0;         ///< of those that are there

  void add(double factor) { values[count++] = factor; }
};

class ScaledIntegers final : public Expectation {
 public:
  ScaledIntegers(const products::Product& product, IntegerOverflow overflow)
      : shape_(products::matmul_shape(product.a.input, product.b.input)),
        stretch_(std::max<std::size_t>(shared_scales(product, shape_.k), 1)),
        sums_(with_first_c(product), overflow, stretch_),
        a_(product.a.scales),
        b_(product.b.scales),
        alpha_(static_cast<float>(product.alpha)),
        out_(product.out) {
    if (product.beta) beta_ = static_cast<float>(*product.beta);
    if (joins_last(product)) {
      products::RoundedElements counts;
      const auto c = products::rounded_elements<float>(*product.c, {emu::float32}, counts);
      for (const std::size_t i : products::broadcast_indices("C " + product.c->label, product.c->shape, shape_.d))
        c_.push_back(c[i]);
    }
    additions_ = static_cast<double>(sums_.stretches() - 1 + (c_.empty() ? 0 : 1));
    if (shape_.m * shape_.n != 0 && shape_.batch() != 0) factors_ = static_cast<double>(factors(0, 0).count);
  }

  std::vector<std::uint64_t> shape() const override { return shape_.d; }
  emu::Format out() const override { return out_; }
  std::string bound() const override {
    const double most = before_the_last(1 + factors_ + additions_);
    return fmt::format("{}; then float32: a term is rounded {:g} times at most before the last rounding, {:.3g} of it",
                       sums_.words(), most, gamma(most, unit_));
  }
  std::string refusal() const override { return {}; }

  void expect(std::uint64_t first, std::span<Expected> elements) const override {
    std::vector<IntegerSum> sums(elements.size());
    std::vector<SignedTerms> signed_terms(elements.size());
    std::fill(elements.begin(), elements.end(), Expected{});
    for (std::size_t s = 0; s < sums_.stretches(); ++s) {
      sums_.sums(s, first, sums);
      for (std::size_t i = 0; i < elements.size(); ++i) add_term(sums[i], factors(first + i, s), elements[i], signed_terms[i]);
    }
    for (std::size_t i = 0; i < elements.size(); ++i) finish(first + i, elements[i], signed_terms[i]);
  }

  Precise precise(std::uint64_t index) const override {
    DoubleDouble value;
    for (std::size_t s = 0; s < sums_.stretches(); ++s) {
      IntegerSum sum;
      sums_.sums(s, index, std::span(&sum, 1));
      DoubleDouble term{sum.value, 0};
      const Factors factors = this->factors(index, s);
      for (std::size_t i = 0; i < factors.count; ++i) term = term * factors.values[i];
      value = value + term;
    }
    value = value + DoubleDouble{c_at(index), 0} * beta();
    return {value.high, value.low, rounded_once(value, out_)};
  }

 private:
  static bool joins_last(const products::Product& product) {
    return product.c && (product.beta || product.a.scales || product.b.scales);
  }
  static products::Product with_first_c(products::Product product) {
    if (joins_last(product)) product.c.reset();
    return product;
  }

  double beta() const { return beta_ ? static_cast<double>(*beta_) : 1; }
  double c_at(std::uint64_t index) const { return c_.empty() ? 0 : static_cast<double>(c_[static_cast<std::size_t>(index)]); }

  Factors factors(std::uint64_t index, std::size_t stretch) const {
    const auto row = static_cast<std::size_t>(index / shape_.n), matrix = row / shape_.m;
    Factors factors;
    const auto add = [&](const std::optional<products::MatmulScales>& scales, std::size_t of, std::size_t line) {
      if (!scales) return;
      factors.add(scale_of(*scales, of, line, stretch * stretch_));
      if (scales->whole != 1) factors.add(static_cast<double>(scales->whole));
    };
    add(a_, shape_.a_of[matrix], row % shape_.m);
    add(b_, shape_.b_of[matrix], static_cast<std::size_t>(index % shape_.n));
    if (alpha_ != 1) factors.add(static_cast<double>(alpha_));
    return factors;
  }

  /// Of so many roundings in float32; to an output of float32 the last of them is the last rounding.
  double before_the_last(double roundings) const { return out_ == emu::float32 ? std::max(roundings - 1, 0.0) : roundings; }

  /// Where some factors are multiplied before the sum joins and their product underflows: the greatest product of the others.
  static double lost_first(const Factors& factors) {
    double greatest = 0;
    for (unsigned some = 0; some < 1U << factors.count; ++some) {
      if (std::popcount(some) < 2) continue;
      double product = 1, others = 1;
      for (std::size_t i = 0; i < factors.count; ++i) (some >> i & 1U ? product : others) *= std::fabs(factors.values[i]);
      if (product != 0 && product < underflow(emu::float32)) greatest = std::max(greatest, others);
    }
    return greatest;
  }

  /// Adds a sum times its factors to an element, and what a kernel may make of it.
  void add_term(const IntegerSum& sum, const Factors& factors, Expected& element, SignedTerms& signed_terms) const {
    double product = 1, most = 1, smallest = 1;  // of any of the factors together
    for (std::size_t i = 0; i < factors.count; ++i) {
      const double factor = factors.values[i];
      product *= factor;
      most *= std::max(1.0, std::fabs(factor));
      smallest *= std::min(1.0, std::fabs(factor));
    }
    const double size = std::max(std::fabs(sum.low), std::fabs(sum.high)), term = sum.value * product;
    const double other_orders = std::max(sum.high - sum.value, sum.value - sum.low) * std::fabs(product);
    const double roundings = factors_ + additions_ + (size > most_unrounded ? 1 : 0);
    element.value += term;
    element.magnitude += std::fabs(term);
    element.allowed += other_orders + gamma(before_the_last(roundings), unit_) * (std::fabs(term) + other_orders);
    const double lost = smallest < underflow(emu::float32) ? lost_first(factors) * size : 0;
    if (size != 0) element.allowed += factors_ * underflow(emu::float32) * (most + lost);
    const double reach = most * std::max(1.0, size);
    if (term != 0) signed_terms.add(std::copysign(reach, term));
    const bool meets_zero = size == 0 || smallest < underflow(emu::float32);
    if (reach > largest(emu::float32) && meets_zero)  // 0 * infinity
      element.may_overflow = element.may_overflow | Overflow::undefined;
  }

  void finish(std::uint64_t index, Expected& element, SignedTerms& signed_terms) const {
    const double addend = beta() * c_at(index), of_beta = beta_ ? 1 : 0;
    element.value += addend;
    element.magnitude += std::fabs(addend);
    signed_terms.add(addend);
    if (!std::isfinite(element.value)) {
      element.allowed = 0;
    } else {
      element.allowed += gamma(before_the_last(of_beta + additions_), unit_) * std::fabs(addend);
      element.allowed += (of_beta + additions_) * underflow(emu::float32) * std::max(1.0, std::fabs(beta()));
      element.allowed = loosened(element.allowed);
      // Each factor and each addition rounds once here: gamma_n with more n than there are.
      const double roundings = factors_ + additions_ + of_beta;
      if (roundings != 0) element.radius = loosened((roundings + 3) * 0x1p-53 * element.magnitude);
    }
    const double grown = 1 + gamma(1 + factors_ + additions_, unit_);
    element.may_overflow = element.may_overflow | overflow_of_sum(element.value, signed_terms, grown, largest(emu::float32));
  }

  products::MatmulShape shape_;
  std::size_t stretch_;
  IntegerSums sums_;
  std::optional<products::MatmulScales> a_, b_;
  float alpha_;
  std::optional<float> beta_;
  std::vector<float> c_;  ///< in the shape of D; empty where it does not join in float32
  emu::Format out_;
  double unit_ = unit(emu::float32), factors_ = 0, additions_ = 0;
};

}  // namespace

std::unique_ptr<Expectation> expect_scaled_integers(const products::Product& product, IntegerOverflow overflow) {
  return std::make_unique<ScaledIntegers>(product, overflow);
}

}  // namespace ulpscope::verify

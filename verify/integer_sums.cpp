// SPDX-License-Identifier: Apache-2.0
// Float64 sums of integers, which are exact up to 2^53, put into the range of int32.
#include "verify/integer_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "emu/error.hpp"
#include "products/shape.hpp"
#include "verify/matmul.hpp"

namespace ulpscope::verify {
namespace {

constexpr double least_int32 = -0x1p31, greatest_int32 = 0x1p31 - 1;
/// Operands up to this magnitude, products up to 2^32.
constexpr double most_operand = 0x1p16;
constexpr double most_exact = 0x1p53;

std::vector<double> integers_of(const tensors::Tensor& tensor, double low, double high) {
  std::vector<double> values(static_cast<std::size_t>(tensor.count()));
  tensor.source->read(0, std::span(values));
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!(values[i] == std::floor(values[i]) && values[i] >= low && values[i] <= high))
      throw Error(
          fmt::format("{}: element {} is {}; --acc int32 sums integers from {} to {}", tensor.label, i, values[i], low, high));
  return values;
}

/// An operand whose elements are at [first, last) of K.
products::MatmulOperand stretch_of(const products::MatmulOperand& operand, std::span<const double> values, bool k_is_last,
                                   std::size_t first, std::size_t last) {
  std::vector<std::uint64_t> shape = operand.input.tensor.shape;
  const std::size_t axis = shape.size() - (k_is_last || shape.size() == 1 ? 1 : 2);
  const auto k = static_cast<std::size_t>(shape[axis]);
  const std::size_t inner = axis + 1 == shape.size() ? 1 : static_cast<std::size_t>(shape.back());
  std::vector<float> some;
  for (std::size_t at = 0; at < values.size(); at += k * inner)
    for (std::size_t i = first * inner; i < last * inner; ++i) some.push_back(static_cast<float>(values[at + i]));
  shape[axis] = last - first;
  return {{tensors::from_values(operand.input.tensor.label, std::move(shape), std::move(some)), operand.input.transposed},
          operand.rounding,
          {}};
}

}  // namespace

IntegerSums::IntegerSums(const products::Product& product, IntegerOverflow overflow, std::size_t stretch)
    : overflow_(overflow) {
  const std::vector<double> a = integers_of(product.a.input.tensor, -most_operand, most_operand);
  const std::vector<double> b = integers_of(product.b.input.tensor, -most_operand, most_operand);
  const products::MatmulShape shape = products::matmul_shape(product.a.input, product.b.input);
  if (static_cast<double>(shape.k) * most_operand * most_operand + 0x1p31 > most_exact)
    throw Error(fmt::format("--acc int32: sums of {} products are not judged; 2^20 are", shape.k));
  // Without C, which need not be a number of float32.
  products::Product bare{.a = product.a, .b = product.b, .acc = product.acc, .out = product.out, .beta = {}};
  bare.threads = product.threads;
  bare.a.scales.reset(), bare.b.scales.reset();
  for (std::size_t k = 0; k < std::max<std::size_t>(shape.k, 1); k += stretch) {
    const std::size_t end = std::min(k + stretch, shape.k);
    if (end - k < shape.k) {
      bare.a = stretch_of(product.a, a, !product.a.input.transposed, k, end);
      bare.b = stretch_of(product.b, b, product.b.input.transposed, k, end);
    }
    of_products_.push_back(expect_matmul(bare, {}));
  }
  if (!product.c) return;
  const std::vector<double> c = integers_of(*product.c, least_int32, greatest_int32);
  for (const std::size_t i : products::broadcast_indices("C " + product.c->label, product.c->shape, shape.d))
    c_.push_back(c[i]);
}

double IntegerSums::in_range(double sum) const {
  if (overflow_ == IntegerOverflow::saturate) return std::clamp(sum, least_int32, greatest_int32);
  return sum - 0x1p32 * std::floor((sum - least_int32) * 0x1p-32);
}

void IntegerSums::sums(std::size_t stretch, std::uint64_t first, std::span<IntegerSum> sums) const {
  std::vector<Expected> elements(sums.size());
  of_products_[stretch]->expect(first, elements);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double c = c_.empty() || stretch != 0 ? 0 : c_[static_cast<std::size_t>(first) + i];
    const double sum = elements[i].value + c, magnitude = elements[i].magnitude + std::fabs(c);
    const double positive = (magnitude + sum) / 2, negative = (magnitude - sum) / 2;
    IntegerSum& to = sums[i];
    to.value = to.low = to.high = in_range(sum);
    to.magnitude = magnitude;
    if (overflow_ == IntegerOverflow::wrap) continue;
    // A sum that has been at an end ends where the terms of the other sign take it at most.
    if (positive > greatest_int32) to.low = std::min(to.low, std::max(least_int32, greatest_int32 - negative));
    if (-negative < least_int32) to.high = std::max(to.high, std::min(greatest_int32, least_int32 + positive));
  }
}

std::string IntegerSums::words() const {
  return overflow_ == IntegerOverflow::wrap ? "exact sums in int32, which wrap around beyond its range"
                                            : "exact sums in int32, which saturate beyond its range";
}

}  // namespace ulpscope::verify

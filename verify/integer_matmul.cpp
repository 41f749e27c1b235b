// SPDX-License-Identifier: Apache-2.0
// Float64 sums of integers, which are exact up to 2^53, put into the range of int32.
#include "verify/integer_matmul.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "products/shape.hpp"
#include "verify/matmul.hpp"

namespace ulpscope::verify {
namespace {

constexpr double least = -0x1p31, greatest = 0x1p31 - 1;
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

class IntegerMatmul final : public Expectation {
 public:
  IntegerMatmul(const products::Product& product, IntegerOverflow overflow)
      : sums_(sums_of_products(product)), overflow_(overflow) {
    integers_of(product.a.input.tensor, -most_operand, most_operand);
    integers_of(product.b.input.tensor, -most_operand, most_operand);
    const auto shape = products::matmul_shape(product.a.input, product.b.input);
    if (static_cast<double>(shape.k) * most_operand * most_operand + 0x1p31 > most_exact)
      throw Error(fmt::format("--acc int32: sums of {} products are not judged; 2^20 are", shape.k));
    if (!product.c) return;
    const std::vector<double> c = integers_of(*product.c, least, greatest);
    for (const std::size_t i : products::broadcast_indices("C " + product.c->label, product.c->shape, shape.d))
      c_.push_back(c[i]);
  }

  std::vector<std::uint64_t> shape() const override { return sums_->shape(); }
  emu::Format out() const override { return int32_values; }
  std::string bound() const override {
    return overflow_ == IntegerOverflow::wrap ? "exact sums in int32, which wrap around beyond its range"
                                              : "exact sums in int32, which saturate beyond its range";
  }
  std::string refusal() const override { return {}; }
  void expect(std::uint64_t first, std::span<Expected> elements) const override {
    sums_->expect(first, elements);
    for (Expected& element : elements) {
      const Parts parts = parts_of(element, first++);
      const double value = in_range(parts.positive - parts.negative);
      element = {.value = value, .magnitude = parts.positive + parts.negative};
    }
  }
  Precise precise(std::uint64_t index) const override {
    Expected element;
    expect(index, std::span(&element, 1));
    return {element.value, 0, element.value};
  }
  std::string diagnosis(std::span<const std::uint64_t> indices, std::span<const double> outputs,
                        const LastRounding& last) const override {
    return c_.empty() ? sums_->diagnosis(indices, outputs, last) : std::string();
  }

  /// A sum that has been at an end ends where the terms of the other sign take it at most.
  bool admits(std::uint64_t index, double output) const override {
    if (overflow_ == IntegerOverflow::wrap || !(output >= least && output <= greatest)) return false;
    Expected element;
    sums_->expect(index, std::span(&element, 1));
    const Parts parts = parts_of(element, index);
    double low = in_range(parts.positive - parts.negative), high = low;
    if (parts.positive > greatest) low = std::min(low, std::max(least, greatest - parts.negative));
    if (-parts.negative < least) high = std::max(high, std::min(greatest, least + parts.positive));
    return low <= output && output <= high;
  }

 private:
  /// Sums of the terms of either sign.
  struct Parts {
    double positive, negative;
  };
  Parts parts_of(const Expected& element, std::uint64_t index) const {
    const double c = c_.empty() ? 0 : c_[static_cast<std::size_t>(index)];
    const double sum = element.value + c, size = element.magnitude + std::fabs(c);
    return {(size + sum) / 2, (size - sum) / 2};
  }
  double in_range(double sum) const {
    if (overflow_ == IntegerOverflow::saturate) return std::clamp(sum, least, greatest);
    return sum - 0x1p32 * std::floor((sum - least) * 0x1p-32);
  }
  /// Without C, which need not be a number of float32.
  static std::unique_ptr<Expectation> sums_of_products(const products::Product& product) {
    const products::Product bare{
        .a = product.a, .b = product.b, .acc = product.acc, .out = product.out, .beta = {}, .threads = product.threads};
    return expect_matmul(bare, {});
  }

  std::unique_ptr<Expectation> sums_;  ///< exact: integers below 2^53
  IntegerOverflow overflow_;
  std::vector<double> c_;
};

void refuse(bool given, const char* option) {
  if (given) throw Error(std::string(option) + ": --acc int32 judges the sums themselves; leave it out");
}

}  // namespace

std::string output_name(emu::Format format) { return format == int32_values ? "int32" : emu::format_name(format); }

std::string output_code(emu::Format format, double value) {
  if (format != int32_values) return emu::hex_code(format, emu::encode(format, value));
  return fmt::format("{:08x}", static_cast<std::uint32_t>(static_cast<std::int64_t>(value)));
}

std::unique_ptr<Expectation> expect_integer_matmul(const products::Product& product, IntegerOverflow overflow) {
  return std::make_unique<IntegerMatmul>(product, overflow);
}

products::Product integer_product(const products::ProductRequest& request) {
  refuse(!request.in.empty(), "--in");
  refuse(!request.out.empty() && request.out != "int32", "--out");
  refuse(request.alpha != 1, "--alpha");
  refuse(request.beta.has_value(), "--beta");
  refuse(!request.scale_a.empty(), "--scale-a");
  refuse(!request.scale_b.empty(), "--scale-b");
  products::ProductRequest exact = request;
  exact.in = {"float32"};
  exact.acc = "float32", exact.out.clear();
  products::Product product = products::resolve(exact, products::open(exact), "");
  product.out = int32_values;
  return product;
}

}  // namespace ulpscope::verify

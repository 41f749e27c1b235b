// SPDX-License-Identifier: Apache-2.0
// Sums in int32 as outputs, and what a request for them means.
#include "verify/integer_matmul.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "products/shape.hpp"
#include "verify/check_request.hpp"
#include "verify/scaled_integers.hpp"

namespace ulpscope::verify {
namespace {

class IntegerMatmul final : public Expectation {
 public:
  IntegerMatmul(const products::Product& product, IntegerOverflow overflow)
      : sums_(product, overflow, std::max<std::size_t>(products::matmul_shape(product.a.input, product.b.input).k, 1)) {}

  std::vector<std::uint64_t> shape() const override { return sums_.shape(); }
  emu::Format out() const override { return int32_values; }
  std::string bound() const override { return sums_.words(); }
  std::string refusal() const override { return {}; }
  void expect(std::uint64_t first, std::span<Expected> elements) const override {
    std::vector<IntegerSum> sums(elements.size());
    sums_.sums(0, first, sums);
    for (std::size_t i = 0; i < sums.size(); ++i) elements[i] = {.value = sums[i].value, .magnitude = sums[i].magnitude};
  }
  Precise precise(std::uint64_t index) const override {
    const double value = sum_of(index).value;
    return {value, 0, value};
  }
  std::string diagnosis(std::span<const std::uint64_t> indices, std::span<const double> outputs,
                        const LastRounding& last) const override {
    return sums_.start_from_c() ? std::string() : sums_.of_products(0).diagnosis(indices, outputs, last);
  }
  /// Sums that saturate in another order.
  bool admits(std::uint64_t index, double output) const override {
    const IntegerSum sum = sum_of(index);
    return sum.low <= output && output <= sum.high;
  }

 private:
  IntegerSum sum_of(std::uint64_t index) const {
    IntegerSum sum;
    sums_.sums(0, index, std::span(&sum, 1));
    return sum;
  }

  IntegerSums sums_;
};

}  // namespace

std::string output_name(emu::Format format) { return format == int32_values ? "int32" : emu::format_name(format); }

std::string output_code(emu::Format format, double value) {
  if (format != int32_values) return emu::hex_code(format, emu::encode(format, value));
  return fmt::format("{:08x}", static_cast<std::uint32_t>(static_cast<std::int64_t>(value)));
}

std::unique_ptr<Expectation> expect_integer_matmul(const products::Product& product, IntegerOverflow overflow) {
  if (product.out != int32_values) return expect_scaled_integers(product, overflow);
  return std::make_unique<IntegerMatmul>(product, overflow);
}

products::ProductRequest integers_as_floats(const products::ProductRequest& request) {
  if (!request.in.empty()) throw Error("--in: --acc int32 takes the integers as they are; leave it out");
  products::ProductRequest floats = request;
  floats.in = {"float32"}, floats.acc = "float32";
  if (request.out == "int32") floats.out.clear();
  return floats;
}

emu::Format out_of_integers(const products::ProductRequest& request, const products::Product& product,
                            const tensors::Tensor& output) {
  const bool is_scaled = product.a.scales || product.b.scales || product.alpha != 1 || product.beta;
  if (request.out == "int32") {
    if (is_scaled)
      throw Error("--out int32: scales, --alpha and --beta make numbers of float32 of the sums; say another format");
    return int32_values;
  }
  if (!request.out.empty()) return product.out;
  if (is_scaled) return format_of_output(output, std::nullopt);
  const bool holds_sums = !output.dtype.format || output.dtype.format->precision() >= int32_values.precision();
  return holds_sums ? int32_values : *output.dtype.format;
}

}  // namespace ulpscope::verify

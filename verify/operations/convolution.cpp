// SPDX-License-Identifier: Apache-2.0
// Each output as a sum of products over the kernel's places.
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "emu/stop.hpp"
#include "verify/operations/convolution_shape.hpp"
#include "verify/operations/product_sum.hpp"
#include "verify/operations/products.hpp"

namespace ulpscope::verify {
namespace {

class ConvolutionExpectation final : public Expectation {
 public:
  ConvolutionExpectation(Convolution operation, ConvolutionShape shape) : op_(std::move(operation)), shape_(std::move(shape)) {
    require_judged(op_.last);
  }

  std::vector<std::uint64_t> shape() const override { return shape_.out; }
  emu::Format out() const override { return op_.last.out; }
  std::string bound() const override { return words_of_sum(op_.arithmetic, terms()); }
  std::string refusal() const override {
    if (sum_relative(op_.arithmetic, terms()) < 1) return {};
    return bound() + " is 1 or more: a wider accumulator or a smaller depth of the sums makes it worth something";
  }
  void expect(std::uint64_t first, std::span<Expected> elements) const override {
    for (Expected& element : elements) {
      emu::stop_if_asked();
      element = over<ProductSum>(first++).expected(op_.arithmetic);
    }
  }
  Precise precise(std::uint64_t index) const override { return over<ExactProductSum>(index).precise(op_.last); }
  /// A zero of the padding times a weight that is infinite or NaN is NaN, where a kernel multiplies padding too.
  bool admits(std::uint64_t index, double output) const override {
    if (!std::isnan(output)) return false;
    const Output at = output_at(index);
    const auto& k = shape_.kernel;
    const std::uint64_t places = k[0] * k[1] * k[2], first = at.channel * shape_.group_channels * places;
    for (std::uint64_t i = 0; i < shape_.group_channels * places; ++i) {
      if (std::isfinite(op_.weight.elements[static_cast<std::size_t>(first + i)])) continue;
      const std::uint64_t of_plane = i % places;
      const ConvolutionShape::Space tap{of_plane / (k[1] * k[2]), of_plane / k[2] % k[1], of_plane % k[2]};
      for (std::size_t axis = 0; axis < 3; ++axis)
        if (!source(axis, at.place[axis], tap[axis])) return true;
    }
    return false;
  }

 private:
  std::uint64_t terms() const {
    return shape_.group_channels * shape_.kernel[0] * shape_.kernel[1] * shape_.kernel[2] + (op_.bias ? 1 : 0);
  }

  /// Where a place of the kernel looks, if not outside.
  std::optional<std::uint64_t> source(std::size_t axis, std::uint64_t place, std::uint64_t k) const {
    const std::uint64_t shifted = place * shape_.stride[axis] + k * shape_.dilation[axis];
    if (shifted < shape_.padding[axis] || shifted - shape_.padding[axis] >= shape_.in[axis]) return std::nullopt;
    return shifted - shape_.padding[axis];
  }

  /// Which output an element is.
  struct Output {
    ConvolutionShape::Space place;
    std::uint64_t channel, image;
  };
  Output output_at(std::uint64_t index) const {
    ConvolutionShape::Space place{};
    for (std::size_t axis = 3; axis-- > 0; index /= shape_.places[axis]) place[axis] = index % shape_.places[axis];
    return {place, index % shape_.out_channels, index / shape_.out_channels};
  }

  template <class Accumulator>
  Accumulator over(std::uint64_t index) const {
    const auto [place, channel, image] = output_at(index);
    const std::uint64_t group = channel / (shape_.out_channels / shape_.groups);
    Accumulator sum;
    for (std::uint64_t c = 0; c < shape_.group_channels; ++c) {
      const std::uint64_t in = image * shape_.in_channels + group * shape_.group_channels + c;
      add_plane(sum, in, channel * shape_.group_channels + c, place);
    }
    if (op_.bias) sum.add(op_.bias->elements[static_cast<std::size_t>(channel)], 1.0F);
    return sum;
  }

  template <class Accumulator>
  void add_plane(Accumulator& sum, std::uint64_t in, std::uint64_t weights, const ConvolutionShape::Space& place) const {
    const auto& k = shape_.kernel;
    for (std::uint64_t i = 0; i < k[0]; ++i) {
      const auto x0 = source(0, place[0], i);
      for (std::uint64_t j = 0; x0 && j < k[1]; ++j) {
        const auto x1 = source(1, place[1], j);
        for (std::uint64_t l = 0; x1 && l < k[2]; ++l) {
          const auto x2 = source(2, place[2], l);
          if (!x2) continue;
          const std::uint64_t at = ((in * shape_.in[0] + *x0) * shape_.in[1] + *x1) * shape_.in[2] + *x2;
          const std::uint64_t weight = ((weights * k[0] + i) * k[1] + j) * k[2] + l;
          sum.add(op_.x.elements[static_cast<std::size_t>(at)], op_.weight.elements[static_cast<std::size_t>(weight)]);
        }
      }
    }
  }

  Convolution op_;
  ConvolutionShape shape_;
};

}  // namespace

std::unique_ptr<Expectation> expect_convolution(Convolution operation) {
  ConvolutionShape shape = convolution_shape(operation);
  return std::make_unique<ConvolutionExpectation>(std::move(operation), std::move(shape));
}

}  // namespace ulpscope::verify

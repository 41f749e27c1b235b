// SPDX-License-Identifier: Apache-2.0
// The engine's result as an expectation with no allowance; parts of K in any order where asked for.
#include "verify/engine_output.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "verify/diagnosis.hpp"

namespace ulpscope::verify {
namespace {

class EngineOutput final : public Expectation {
 public:
  EngineOutput(const products::Product& problem, std::string words, emu::Policy overflow)
      : problem_(problem), d_(products::multiply(problem)), words_(std::move(words)), overflow_(overflow) {
    if (overflow == emu::Policy::saturating && !problem.out.has_infinity()) saturate_nans();
  }

  std::vector<std::uint64_t> shape() const override { return d_.shape; }
  emu::Format out() const override { return problem_.out; }
  std::string bound() const override { return words_; }
  std::string refusal() const override { return {}; }
  bool is_bitwise() const override { return true; }

  void expect(std::uint64_t first, std::span<Expected> elements) const override {
    std::vector<double> values(elements.size());
    d_.source->read(first, std::span(values));
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = {.value = values[i], .magnitude = std::fabs(values[i])};
  }
  Precise precise(std::uint64_t index) const override {
    double value = 0;
    d_.source->read(index, std::span(&value, 1));
    return {value, 0, value};
  }
  /// The product is computed once more, unless it is large.
  std::string diagnosis(std::span<const std::uint64_t> indices, std::span<const double> outputs,
                        const LastRounding& last) const override {
    constexpr std::uint64_t most_products = std::uint64_t{1} << 30;
    if (d_.count() > most_products / std::max<std::size_t>(products::matmul_shape(problem_.a.input, problem_.b.input).k, 1))
      return {};
    const auto of_engine = [this](const products::Product& other) {
      return std::make_unique<EngineOutput>(other, "", overflow_);
    };
    return diagnosis_of_cut_inputs(problem_, of_engine, indices, outputs, last);
  }

 private:
  /// Without infinity an overflow is a NaN, which does not say of which sign. The result before the last rounding does.
  void saturate_nans() {
    std::vector<double> values(static_cast<std::size_t>(d_.count()));
    d_.source->read(0, std::span(values));
    if (std::none_of(values.begin(), values.end(), [](double x) { return std::isnan(x); })) return;
    std::vector<double> exact(values.size());
    products::multiply(products::unrounded(problem_)).source->read(0, std::span(exact));
    for (std::size_t i = 0; i < values.size(); ++i)
      if (std::isnan(values[i])) values[i] = emu::round_to(problem_.out, exact[i], {.policy = overflow_}).value;
    d_ = tensors::from_values(d_.label, d_.shape, std::move(values));
  }

  products::Product problem_;
  tensors::Tensor d_;
  std::string words_;
  emu::Policy overflow_;
};

/// Adds the parts of a split K in every order.
class AnyOrder final : public Expectation {
 public:
  AnyOrder(const products::Product& problem, std::string words, emu::Policy overflow)
      : ascending_(problem, std::move(words), overflow), problem_(problem), overflow_(overflow) {
    for (std::size_t part = 0; part < problem.split_k; ++part) parts_.push_back(part_of(part));
    if (problem.c) load_c();
  }

  std::vector<std::uint64_t> shape() const override { return ascending_.shape(); }
  emu::Format out() const override { return ascending_.out(); }
  std::string bound() const override { return ascending_.bound() + ", parts added in any order"; }
  std::string refusal() const override { return {}; }
  bool is_bitwise() const override { return true; }
  void expect(std::uint64_t first, std::span<Expected> elements) const override { ascending_.expect(first, elements); }
  Precise precise(std::uint64_t index) const override { return ascending_.precise(index); }
  std::string diagnosis(std::span<const std::uint64_t> indices, std::span<const double> outputs,
                        const LastRounding& last) const override {
    return ascending_.diagnosis(indices, outputs, last);
  }

  bool admits(std::uint64_t index, double output) const override {
    std::vector<float> parts(parts_.size());
    for (std::size_t p = 0; p < parts_.size(); ++p) parts_[p].source->read(index, std::span(&parts[p], 1));
    const auto less = [](float x, float y) { return std::isnan(y) ? !std::isnan(x) : x < y; };  // NaN comes last
    std::sort(parts.begin(), parts.end(), less);
    const float c = c_.empty() ? 0 : c_[static_cast<std::size_t>(index)];
    do {
      float sum = problem_.beta ? 0 : c;
      for (std::size_t p = 0; p < parts_.size(); ++p) sum += parts[p];
      const double d = epilogue(sum, c);
      if (std::isnan(d) ? std::isnan(output) : d == output && std::signbit(d) == std::signbit(output)) return true;
    } while (std::next_permutation(parts.begin(), parts.end(), less));
    return false;
  }

 private:
  /// The chain over one part alone.
  tensors::Tensor part_of(std::size_t part) const {
    products::Product config = problem_;
    const std::size_t k = products::matmul_shape(config.a.input, config.b.input).k, length = k / config.split_k;
    config.a.input = columns_of(config.a.input, part * length, length);
    config.b.input = rows_of(config.b.input, part * length, length);
    config.c.reset(), config.beta.reset();
    config.alpha = 1, config.split_k = 1, config.out = emu::float32;
    return products::multiply(config);
  }

  /// Elements of dimension `axis` from `first` on, `count` of them.
  static tensors::Tensor slice(const tensors::Tensor& tensor, std::size_t axis, std::size_t first, std::size_t count) {
    std::uint64_t inner = 1, outer = 1;
    for (std::size_t i = 0; i < axis; ++i) outer *= tensor.shape[i];
    for (std::size_t i = axis + 1; i < tensor.shape.size(); ++i) inner *= tensor.shape[i];
    std::vector<float> values(static_cast<std::size_t>(outer * count * inner));
    for (std::uint64_t o = 0; o < outer; ++o)
      tensor.source->read(
          (o * tensor.shape[axis] + first) * inner,
          std::span(values).subspan(static_cast<std::size_t>(o * count * inner), static_cast<std::size_t>(count * inner)));
    std::vector<std::uint64_t> shape = tensor.shape;
    shape[axis] = count;
    return tensors::from_values(tensor.label, shape, std::move(values));
  }
  static products::MatmulInput columns_of(const products::MatmulInput& a, std::size_t first, std::size_t count) {
    const std::size_t last = a.tensor.shape.size() - 1;
    return {slice(a.tensor, a.transposed && last > 0 ? last - 1 : last, first, count), a.transposed};
  }
  static products::MatmulInput rows_of(const products::MatmulInput& b, std::size_t first, std::size_t count) {
    const std::size_t last = b.tensor.shape.size() - 1;
    return {slice(b.tensor, b.transposed || last == 0 ? last : last - 1, first, count), b.transposed};
  }

  void load_c() {
    products::RoundedElements counts;
    const auto values = products::rounded_elements<float>(*problem_.c, {problem_.acc}, counts);
    for (const std::size_t i : products::broadcast_indices("C " + problem_.c->label, problem_.c->shape, shape()))
      c_.push_back(values[i]);
  }

  double epilogue(float sum, float c) const {
    float d = static_cast<float>(problem_.alpha) * sum;
    if (problem_.beta) d = d + static_cast<float>(*problem_.beta) * c;
    return emu::round_to(problem_.out, static_cast<double>(d), {.policy = overflow_}).value;
  }

  EngineOutput ascending_;
  products::Product problem_;
  std::vector<tensors::Tensor> parts_;
  std::vector<float> c_;
  emu::Policy overflow_;
};

std::string words_of(const products::Product& problem) {
  std::string words = "bit for bit against engine " + problem.engine;
  if (problem.promote != 0) words += ", promoted every " + std::to_string(problem.promote) + " products";
  if (problem.split_k != 1) words += ", K split in " + std::to_string(problem.split_k);
  return words;
}

}  // namespace

std::unique_ptr<Expectation> expect_engine(const products::Product& problem, ReductionOrder order, emu::Policy overflow) {
  if (order == ReductionOrder::ascending || problem.split_k == 1)
    return std::make_unique<EngineOutput>(problem, words_of(problem), overflow);
  if (problem.split_k > most_split_in_any_order)
    throw Error("--split-k " + std::to_string(problem.split_k) + " in any order: no more than " +
                std::to_string(most_split_in_any_order) + " parts are tried in all orders");
  if (problem.a.scales || problem.b.scales)
    throw Error("scales: the parts are added in ascending order; leave --reduction-order away");
  if (problem.promote != 0) throw Error("--promote: the parts are added in ascending order; leave --reduction-order away");
  if (!emu::fits_float(problem.acc))
    throw Error("--acc " + emu::format_name(problem.acc) + ": only float32 sums are tried in any order");
  const std::size_t k = products::matmul_shape(problem.a.input, problem.b.input).k;
  const auto engine = products::engine_of(problem);
  const std::size_t step = problem.split_k * static_cast<std::size_t>(std::max(engine.model.products, 1));
  if (k % step != 0)
    throw Error("--split-k " + std::to_string(problem.split_k) + ", K = " + std::to_string(k) +
                ": in any order K must be a multiple of " + std::to_string(step) + ", so that the parts are of one length");
  return std::make_unique<AnyOrder>(problem, words_of(problem), overflow);
}

}  // namespace ulpscope::verify

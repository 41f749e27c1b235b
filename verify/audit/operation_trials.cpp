// SPDX-License-Identifier: Apache-2.0
// Small kernels as one would write them, each of which adds in whatever order it is given.
#include "verify/audit/operation_trials.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/math.hpp"
#include "requests/numbers.hpp"
#include "requests/parts.hpp"
#include "verify/audit/mutant_makers.hpp"
#include "verify/invariance/sum_orders.hpp"
#include "verify/operations/rows.hpp"

namespace ulpscope::verify {
namespace {

/// What numbers are drawn for; beyond those of mutants and of the trials of products.
enum PlainStream : std::uint64_t { of_sum_orders = 200, of_arrangements = 201, of_quotients = 202, of_shuffles = 1000 };

/// A kernel's additions, and how it divides.
struct PlainOrder {
  SumOrder additions;               ///< of a row
  std::vector<std::size_t> places;  ///< where the terms stand; empty: in their order
  bool by_reciprocal = false;       ///< a quotient is a product with the reciprocal

  float sum(std::vector<float> terms) const {
    if (terms.empty()) return 0;
    if (places.empty()) return additions.sum(terms);
    std::vector<float> placed;
    for (const std::size_t place : places) placed.push_back(terms[place]);
    return additions.sum(placed);
  }
  float quotient(float x, float y) const { return by_reciprocal ? x * (1 / y) : x / y; }
};

using PlainRow = std::span<const float>;

/// The first word of an option; none where it is not given, or there is no such option.
std::string word_of(const requests::Fields& fields, const char* name) {
  const requests::Field* const field = fields.find(name);
  return field == nullptr || field->words().empty() ? std::string() : field->words().front();
}

/// The inputs of one check.
struct PlainInputs {
  const OperationSource& source;

  std::optional<Values> operator[](std::string_view role) const {
    const CheckInput* const input = source.input(role);
    if (input == nullptr) return std::nullopt;
    return read_values(input->tensor, products::input_rounding(input->format.value_or(emu::float32)));
  }
  std::string word(const char* field) const { return word_of(source.fields(), field); }
};

float element_or(const std::optional<Values>& values, std::size_t column, float otherwise) {
  return values ? values->elements[column % values->elements.size()] : otherwise;
}

/// The numbers summed for one element: a row, or all.
std::vector<std::vector<float>> summed(const PlainInputs& inputs, const Values& terms) {
  if (inputs.word("axis") == "all") return {terms.elements};
  std::vector<std::vector<float>> rows;
  for (std::uint64_t i = 0; i < terms.rows(); ++i) rows.emplace_back(terms.row(i).begin(), terms.row(i).end());
  return rows;
}

std::vector<float> plain_sums(const PlainInputs& inputs, const Values& terms, const PlainOrder& order) {
  std::vector<float> sums;
  for (std::vector<float>& row : summed(inputs, terms)) sums.push_back(order.sum(std::move(row)));
  return sums;
}

std::vector<float> plain_sum(const PlainInputs& inputs, const PlainOrder& order) {
  return plain_sums(inputs, *inputs["x"], order);
}

std::vector<float> plain_dot(const PlainInputs& inputs, const PlainOrder& order) {
  Values products = *inputs["a"];
  const Values b = *inputs["b"];
  for (std::size_t i = 0; i < products.elements.size(); ++i) products.elements[i] *= b.elements[i];
  return plain_sums(inputs, products, order);
}

/// Calls `compute` with each row of x; what it returns are the rows of the output.
template <class Compute>
std::vector<float> row_by_row(const Values& x, Compute compute) {
  std::vector<float> output;
  output.reserve(x.elements.size());
  for (std::uint64_t i = 0; i < x.rows(); ++i) {
    const std::vector<float> row = compute(x.row(i));
    output.insert(output.end(), row.begin(), row.end());
  }
  return output;
}

std::vector<float> plain_softmax(const PlainInputs& inputs, const PlainOrder& order) {
  const bool safe = inputs.word("fully_masked") == "zero";
  return row_by_row(*inputs["x"], [&](PlainRow x) {
    float greatest = -std::numeric_limits<float>::infinity();
    for (const float each : x) greatest = each > greatest || std::isnan(each) ? each : greatest;
    if (safe && greatest == -std::numeric_limits<float>::infinity()) return std::vector<float>(x.size(), 0.0F);
    std::vector<float> e;
    for (const float each : x) e.push_back(static_cast<float>(emu::exp(static_cast<double>(each - greatest))));
    const float sum = order.sum(e);
    for (float& each : e) each = order.quotient(each, sum);
    return e;
  });
}

std::vector<float> squares_of(PlainRow x, float mean = 0) {
  std::vector<float> squares;
  for (const float each : x) squares.push_back((each - mean) * (each - mean));
  return squares;
}

/// (x - mean) / sqrt(variance + eps) * weight + bias.
std::vector<float> normalized(const PlainInputs& inputs, const PlainOrder& order,
                              const std::function<std::pair<float, float>(PlainRow)>& mean_and_variance) {
  const std::optional<Values> weight = inputs["weight"], bias = inputs["bias"];
  const auto eps = static_cast<float>(requests::real_of(inputs.word("eps")));
  return row_by_row(*inputs["x"], [&](PlainRow x) {
    const auto [mean, variance] = mean_and_variance(x);
    const float root = std::sqrt(variance + eps);
    std::vector<float> y;
    for (std::size_t i = 0; i < x.size(); ++i)
      y.push_back(order.quotient(x[i] - mean, root) * element_or(weight, i, 1) + element_or(bias, i, 0));
    return y;
  });
}

std::vector<float> plain_rms_norm(const PlainInputs& inputs, const PlainOrder& order) {
  return normalized(inputs, order,
                    [&](PlainRow x) { return std::pair(0.0F, order.sum(squares_of(x)) / static_cast<float>(x.size())); });
}

std::vector<float> plain_layer_norm(const PlainInputs& inputs, const PlainOrder& order) {
  const bool one_pass = inputs.word("variance") == "one_pass";
  return normalized(inputs, order, [&](PlainRow x) {
    const auto count = static_cast<float>(x.size());
    const float mean = order.sum({x.begin(), x.end()}) / count;
    if (!one_pass) return std::pair(mean, order.sum(squares_of(x, mean)) / count);
    return std::pair(mean, std::max(order.sum(squares_of(x)) / count - mean * mean, 0.0F));
  });
}

struct PlainKernel {
  std::string_view operation;
  std::vector<float> (*compute)(const PlainInputs& inputs, const PlainOrder& order);
};
constexpr std::array plain_kernels{PlainKernel{"softmax", plain_softmax}, PlainKernel{"layer_norm", plain_layer_norm},
                                   PlainKernel{"rms_norm", plain_rms_norm}, PlainKernel{"sum", plain_sum},
                                   PlainKernel{"dot", plain_dot}};

const PlainKernel* kernel_of(std::string_view operation) {
  const auto found = std::ranges::find(plain_kernels, operation, &PlainKernel::operation);
  return found == plain_kernels.end() ? nullptr : &*found;
}

/// Additions of one element.
std::size_t terms_of(const OperationSource& source) {
  const CheckInput& first = *source.operands().front();
  const requests::Fields fields = source.fields();
  const requests::Field* const axis = fields.find("axis");
  if (axis != nullptr && axis->words().front() == "all") return static_cast<std::size_t>(first.tensor.count());
  return first.tensor.shape.empty() ? 1 : static_cast<std::size_t>(first.tensor.shape.back());
}

/// The places of the terms: in their order, from the last to the first, or in any (Fisher and Yates; Durstenfeld, CACM 7
/// (1964), 420).
std::vector<std::size_t> drawn_places(const OperationSource& source, std::size_t index, std::size_t terms, std::string& words) {
  const std::uint64_t arrangement = drawn(source, of_arrangements, index, 3);
  if (arrangement == 0) return {};
  std::vector<std::size_t> places(terms);
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::reverse(places.begin(), places.end());
  words += arrangement == 1 ? ", from the last term to the first" : ", the terms in another order";
  if (arrangement == 1) return places;
  for (std::size_t i = places.size(); i > 1; --i)
    std::swap(places[i - 1], places[static_cast<std::size_t>(drawn(source, of_shuffles + index, i, i))]);
  return places;
}

}  // namespace

bool has_plain_trials(const std::string& operation) { return kernel_of(operation) != nullptr; }

std::string without_trials(const OperationSource& source) {
  if (!has_plain_trials(source.name())) return "for this operation";
  const requests::Fields fields = source.fields();
  const auto word = [&](const char* name) { return word_of(fields, name); };
  const auto with = [&](const char* name) { return "with " + fields.find(name)->option() + " " + word(name); };
  if (requests::parse_format(word("acc")) != emu::float32) return with("acc");
  if (word("acc_rounding") != "nearest_even") return with("acc_rounding");
  if (source.check().last.options.rounding == emu::Rounding::stochastic) return with("out_rounding");
  if (!word("sum_depth").empty()) return with("sum_depth");
  if (fields.has("function_ulp") && requests::real_of(word("function_ulp")) < 1) return with("function_ulp");
  for (const char* const rounded_to : {"normalized", "shifted", "exponentials", "sums"})
    if (!word(rounded_to).empty()) return with(rounded_to);
  return {};
}

std::pair<std::vector<double>, std::string> plain_trial(const OperationSource& source, std::size_t index) {
  const std::size_t terms = terms_of(source);
  std::vector<SumOrder> orders = sum_orders(terms);
  PlainOrder order{.additions = orders[static_cast<std::size_t>(drawn(source, of_sum_orders, index, orders.size()))],
                   .places = {},
                   .by_reciprocal = drawn(source, of_quotients, index, 2) == 1};
  std::string words = order.additions.words;
  order.places = drawn_places(source, index, terms, words);
  std::vector<double> output;
  const LastRounding& last = source.check().last;
  for (const float y : kernel_of(source.name())->compute({source}, order))
    output.push_back(emu::round_to(last.out, static_cast<double>(y), last.options).value);
  return {std::move(output), std::move(words)};
}

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// Mutants of operations against plain loops, correct computations against the bounds, and rules that have no verdict.
#include "verify/audit/operation_audit.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "tensors/held.hpp"
#include "verify/audit/bound_rule.hpp"
#include "verify/audit/mutants_of_operation.hpp"
#include "verify/audit/operation_trials.hpp"
#include "verify/exact_output.hpp"
#include "verify/verdict.hpp"

namespace {

using namespace ulpscope;
using Catch::Matchers::ContainsSubstring;
using Doubles = std::vector<double>;
using Shape = std::vector<std::uint64_t>;

/// Whole numbers from -7 to 7, times `scale`.
Doubles smalls(std::size_t count, std::uint64_t seed = 0, double scale = 1) {
  Doubles values(count);
  std::uint64_t state = 2 * seed + 12345;
  for (double& x : values) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    x = scale * (static_cast<double>((state >> 33) % 15) - 7);
  }
  return values;
}

/// Tensors in memory, and a request of their words.
struct Asked {
  std::string operation;
  std::map<std::string, std::vector<std::string>> options;
  std::vector<std::unique_ptr<tensors::Held>> held = {};

  Asked(std::string of, std::map<std::string, std::vector<std::string>> words = {})
      : operation(std::move(of)), options(std::move(words)) {
    options.try_emplace("out", std::vector<std::string>{"float32"});
  }
  Asked& add(const std::string& field, const Shape& shape, const Doubles& values, const std::string& prefix = {}) {
    return add(field, tensors::from_values(field, shape, std::vector<float>(values.begin(), values.end())), prefix);
  }
  Asked& add(const std::string& field, tensors::Tensor tensor, const std::string& prefix = {}) {
    held.push_back(std::make_unique<tensors::Held>(std::move(tensor)));
    options[field].push_back(prefix + held.back()->word());
    return *this;
  }
  verify::OperationAuditRequest request() const {
    verify::OperationAuditRequest request(verify::find_check_operation(operation));
    requests::Fields fields = request.check->fields();
    for (const auto& [name, words] : options) fields.at(name).set(words);
    return request;
  }
  std::unique_ptr<const verify::OperationSource> source(std::uint64_t seed = 0) const {
    const verify::OperationAuditRequest asked = request();
    return std::make_unique<verify::OperationSource>(*asked.operation, *asked.check, seed);
  }
};

/// Truth values, as files of numpy hold them.
class Truths final : public tensors::Source {
 public:
  explicit Truths(Doubles values) : values_(std::move(values)) {}
  void read(std::uint64_t first, std::span<float> out) const override { copy(first, out); }
  void read(std::uint64_t first, std::span<double> out) const override { copy(first, out); }
  void read_codes(std::uint64_t first, std::span<emu::Code> out) const override { copy(first, out); }

 private:
  template <class T>
  void copy(std::uint64_t first, std::span<T> out) const {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(values_[static_cast<std::size_t>(first) + i]);
  }
  Doubles values_;
};

tensors::Tensor integers(const std::string& dtype, const Shape& shape, const Doubles& values) {
  return {dtype, {}, {dtype, {}}, shape, std::make_shared<Truths>(values)};
}

std::vector<std::string> names_of(const verify::OperationSource& source) {
  std::vector<std::string> names;
  for (const verify::OperationMutant& kind : verify::mutants_of(source)) names.push_back(kind.name);
  return names;
}

bool has(const std::vector<std::string>& names, const std::string& name) { return std::ranges::count(names, name) == 1; }

verify::Mutant mutant_named(const verify::OperationSource& source, const std::string& name, double severity = 0) {
  const std::vector<verify::OperationMutant> kinds = verify::mutants_of(source);
  const auto found = std::ranges::find(kinds, name, &verify::MutantName::name);
  REQUIRE(found != kinds.end());
  verify::Mutant mutant = verify::make_mutant(source, *found, severity);
  mutant.kind = nullptr;
  return mutant;
}

Doubles output_named(const verify::OperationSource& source, const std::string& name, double severity = 0) {
  return mutant_named(source, name, severity).output;
}

Doubles rotated(Doubles values, std::size_t by) {
  std::rotate(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(by), values.end());
  return values;
}

Doubles dots(const Doubles& a, const Doubles& b, std::size_t columns, std::size_t dropped = 0) {
  Doubles sums(a.size() / columns);
  for (std::size_t i = 0; i < a.size(); ++i)
    if (i % columns + dropped < columns) sums[i / columns] += a[i] * b[i];
  return sums;
}

/// Elements are float32 results of exact values that are close to `expected`.
void check_close(const Doubles& output, const Doubles& expected) {
  REQUIRE(output.size() == expected.size());
  for (std::size_t i = 0; i < output.size(); ++i) {
    CAPTURE(i, output[i], expected[i]);
    CHECK((std::fabs(output[i] - expected[i]) <= 0x1p-23 * std::fabs(expected[i]) + 1e-12 ||
           (std::isnan(output[i]) && std::isnan(expected[i]))));
  }
}

}  // namespace

TEST_CASE("mutants of inner products are what plain loops give", "[verify]") {
  constexpr std::size_t rows = 6, columns = 40;
  const Doubles a = smalls(rows * columns), b = smalls(rows * columns, 5, 3);  // to 21: 17 has no number in float8_e4m3fn
  Asked asked("dot");
  asked.add("a", {rows, columns}, a).add("b", {rows, columns}, b);
  const auto source = asked.source();
  CHECK(source->correct == dots(a, b, columns));
  CHECK(source->reference == source->correct);
  CHECK((source->rows == rows && source->columns == 1));
  for (const double tail : {1.0, 8.0, 32.0})
    CHECK(output_named(*source, "tail_dropped", tail) == dots(a, b, columns, static_cast<std::size_t>(tail)));
  CHECK_FALSE(mutant_named(*source, "tail_dropped", 64).applicable);
  CHECK(output_named(*source, "stale_output") == dots(a, rotated(b, b.size() / 2 + 1), columns));
  Doubles narrow = b;
  for (double& x : narrow) x = emu::round_to(emu::float8_e4m3fn, x).value;
  CHECK(output_named(*source, "inputs_in_float8_e4m3fn") == dots(a, narrow, columns));
  CHECK(mutant_named(*source, "inputs_in_bfloat16").is_equivalent());
  CHECK_FALSE(mutant_named(*source, "tile_transposed").applicable);
  const Doubles swapped = output_named(*source, "rows_swapped");
  CHECK((swapped != source->correct && std::is_permutation(swapped.begin(), swapped.end(), source->correct.begin())));
}

TEST_CASE("mutants of a norm leave out what they say", "[verify]") {
  constexpr std::size_t rows = 4, columns = 20;
  const Doubles x = smalls(rows * columns, 1, 0x1p-6), w = smalls(columns, 2), b = smalls(columns, 7);
  Asked asked("rms_norm", {{"eps", {"0.015625"}}});
  asked.add("x", {rows, columns}, x).add("weight", {columns}, w).add("bias", {columns}, b);
  const auto norm = [&](const Doubles& weight, const Doubles& bias, double eps) {
    Doubles y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      double squares = 0;
      for (std::size_t j = 0; j < columns; ++j) squares += x[i / columns * columns + j] * x[i / columns * columns + j];
      y[i] = x[i] / std::sqrt(squares / columns + eps) * weight[i % columns] + bias[i % columns];
    }
    return y;
  };
  const auto source = asked.source();
  const Doubles one(columns, 1), none(columns, 0);
  check_close(source->correct, norm(w, b, 0.015625));
  check_close(output_named(*source, "weight_missing"), norm(one, b, 0.015625));
  check_close(output_named(*source, "bias_missing"), norm(w, none, 0.015625));
  check_close(output_named(*source, "weight_shifted"), norm(rotated(w, 1), b, 0.015625));
  check_close(output_named(*source, "bias_shifted"), norm(w, rotated(b, 1), 0.015625));
  check_close(output_named(*source, "eps_missing"), norm(w, b, 0));
  check_close(output_named(*source, "eps_off"), norm(w, b, 0.15625));
  for (const char* const name : {"zeros", "constant_mean", "nan_everywhere", "nan_element", "infinite_element", "stale_output",
                                 "rows_swapped", "tile_transposed", "weight_missing", "bias_missing"})
    CHECK(mutant_named(*source, name).required);
  for (const char* const name : {"weight_shifted", "eps_missing", "eps_off", "out_truncated", "inputs_in_tf32"})
    CHECK_FALSE(mutant_named(*source, name).required);
  CHECK((mutant_named(*source, "scale_off", 5).required && !mutant_named(*source, "scale_off", 2).required));
  CHECK_FALSE(mutant_named(*source, "tail_dropped", 16).required);

  Asked bare("rms_norm");
  bare.add("x", {rows, columns}, x);
  const std::vector<std::string> names = names_of(*bare.source());
  CHECK((!has(names, "weight_missing") && !has(names, "bias_shifted") && has(names, "eps_off")));
}

TEST_CASE("the tail of a row of softmax is hidden, where there is an infinity to hide it", "[verify]") {
  const Doubles x = smalls(3 * 10, 4, 0.5);
  Asked asked("softmax");
  asked.add("x", {3, 10}, x);
  const auto source = asked.source();
  const auto softmax = [&](std::size_t kept) {
    Doubles y(x.size());
    for (std::size_t row = 0; row < 3; ++row) {
      double sum = 0;
      for (std::size_t j = 0; j < kept; ++j) sum += std::exp(x[row * 10 + j]);
      for (std::size_t j = 0; j < kept; ++j) y[row * 10 + j] = std::exp(x[row * 10 + j]) / sum;
    }
    return y;
  };
  check_close(source->correct, softmax(10));
  check_close(output_named(*source, "tail_dropped", 4), softmax(6));
  asked.options["in"] = {"e4m3"};
  CHECK_FALSE(mutant_named(*asked.source(), "tail_dropped", 4).applicable);
}

namespace {

/// softmax(scale Q K^T + mask) V of one head; `sees`: whether a query sees a key.
struct NaiveAttention {
  Doubles q, k, v, mask = {};
  std::size_t queries, keys, depth;
  double scale, cap = 0;
  std::function<bool(std::size_t query, std::size_t key)> sees = [](std::size_t, std::size_t) { return true; };

  Doubles operator()() const {
    Doubles out(queries * depth);
    for (std::size_t i = 0; i < queries; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < keys; ++j) {
        if (!sees(i, j)) continue;
        double score = 0;
        for (std::size_t c = 0; c < depth; ++c) score += scale * q[i * depth + c] * k[j * depth + c];
        if (cap != 0) score = cap * std::tanh(score / cap);
        const double e = std::exp(score + (mask.empty() ? 0 : mask[i * keys + j]));
        sum += e;
        for (std::size_t c = 0; c < depth; ++c) out[i * depth + c] += e * v[j * depth + c];
      }
      for (std::size_t c = 0; c < depth; ++c) out[i * depth + c] /= sum;
    }
    return out;
  }
};

}  // namespace

TEST_CASE("mutants of attention forget the mask, the scale, the cap and the factor of codes", "[verify]") {
  NaiveAttention right{.q = smalls(5 * 8, 1, 0.25),
                       .k = smalls(5 * 8, 6, 0.25),
                       .v = smalls(5 * 8, 11),
                       .mask = smalls(5 * 5, 3, 0.125),
                       .queries = 5,
                       .keys = 5,
                       .depth = 8,
                       .scale = 0.5 / std::sqrt(8.0),
                       .cap = 1};
  right.sees = [](std::size_t query, std::size_t key) { return key <= query; };
  Asked asked("attention", {{"q_descale", {"0.5"}}, {"softcap", {"1"}}, {"causal", {"top_left"}}});
  asked.add("q", {5, 8}, right.q).add("k", {5, 8}, right.k).add("v", {5, 8}, right.v).add("mask", {5, 5}, right.mask);
  const auto source = asked.source();
  check_close(source->correct, right());
  const auto changed = [&](auto change) {
    NaiveAttention wrong = right;
    change(wrong);
    return wrong();
  };
  check_close(output_named(*source, "mask_missing"), changed([](NaiveAttention& a) { a.mask.clear(); }));
  check_close(output_named(*source, "mask_shifted"), changed([](NaiveAttention& a) { a.mask = rotated(a.mask, 1); }));
  check_close(output_named(*source, "q_descale_missing"), changed([](NaiveAttention& a) { a.scale *= 2; }));
  check_close(output_named(*source, "scale_missing"), changed([](NaiveAttention& a) { a.scale = 0.5; }));
  check_close(output_named(*source, "softcap_missing"), changed([](NaiveAttention& a) { a.cap = 0; }));
  check_close(output_named(*source, "causal_off"),
              changed([](NaiveAttention& a) { a.sees = [](std::size_t query, std::size_t key) { return key <= query + 1; }; }));
  check_close(output_named(*source, "stale_output"), changed([](NaiveAttention& a) { a.v = rotated(a.v, 21); }));
  CHECK((mutant_named(*source, "mask_missing").required && mutant_named(*source, "q_descale_missing").required));
  CHECK_FALSE(has(names_of(*source), "q_descale_shifted"));  // there is one number
}

TEST_CASE("a diagonal in the corner that a window does not have cannot be one key off", "[verify]") {
  Asked asked("attention", {{"causal", {"top_left"}}});
  asked.add("q", {3, 4}, smalls(12)).add("k", {5, 4}, smalls(20, 1)).add("v", {5, 4}, smalls(20, 2));
  CHECK_FALSE(mutant_named(*asked.source(), "causal_off").applicable);
  asked.options["causal"] = {"bottom_right"};
  asked.options["window"] = {"1,0"};
  NaiveAttention wrong{
      .q = smalls(12), .k = smalls(20, 1), .v = smalls(20, 2), .queries = 3, .keys = 5, .depth = 4, .scale = 0.5};
  wrong.sees = [](std::size_t query, std::size_t key) { return key + 1 >= query + 2 && key <= query + 3; };
  check_close(output_named(*asked.source(), "causal_off"), wrong());
  asked.options["causal"] = {"none"};
  CHECK_FALSE(has(names_of(*asked.source()), "causal_off"));
}

TEST_CASE("truth values and whole numbers are left out, and never shifted or rounded", "[verify]") {
  Doubles truths(25, 1);
  for (std::size_t i = 0; i < 25; i += 3) truths[i] = 0;
  Asked masked("attention");
  masked.add("q", {5, 8}, smalls(40)).add("k", {5, 8}, smalls(40, 1)).add("v", {5, 8}, smalls(40, 2));
  masked.add("mask", integers("bool", {5, 5}, truths));
  const std::vector<std::string> names = names_of(*masked.source());
  CHECK((has(names, "mask_missing") && !has(names, "mask_shifted")));
  NaiveAttention plain{.q = smalls(40),
                       .k = smalls(40, 1),
                       .v = smalls(40, 2),
                       .queries = 5,
                       .keys = 5,
                       .depth = 8,
                       .scale = 1 / std::sqrt(8.0)};
  check_close(output_named(*masked.source(), "mask_missing"), plain());

  Asked padded("attention");
  padded.add("q", {2, 5, 8}, smalls(80)).add("k", {2, 5, 8}, smalls(80, 1)).add("v", {2, 5, 8}, smalls(80, 2));
  padded.add("key_lengths", {2}, {3, 5});  // of floats
  const std::vector<std::string> of_padded = names_of(*padded.source());
  CHECK((has(of_padded, "key_lengths_missing") && !has(of_padded, "key_lengths_shifted")));
}

TEST_CASE("experts: C, scales, and rows in no group that stay as they are", "[verify]") {
  const Doubles a = smalls(7 * 6), b = smalls(2 * 6 * 4, 3), c = smalls(4, 9, 100);
  const Doubles group{0, 1, -1, 1, 0, -1, 1};
  Asked asked("grouped_matmul", {{"beta", {"2"}}, {"scale_b", {"0.5"}}});
  asked.add("a", {7, 6}, a).add("b", {2, 6, 4}, b).add("c", {4}, c);
  asked.add("group_of_row", integers("int32", {7}, group));
  const auto source = asked.source();
  const auto multiplied = [&](double scale, double beta, const Doubles& bs, std::size_t kept = 6) {
    Doubles d(7 * 4);
    for (std::size_t row = 0; row < 7; ++row)
      for (std::size_t j = 0; j < 4 && group[row] >= 0; ++j) {
        for (std::size_t k = 0; k < kept; ++k)
          d[row * 4 + j] += scale * a[row * 6 + k] * bs[(static_cast<std::size_t>(group[row]) * 6 + k) * 4 + j];
        d[row * 4 + j] += beta * c[j];
      }
    return d;
  };
  CHECK(source->correct == multiplied(0.5, 2, b));
  CHECK(output_named(*source, "c_missing") == multiplied(0.5, 0, b));
  CHECK(output_named(*source, "scale_b_missing") == multiplied(1, 2, b));
  CHECK(output_named(*source, "tail_dropped", 2) == multiplied(0.5, 2, b, 4));
  CHECK(output_named(*source, "stale_output") == multiplied(0.5, 2, rotated(b, 25)));
  CHECK_FALSE(has(names_of(*source), "group_of_row_missing"));  // there is no product without
  const Doubles noisy = output_named(*source, "noise", 128), nan = output_named(*source, "nan_everywhere");
  for (std::size_t i = 0; i < noisy.size(); ++i) {
    CHECK(std::isnan(nan[i]) == (group[i / 4] >= 0));
    if (group[i / 4] < 0) CHECK(noisy[i] == 0);
  }
}

TEST_CASE("a formula's tensors are all needed, and the last one is stale", "[verify]") {
  const Doubles g = smalls(12), u = smalls(12, 5);
  Asked asked("expr", {{"formula", {"g * u + t"}}, {"let", {"t=3"}}});
  asked.add("input", {3, 4}, g, "g=").add("input", {3, 4}, u, "u=");
  const auto source = asked.source();
  Doubles stale(12);
  for (std::size_t i = 0; i < 12; ++i) stale[i] = g[i] * rotated(u, 7)[i] + 3;
  CHECK(output_named(*source, "stale_output") == stale);
  for (const std::string& name : names_of(*source)) CHECK((!name.ends_with("_missing") || name == "saturation_missing"));
}

TEST_CASE("the correct output is rounded as the kernel declares, and a truncated one toward zero", "[verify]") {
  const Doubles x{1, 0x1p-8, 0, -1, -0x1p-9, -0x1p-30, 3, 0x1p-7, -0x1p-40};  // sums between numbers of bfloat16
  Asked asked("sum", {{"out", {"bf16"}}});
  asked.add("x", {3, 3}, x);
  const auto nearest = asked.source();
  CHECK(nearest->correct == Doubles{1, -1, 3});
  asked.options["out_rounding"] = {"away_from_zero"};
  const auto error = [&] { return asked.source(); };
  CHECK_THROWS_AS(error(), Error);
  asked.options["out_rounding"] = {"upward"};
  const auto upward = asked.source();
  CHECK(upward->correct == Doubles{1 + 0x1p-7, -1, 3 + 0x1p-6});
  CHECK(output_named(*upward, "out_truncated") == Doubles{1, -1, 3});
  CHECK(mutant_named(*nearest, "out_truncated").is_equivalent());
  asked.options["out_rounding"] = {"downward"};
  CHECK(asked.source()->correct == Doubles{1, -1 - 0x1p-7, 3});
}

TEST_CASE("plain computations in other orders are within the bound, and are not all alike", "[verify]") {
  for (const char* const operation : {"sum", "dot", "softmax", "rms_norm", "layer_norm"}) {
    CAPTURE(operation);
    const bool is_dot = std::string(operation) == "dot", is_norm = std::string(operation).ends_with("norm");
    Asked asked(operation);
    Doubles x(5 * 700), y(5 * 700);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = (is_norm ? 0x1p-8 : 1) * std::sin(static_cast<double>(i * i)), y[i] = std::cos(double(i)) + 0.1;
    asked.add(is_dot ? "a" : "x", {5, 700}, x);
    if (is_dot) asked.add("b", {5, 700}, y);
    if (is_norm)
      asked.add("weight", {700}, Doubles(y.begin(), y.begin() + 700)).add("bias", {700}, Doubles(x.begin(), x.begin() + 700));
    const auto source = asked.source(7);
    REQUIRE(verify::without_trials(*source).empty());
    const verify::RuleJudge bound =
        verify::bound_rule().prepare({source->out, source->check().expectation->shape(), nullptr, &source->check()});
    std::set<std::string> words;
    std::set<Doubles> outputs;
    for (std::size_t i = 0; i < 40; ++i) {
      const auto [output, word] = verify::plain_trial(*source, i);
      CAPTURE(word);
      CHECK(bound(source->reference, output).passes);
      CHECK(output.size() == source->correct.size());
      words.insert(word), outputs.insert(output);
    }
    CHECK((words.size() > 20 && outputs.size() > (is_norm ? 3 : 15)));  // a norm's rows hang on one number each
    CHECK(verify::plain_trial(*source, 3) == verify::plain_trial(*asked.source(7), 3));
    asked.options["in"] = {"bf16"};  // inputs are rounded first
    const auto rounded = asked.source();
    CHECK(verify::bound_rule()
              .prepare({rounded->out, rounded->check().expectation->shape(), nullptr, &rounded->check()})(
                  rounded->reference, verify::plain_trial(*rounded, 0).first)
              .passes);
  }
}

TEST_CASE("plain sums are added in the order that they say", "[verify]") {
  std::vector<float> x(90);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(std::sin(static_cast<double>(i * i)));
  Asked asked("sum");
  asked.add("x", {90}, Doubles(x.begin(), x.end()));
  const auto source = asked.source(1);
  std::map<std::string, std::set<double>> sums;
  for (std::size_t i = 0; i < 1000; ++i) {
    const auto [output, word] = verify::plain_trial(*source, i);
    sums[word].insert(output.front());
  }
  const auto in_order = [](auto first, auto last) {
    float sum = *first;
    while (++first != last) sum += *first;
    return std::set{static_cast<double>(sum)};
  };
  CHECK(sums["in order"] == in_order(x.begin(), x.end()));
  CHECK(sums["in order, from the last term to the first"] == in_order(x.rbegin(), x.rend()));
  CHECK(sums["in order, the terms in another order"].size() > 2);
}

TEST_CASE("other arithmetic than plain float32 is not measured", "[verify]") {
  const auto why = [](const std::string& operation, const std::string& option, const std::string& word) {
    Asked asked(operation, {{option, {word}}});
    if (operation == "elementwise") asked.options["function"] = {"exp"};
    asked.add("x", {2, 8}, smalls(16));
    return verify::without_trials(*asked.source());
  };
  CHECK(why("sum", "acc", "fp32").empty());
  CHECK(why("sum", "acc", "fp16") == "with --acc fp16");
  CHECK(why("sum", "acc_rounding", "toward_zero") == "with --acc-rounding toward_zero");
  CHECK(why("sum", "sum_depth", "4") == "with --sum-depth 4");
  CHECK(why("sum", "out_rounding", "stochastic") == "with --out-rounding stochastic");
  CHECK(why("softmax", "exponentials", "bf16") == "with --exponentials bf16");
  CHECK(why("rms_norm", "normalized", "bf16") == "with --normalized bf16");
  CHECK(why("rms_norm", "function_ulp", "0") == "with --function-ulp 0");
  CHECK(why("elementwise", "function_ulp", "2") == "for this operation");
}

TEST_CASE("the bound rule says of mutants what a check says", "[verify]") {
  Asked asked("layer_norm", {{"out", {"bf16"}}, {"out_flush", {"true"}}});
  asked.add("x", {16, 24}, smalls(16 * 24, 1, 0.37)).add("weight", {24}, smalls(24, 5, 0.1));
  const auto source = asked.source();
  const verify::ResolvedCheck& check = source->check();
  const verify::RuleJudge bound = verify::bound_rule().prepare({source->out, check.expectation->shape(), nullptr, &check});
  CHECK(bound(source->reference, source->correct).passes);
  for (const verify::OperationMutant& kind : verify::mutants_of(*source)) {
    const verify::Mutant mutant = verify::make_mutant(*source, kind, kind.severities.back());
    if (!mutant.applicable) continue;
    CAPTURE(kind.name);
    const tensors::Tensor output = tensors::from_values("o", check.expectation->shape(), mutant.output);
    const verify::Verdict verdict = verify::verify(*check.expectation, output, {.last = check.last, .threads = 1});
    CHECK(bound(source->reference, mutant.output).violations == verdict.wrong());
  }
}

TEST_CASE("an audit of an operation has its own kinds, and says where false alarms are not measured", "[verify]") {
  const auto parse = [](const std::string& word) { return verify::parse_rule(word); };
  const auto audit_of = [&](const Asked& asked, std::vector<std::string> rules) {
    verify::OperationAuditRequest request = asked.request();
    request.rule = std::move(rules);
    return verify::audit(verify::resolve(request, parse));
  };
  Asked sums("sum");
  sums.add("x", {4, 64}, smalls(256));
  const verify::AuditResult of_sums = audit_of(sums, {"bound", "cosine"});
  CHECK(of_sums.not_measured.empty());
  CHECK((of_sums.false_alarms[0].trials == 20 && of_sums.false_alarms[0].alarms == 0));
  CHECK(of_sums.required_that_live(0).empty());
  CHECK_FALSE(of_sums.required_that_live(1).empty());  // a factor of two
  Asked casts("cast", {{"out", {"fp16"}}});
  casts.add("x", {4, 64}, smalls(256, 0, 0.3));
  const verify::AuditResult of_casts = audit_of(casts, {"bitwise"});
  CHECK(of_casts.not_measured == "for this operation");
  CHECK(of_casts.false_alarms[0].trials == 0);
  std::size_t killed = 0;
  for (const verify::AuditedMutant& mutant : of_casts.mutants) killed += mutant.fate(0) == verify::Fate::killed;
  CHECK(killed > 25);
  for (const verify::AuditedMutant& mutant : of_casts.mutants) CHECK(mutant.fate(0) != verify::Fate::lived);
  const reports::Table table = verify::audit_table(of_casts);
  for (const auto& row : table.rows) {
    REQUIRE(row.size() == table.columns.size());
    CHECK((row[row.size() - 1] == reports::Cell(std::string()) && row[row.size() - 2] == reports::Cell(std::string())));
  }
  CHECK(verify::audit_summary(of_casts).rows.size() == of_casts.kinds.size());
  CHECK(std::ranges::none_of(of_casts.kinds, [](const auto& kind) { return kind->name == "tail_dropped"; }));
}

TEST_CASE("rules that ask for what only products have are refused by name", "[verify]") {
  Asked asked("sum");
  asked.add("x", {4, 8}, smalls(32));
  const auto source = asked.source();
  const verify::RuleProblem problem{source->out, {4}, nullptr, &source->check()};
  const auto refused = [&](const std::string& word, const std::string& what) {
    CHECK_THROWS_WITH(verify::parse_rule(word).prepare(problem),
                      ContainsSubstring("rule '" + word + "': asks for " + what + ", which audits of matmul alone have"));
  };
  refused("baseline", "an engine");
  refused("baseline:factor=2*K", "an engine");
  refused("allclose:rtol=1e-6*sqrt(K)", "K");
  CHECK_THROWS_WITH(verify::parse_rule("bitwise or mean_abs:1*K").prepare(problem),
                    ContainsSubstring("'mean_abs:1*K': asks for K"));
  CHECK_THROWS_WITH(asked.add("x", {4, 8}, smalls(32)).source(), ContainsSubstring("give one"));
  Asked empty("softmax");
  empty.add("x", {0, 8}, {});
  CHECK_THROWS_WITH(empty.source(), ContainsSubstring("an empty output has no mutants"));
}

// SPDX-License-Identifier: Apache-2.0
// Mutants of operations against plain loops.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "tests/verify/asked_operations.hpp"
#include "verify/audit/mutants_of_operation.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::audits;

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
  const Doubles x = smalls(30, 4, 0.5);
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
  NaiveAttention right{.q = smalls(40, 1, 0.25),
                       .k = smalls(40, 6, 0.25),
                       .v = smalls(40, 11),
                       .mask = smalls(25, 3, 0.125),
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
  const Doubles a = smalls(42), b = smalls(48, 3), c = smalls(4, 9, 100);
  const Doubles group{0, 1, -1, 1, 0, -1, 1};
  Asked asked("grouped_matmul", {{"beta", {"2"}}, {"scale_b", {"0.5"}}});
  asked.add("a", {7, 6}, a).add("b", {2, 6, 4}, b).add("c", {4}, c);
  asked.add("group_of_row", integers("int32", {7}, group));
  const auto source = asked.source();
  const auto multiplied = [&](double scale, double beta, const Doubles& bs, std::size_t kept = 6) {
    Doubles d(28);
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

// SPDX-License-Identifier: Apache-2.0
// The problem, its exact answer, and caches rounded to narrow formats.
#include "studies/attention/attention.hpp"

#include <algorithm>
#include <cmath>

#include "emu/math.hpp"
#include "studies/accumulation/operands.hpp"
#include "studies/census/round_and_count.hpp"
#include "studies/census/scaling.hpp"
#include "tensors/elements.hpp"

namespace ulpscope::studies {
namespace {

std::vector<float> transposed(const std::vector<float>& values, std::size_t rows, std::size_t columns) {
  std::vector<float> out(values.size());
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) out[j * rows + i] = values[i * columns + j];
  return out;
}

tensors::Tensor tensor_of(const std::vector<float>& values, std::size_t rows, std::size_t columns) {
  const tensors::DType dtype{"float32", emu::float32};
  return {.label = {},
          .name = {},
          .dtype = dtype,
          .shape = {rows, columns},
          .source = tensors::make_source({.bytes = tensors::bytes_in_memory(std::as_bytes(std::span(values)), {}),
                                          .size = values.size() * sizeof(float),
                                          .dtype = dtype,
                                          .layout = {}})};
}

/// A matrix with a row for each token, rounded and scaled back.
std::vector<float> cached(const std::vector<float>& values, std::size_t tokens, emu::Format format, Granularity granularity) {
  if (granularity == Granularity::channel) {
    const std::size_t channels = values.size() / tokens;
    return transposed(cached(transposed(values, tokens, channels), channels, format, Granularity::token), channels, tokens);
  }
  const tensors::Tensor tensor = tensor_of(values, tokens, values.size() / tokens);
  const char* const rule = granularity == Granularity::token ? "row" : granularity == Granularity::tensor ? "amax" : "none";
  const ScaleMap scales(parse_scaling(rule), format, tensor);
  std::vector<double> rounded(values.size());
  round_and_unscale(std::span<const float>(values), 0, format, scales, tensor.dtype, {.policy = emu::Policy::saturating}, 0,
                    std::span(rounded));
  return {rounded.begin(), rounded.end()};
}

double total_variation(const std::vector<double>& p, const std::vector<double>& q, std::size_t rows) {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += std::fabs(p[i] - q[i]);
  return sum / 2 / static_cast<double>(rows);
}

}  // namespace

AttentionProblem draw_attention(const AttentionStudyRequest& request, bool outliers) {
  AttentionProblem problem{.queries = request.queries, .keys = request.keys, .head = request.head, .q = {}, .k = {}, .v = {}};
  const emu::MatrixShape of_keys{request.keys, request.head};
  problem.q = draw_matrix("normal:0,1", {request.queries, request.head}, request.seed);
  problem.k = draw_matrix("normal:0,1", of_keys, request.seed + 1);
  problem.v = draw_matrix("normal:0,1", of_keys, request.seed + 2);
  if (!outliers) return problem;
  for (std::size_t i = 0; i < problem.keys; ++i)
    for (std::size_t c = 0; c < std::min<std::size_t>(request.outliers, problem.head); ++c)
      problem.k[i * problem.head + c] *= static_cast<float>(request.outlier_factor);
  return problem;
}

std::vector<double> probabilities_of(const AttentionProblem& problem) {
  std::vector<double> p = float64_product(problem.q, {problem.queries, problem.head},
                                          transposed(problem.k, problem.keys, problem.head), {problem.head, problem.keys});
  const double root = std::sqrt(static_cast<double>(problem.head));
  for (std::size_t i = 0; i < problem.queries; ++i) {
    const std::span<double> row(&p[i * problem.keys], problem.keys);
    const double most = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (double& x : row) sum += x = emu::exp((x - most) / root);
    for (double& x : row) x /= sum;
  }
  return p;
}

std::vector<double> attention_of(const AttentionProblem& problem, const std::vector<double>& probabilities) {
  std::vector<double> out(problem.queries * problem.head);
  for (std::size_t i = 0; i < problem.queries; ++i)
    for (std::size_t j = 0; j < problem.keys; ++j)
      for (std::size_t c = 0; c < problem.head; ++c)
        out[i * problem.head + c] += probabilities[i * problem.keys + j] * static_cast<double>(problem.v[j * problem.head + c]);
  return out;
}

double relative_distance(const std::vector<double>& x, const std::vector<double>& exact) {
  std::vector<double> differences(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) differences[i] = x[i] - exact[i];
  return frobenius_norm(differences) / frobenius_norm(exact);
}

std::vector<CacheRow> cache_rows(const AttentionProblem& exact, const std::string& keys, emu::Format format) {
  const std::vector<double> p = probabilities_of(exact), o = attention_of(exact, p);
  std::vector<CacheRow> rows;
  for (const Granularity granularity : {Granularity::none, Granularity::tensor, Granularity::token, Granularity::channel}) {
    if (granularity == Granularity::none && format.is_integer()) continue;
    AttentionProblem of_keys = exact, of_both = exact;
    of_keys.k = cached(exact.k, exact.keys, format, granularity);
    of_both.v = cached(exact.v, exact.keys, format, granularity);
    const std::vector<double> p_of_keys = probabilities_of(of_keys);
    const double moved = total_variation(p_of_keys, p, exact.queries);
    rows.push_back({keys, "keys", format, granularity, relative_distance(attention_of(exact, p_of_keys), o), moved});
    rows.push_back({keys, "values", format, granularity, relative_distance(attention_of(of_both, p), o), 0});
    rows.push_back({keys, "both", format, granularity, relative_distance(attention_of(of_both, p_of_keys), o), moved});
  }
  return rows;
}

}  // namespace ulpscope::studies

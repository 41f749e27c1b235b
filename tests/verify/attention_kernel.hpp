// SPDX-License-Identifier: Apache-2.0
// An attention and a kernel in plain loops, with every result rounded. Nothing of verify/ is used to find a result.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "emu/format.hpp"
#include "tests/verify/operations_data.hpp"
#include "verify/operations/attention.hpp"

namespace ulpscope::operations {

struct AttentionProblem {
  std::size_t batch = 1, heads = 2, kv_heads = 2, queries = 5, keys = 7, depth = 16, width = 8;
  std::vector<float> q = {}, k = {}, v = {};
  std::optional<double> scale = {};
  verify::Causal causal = verify::Causal::none;

  bool sees(std::size_t query, std::size_t key) const {
    if (causal == verify::Causal::none) return true;
    return causal == verify::Causal::top_left ? key <= query : key + queries <= query + keys;
  }
  double factor() const { return scale.value_or(1 / std::sqrt(static_cast<double>(depth))); }
  /// Where the keys of a head begin, in rows.
  std::size_t first_key(std::size_t matrix) const {
    return (matrix / heads * kv_heads + matrix % heads * kv_heads / heads) * keys;
  }

  std::unique_ptr<verify::Expectation> expectation(verify::KernelArithmetic arithmetic, emu::Format out,
                                                   std::optional<emu::Format> probabilities = {},
                                                   std::optional<emu::Format> scores = {}) const {
    return verify::expect_attention({.q = values({batch, heads, queries, depth}, q),
                                     .k = values({batch, kv_heads, keys, depth}, k),
                                     .v = values({batch, kv_heads, keys, width}, v),
                                     .scale = scale,
                                     .causal = causal,
                                     .arithmetic = arithmetic,
                                     .scores = scores,
                                     .probabilities = probabilities,
                                     .last = {out}});
  }
};

inline AttentionProblem attention_problem(AttentionProblem p, double size, emu::Format in, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  p.q = normals(random, p.batch * p.heads * p.queries * p.depth, size, in);
  p.k = normals(random, p.batch * p.kv_heads * p.keys * p.depth, size, in);
  p.v = normals(random, p.batch * p.kv_heads * p.keys * p.width, 1, in);
  return p;
}

enum class AttentionStructure { unfused, flash };

/// A kernel with every result rounded to `format`, and its faults.
struct AttentionKernel {
  emu::Format format;
  std::optional<emu::Format> probabilities = {}, scores = {};
  AttentionStructure structure = AttentionStructure::flash;
  std::size_t block = 16;
  std::optional<std::size_t> dropped_key = {};
  std::size_t causal_shift = 0;  ///< keys that a query sees beyond those it should

  float r(float x) const { return as(format, x); }
  float p(float x) const { return probabilities ? as(*probabilities, x) : x; }

  std::vector<float> scores_of(const AttentionProblem& in, std::size_t matrix, std::size_t query) const {
    std::vector<float> s(in.keys);
    for (std::size_t j = 0; j < in.keys; ++j) {
      float sum = 0;
      for (std::size_t d = 0; d < in.depth; ++d)
        sum = r(sum + r(in.q[(matrix * in.queries + query) * in.depth + d] * in.k[(in.first_key(matrix) + j) * in.depth + d]));
      if (scores) sum = as(*scores, sum);
      s[j] = r(sum * r(static_cast<float>(in.factor())));
      const bool seen = in.sees(query, j) || (causal_shift > 0 && j <= query + causal_shift);
      if (!seen || dropped_key == j) s[j] = -infinite;
    }
    return s;
  }

  void unfused(const AttentionProblem& in, std::size_t matrix, const std::vector<float>& s, std::span<float> out) const {
    const float m = *std::max_element(s.begin(), s.end());
    std::vector<float> e(s);
    float sum = 0;
    for (float& x : e) sum = r(sum + (x = r(std::exp(r(x - m)))));
    for (std::size_t c = 0; c < out.size(); ++c) {
      float total = 0;
      for (std::size_t j = s.size(); j-- > 0;)
        total = r(total + r(p(r(e[j] / sum)) * in.v[(in.first_key(matrix) + j) * in.width + c]));
      out[c] = total;
    }
  }

  void flash(const AttentionProblem& in, std::size_t matrix, const std::vector<float>& s, std::span<float> out) const {
    float m = -infinite, sum = 0;
    std::fill(out.begin(), out.end(), 0.0F);
    for (std::size_t first = 0; first < s.size(); first += block) {
      const auto part = std::span(s).subspan(first, std::min(block, s.size() - first));
      const float greatest = std::max(m, *std::max_element(part.begin(), part.end()));
      if (greatest == -infinite) continue;
      const float factor = r(std::exp(r(m - greatest)));
      sum = r(sum * factor);
      for (float& x : out) x = r(x * factor);
      for (std::size_t j = 0; j < part.size(); ++j) {
        const float e = r(std::exp(r(part[j] - greatest)));
        sum = r(sum + e);
        for (std::size_t c = 0; c < out.size(); ++c)
          out[c] = r(out[c] + r(p(e) * in.v[(in.first_key(matrix) + first + j) * in.width + c]));
      }
      m = greatest;
    }
    for (float& x : out) x = r(x / sum);
  }

  std::vector<float> operator()(const AttentionProblem& in, emu::Format last) const {
    std::vector<float> out(in.batch * in.heads * in.queries * in.width);
    for (std::size_t row = 0; row < in.batch * in.heads * in.queries; ++row) {
      const std::size_t matrix = row / in.queries;
      const auto s = scores_of(in, matrix, row % in.queries);
      const auto to = std::span(out).subspan(row * in.width, in.width);
      structure == AttentionStructure::flash ? flash(in, matrix, s, to) : unfused(in, matrix, s, to);
    }
    for (float& x : out) x = as(last, x);
    return out;
  }
};

}  // namespace ulpscope::operations

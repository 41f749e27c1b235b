// SPDX-License-Identifier: Apache-2.0
// Attention as it is served, in plain loops: long double for what is exact, float for a kernel and its faults. Nothing of
// verify/ is used to find a result.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "tests/verify/operations_data.hpp"
#include "verify/operations/attention.hpp"

namespace ulpscope::operations {

/// One sequence: what a query sees of its keys is found element by element.
struct Served {
  std::size_t batch = 2, heads = 4, kv_heads = 2, queries = 5, keys = 9, depth = 8, width = 6;
  std::vector<std::size_t> lengths = {};  ///< of each sequence; empty: all keys
  verify::Causal causal = verify::Causal::none;
  std::optional<long> left = {}, right = {};
  std::optional<double> softcap = {};
  std::vector<float> q = {}, k = {}, v = {};                    ///< (batch, heads, rows, elements)
  std::vector<float> mask = {};                                 ///< (batch, heads, queries, keys); empty: none
  std::vector<float> sinks = {};                                ///< by head; empty: none
  std::vector<float> q_scale = {}, k_scale = {}, v_scale = {};  ///< by row of q, k, v; empty: none

  std::size_t length(std::size_t b) const { return lengths.empty() ? keys : lengths[b]; }
  std::size_t q_row(std::size_t b, std::size_t h, std::size_t i) const { return (b * heads + h) * queries + i; }
  std::size_t k_row(std::size_t b, std::size_t h, std::size_t j) const {
    return (b * kv_heads + h * kv_heads / heads) * keys + j;
  }
  std::size_t rows() const { return batch * heads * queries; }

  bool sees(std::size_t b, std::size_t i, std::size_t j) const {
    const long n = static_cast<long>(length(b)), key = static_cast<long>(j);
    const long from_end = static_cast<long>(queries) - 1 - static_cast<long>(i);
    const long diagonal = causal == verify::Causal::top_left ? static_cast<long>(i) : n - 1 - from_end;
    if (key >= n) return false;
    if (causal != verify::Causal::none && key > diagonal) return false;
    if (left && key < diagonal - *left) return false;
    return !right || key <= diagonal + *right;
  }
  float added(std::size_t b, std::size_t h, std::size_t i, std::size_t j) const {
    return mask.empty() ? 0 : mask[q_row(b, h, i) * keys + j];
  }
};

/// What went wrong in a kernel.
struct Faults {
  bool no_softcap = false, softcap_after_mask = false, no_sink = false, log2_units = false, next_head_descale = false;
  long window_shift = 0;  ///< of both sides
};

/// A row: its elements, then the logarithm of its denominator.
template <class T>
std::vector<T> served_row(const Served& in, std::size_t b, std::size_t h, std::size_t i, const Faults& faults = {}) {
  std::vector<T> scores;
  std::vector<std::size_t> seen;
  Served shifted = in;
  if (shifted.left) *shifted.left += faults.window_shift;
  if (shifted.right) *shifted.right += faults.window_shift;
  const auto of_row = [&](const std::vector<float>& scale, std::size_t row, std::size_t per_head) {
    if (scale.empty()) return T(1);
    return T(scale[faults.next_head_descale ? (row + per_head) % scale.size() : row]);
  };
  const auto cap = [&](T s) { return T(*in.softcap) * std::tanh(s / T(*in.softcap)); };
  for (std::size_t j = 0; j < in.keys; ++j) {
    const float added = in.added(b, h, i, j);
    const bool hidden = std::isinf(added) && !(faults.softcap_after_mask && in.softcap);
    if (hidden || !shifted.sees(b, i, j)) continue;
    T dot = 0;
    for (std::size_t d = 0; d < in.depth; ++d)
      dot += T(in.q[in.q_row(b, h, i) * in.depth + d]) * T(in.k[in.k_row(b, h, j) * in.depth + d]);
    T s = dot * of_row(in.q_scale, in.q_row(b, h, i), in.queries) * of_row(in.k_scale, in.k_row(b, h, j), in.keys) /
          std::sqrt(T(in.depth));
    if (in.softcap && !faults.no_softcap && !faults.softcap_after_mask) s = cap(s);
    s += T(added);
    if (in.softcap && faults.softcap_after_mask) s = cap(s);
    scores.push_back(s);
    seen.push_back(j);
  }
  std::vector<T> out(in.width + 1);
  T most = -std::numeric_limits<T>::infinity(), sum = 0;
  const bool sunk = !in.sinks.empty() && !faults.no_sink;
  for (const T s : scores) most = std::max(most, s);
  if (sunk) most = std::max(most, T(in.sinks[h]));
  for (std::size_t n = 0; n < seen.size(); ++n) {
    const T e = std::exp(scores[n] - most);
    sum += e;
    const std::size_t row = in.k_row(b, h, seen[n]);
    const T scale = of_row(in.v_scale, row, in.keys);
    for (std::size_t c = 0; c < in.width; ++c) out[c] += e * scale * T(in.v[row * in.width + c]);
  }
  if (sunk) sum += std::exp(T(in.sinks[h]) - most);
  if (sum > 0)
    for (std::size_t c = 0; c < in.width; ++c) out[c] /= sum;
  out[in.width] = sum > 0 ? most + std::log(sum) : -std::numeric_limits<T>::infinity();
  if (faults.log2_units) out[in.width] *= T(1.4426950408889634L);
  return out;
}

/// All rows: outputs, and logarithms behind one another.
struct ServedOutput {
  std::vector<float> out, lse;
};
template <class T>
ServedOutput served(const Served& in, const Faults& faults = {}, emu::Format last = emu::float32) {
  ServedOutput all;
  for (std::size_t row = 0; row < in.rows(); ++row) {
    const auto one = served_row<T>(in, row / in.queries / in.heads, row / in.queries % in.heads, row % in.queries, faults);
    for (std::size_t c = 0; c < in.width; ++c) all.out.push_back(as(last, static_cast<float>(one[c])));
    all.lse.push_back(static_cast<float>(one[in.width]));
  }
  return all;
}

/// Normal codes of float8 in the place of whatever there is.
inline void draw(Served& in, std::mt19937_64& random, double size, emu::Format format) {
  in.q = normals(random, in.rows() * in.depth, size, format);
  in.k = normals(random, in.batch * in.kv_heads * in.keys * in.depth, size, format);
  in.v = normals(random, in.batch * in.kv_heads * in.keys * in.width, 1, format);
}

/// The same as it is declared: padded batches, the mask and the factors at full length.
inline verify::Attention declared(const Served& in, emu::Format last = emu::float32) {
  const auto window = [](const std::optional<long>& side) {
    return side ? std::optional<std::uint64_t>(static_cast<std::uint64_t>(*side)) : std::nullopt;
  };
  verify::Attention op{.q = values({in.batch, in.heads, in.queries, in.depth}, in.q),
                       .k = values({in.batch, in.kv_heads, in.keys, in.depth}, in.k),
                       .v = values({in.batch, in.kv_heads, in.keys, in.width}, in.v),
                       .softcap = in.softcap,
                       .causal = in.causal,
                       .window = {window(in.left), window(in.right)},
                       .fully_masked = verify::FullyMasked::zero,
                       .last = {last}};
  if (!in.mask.empty()) op.mask = values({in.batch, in.heads, in.queries, in.keys}, in.mask);
  if (!in.sinks.empty()) op.sinks = values({in.heads}, in.sinks);
  if (!in.q_scale.empty()) op.descales.q = values({in.batch, in.heads, in.queries}, in.q_scale);
  if (!in.k_scale.empty()) op.descales.k = values({in.batch, in.kv_heads, in.keys}, in.k_scale);
  if (!in.v_scale.empty()) op.descales.v = values({in.batch, in.kv_heads, in.keys}, in.v_scale);
  if (!in.lengths.empty()) {
    verify::Integers lengths{{in.batch}, {}};
    for (const std::size_t n : in.lengths) lengths.elements.push_back(static_cast<std::int64_t>(n));
    op.sequences.key_lengths = lengths;
  }
  return op;
}

}  // namespace ulpscope::operations

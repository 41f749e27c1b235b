// SPDX-License-Identifier: Apache-2.0
// Broadcasts a mask, and deals descales and sinks out to rows.
#include "verify/operations/attention_mask.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>

#include "emu/error.hpp"

namespace ulpscope::verify {
namespace {

/// One operand's rows: a sequence has `rows` for each head, as given, of which the first `used` are laid out.
struct ScaledRows {
  const char* option;
  std::uint64_t heads, fewer_heads;  ///< of the operand; of K, where those of Q may be given so
  std::uint64_t rows;                ///< as given; 0: no blocks of rows
};

[[noreturn]] void refuse_descale(const ScaledRows& of, const Values& scale, const AttentionShape& shape) {
  throw Error(fmt::format(
      "{} of shape {}: give one number, ({}) or ({}, {}){}", of.option, words_of_shape(scale.shape), of.heads,
      shape.sequences.size(), of.heads,
      of.rows == 0 ? std::string()
                   : fmt::format(", or ({}, {}, blocks of the {} rows)", shape.sequences.size(), of.heads, of.rows)));
}

/// Rows that share a factor where `count` factors cover `rows`: 1, 128, 64, 32, 16, or what divides them; 0: none of these.
std::uint64_t block_of(std::uint64_t rows, std::uint64_t count) {
  if (count == 0) return 0;
  if (count == 1) return std::max<std::uint64_t>(rows, 1);
  if (count == rows) return 1;
  for (const std::uint64_t block : {128U, 64U, 32U, 16U})
    if ((rows + block - 1) / block == count) return block;
  return rows % count == 0 ? rows / count : 0;
}

/// Finds a row's factor in a descale of one, two or three dimensions.
class DescaleOf {
 public:
  DescaleOf(const ScaledRows& of, const Values& scale, const AttentionShape& shape) : scale_(scale) {
    for (const float x : scale.elements)
      if (!std::isfinite(x)) throw Error(fmt::format("{}: a factor of {}; they are finite", of.option, x));
    if (scale.elements.size() == 1) return;
    const auto& extents = scale.shape;
    const std::uint64_t batch = shape.sequences.size(), given_heads = extents.size() == 1 ? extents[0] : extents[1];
    const bool batched = extents.size() > 1;
    const bool fits = extents.size() <= (of.rows == 0 ? 2U : 3U) && (!batched || extents[0] == 1 || extents[0] == batch) &&
                      (given_heads == 1 || given_heads == of.heads || given_heads == of.fewer_heads);
    if (!fits) refuse_descale(of, scale, shape);
    const std::uint64_t blocks = extents.size() == 3 ? extents[2] : 1;
    block_ = extents.size() == 3 ? block_of(of.rows, blocks) : 0;
    if (extents.size() == 3 && block_ == 0) refuse_descale(of, scale, shape);
    heads_per_factor_ = given_heads == 0 ? 1 : std::max<std::uint64_t>(of.heads / given_heads, 1);
    of_head_ = given_heads == 1 ? 0 : blocks;
    of_batch_ = batched && extents[0] != 1 ? given_heads * blocks : 0;
  }

  float at(std::uint64_t batch, std::uint64_t head, std::uint64_t row) const {
    const std::uint64_t block = block_ == 0 ? 0 : row / block_;
    return scale_.elements[static_cast<std::size_t>(batch * of_batch_ + head / heads_per_factor_ * of_head_ + block)];
  }

 private:
  const Values& scale_;
  std::uint64_t of_batch_ = 0, of_head_ = 0, heads_per_factor_ = 1, block_ = 0;
};

std::vector<float> of_queries(const Values& scale, const AttentionShape& shape, bool has_blocks) {
  const std::uint64_t rows = has_blocks && !shape.sequences.empty() ? shape.sequences.front().queries : 0;
  const DescaleOf descale({"--q-descale", shape.heads, shape.kv_heads, rows}, scale, shape);
  std::vector<float> out;
  for (std::uint64_t row = 0; row < shape.rows(); ++row) {
    const AttentionPlace place = shape.place(row);
    out.push_back(descale.at(place.batch, place.head, place.query));
  }
  return out;
}

std::vector<float> of_keys(const char* option, const Values& scale, const AttentionShape& shape, bool has_blocks) {
  const DescaleOf descale({option, shape.kv_heads, shape.kv_heads, has_blocks ? shape.key_rows : 0}, scale, shape);
  std::vector<float> out;
  for (std::uint64_t b = 0; b < shape.sequences.size(); ++b)
    for (std::uint64_t head = 0; head < shape.kv_heads; ++head)
      for (std::uint64_t key = 0; key < shape.sequences[static_cast<std::size_t>(b)].keys; ++key)
        out.push_back(descale.at(b, head, key));
  return out;
}

}  // namespace

AttentionMask::AttentionMask(const std::optional<Values>& mask, const AttentionShape& shape) {
  if (!mask) return;
  if (shape.is_packed) throw Error("--mask: packed queries have none; --causal and --window say which keys they see");
  const std::uint64_t queries = shape.sequences.empty() ? 0 : shape.sequences.front().queries;
  std::array<std::uint64_t, 4> given{1, 1, 1, 1};
  const auto& extents = mask->shape;
  const std::array<std::uint64_t, 4> whole{shape.sequences.size(), shape.heads, queries, shape.key_rows};
  const std::size_t rank = extents.size();
  bool fits = rank >= 1 && rank <= given.size();
  if (fits) std::copy(extents.begin(), extents.end(), given.end() - static_cast<std::ptrdiff_t>(rank));
  if (rank == 3) given[0] = extents[0], given[1] = 1;  // a mask for each sequence
  for (std::size_t i = 0; i < 4; ++i) fits = fits && (given[i] == 1 || given[i] == whole[i]);
  if (!fits)
    throw Error(
        fmt::format("the mask has shape {}; {} queries and {} keys of {} heads and {} sequences need {}x{}, {}x{}x{} or "
                    "{}x{}x{}x{}, where 1 may stand for any of these",
                    words_of_shape(extents), queries, whole[3], whole[1], whole[0], queries, whole[3], whole[0], queries,
                    whole[3], whole[0], whole[1], queries, whole[3]));
  const auto stride = [&given](std::size_t of, std::uint64_t inner) { return given[of] == 1 ? 0 : inner; };
  of_key_ = stride(3, 1);
  of_query_ = stride(2, given[3]);
  of_head_ = stride(1, given[3] * given[2]);
  of_batch_ = stride(0, given[3] * given[2] * given[1]);
}

RowDescales row_descales(const Descales& descales, const AttentionShape& shape, bool has_blocks) {
  RowDescales out;
  if (descales.q) out.q = of_queries(*descales.q, shape, has_blocks);
  if (descales.k) out.k = of_keys("--k-descale", *descales.k, shape, has_blocks);
  if (descales.v) out.v = of_keys("--v-descale", *descales.v, shape, has_blocks);
  return out;
}

std::vector<std::optional<double>> sinks_of(const std::optional<Values>& sinks, const AttentionShape& shape) {
  std::vector<std::optional<double>> out(static_cast<std::size_t>(shape.heads));
  if (!sinks) return out;
  if (sinks->shape != std::vector<std::uint64_t>{shape.heads})
    throw Error(fmt::format("--sinks of shape {}: there are {} heads of Q, give a number for each",
                            words_of_shape(sinks->shape), shape.heads));
  for (std::size_t head = 0; head < out.size(); ++head) {
    const float sink = sinks->elements[head];
    if (std::isnan(sink) || (std::isinf(sink) && sink > 0))
      throw Error(fmt::format("--sinks: that of head {} is {}; sinks are finite, or -inf for none", head, sink));
    if (std::isfinite(sink)) out[head] = static_cast<double>(sink);
  }
  return out;
}

}  // namespace ulpscope::verify

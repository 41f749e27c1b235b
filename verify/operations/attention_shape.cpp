// SPDX-License-Identifier: Apache-2.0
// Checks the shapes, and finds which keys a query sees.
#include "verify/operations/attention_shape.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "emu/error.hpp"

namespace ulpscope::verify {
namespace {

void require(bool holds, const Attention& op, const char* what) {
  if (holds) return;
  throw Error(fmt::format("attention of Q {}, K {}, V {}: {}", words_of_shape(op.q.shape), words_of_shape(op.k.shape),
                          words_of_shape(op.v.shape), what));
}

}  // namespace

std::uint64_t AttentionShape::visible(Causal causal, std::uint64_t query) const {
  if (causal == Causal::none) return keys;
  if (causal == Causal::top_left) return std::min(query + 1, keys);
  const std::uint64_t hidden = queries - 1 - query;
  return hidden < keys ? keys - hidden : 0;
}

AttentionShape attention_shape(const Attention& op) {
  const auto &q = op.q.shape, &k = op.k.shape, &v = op.v.shape;
  const std::size_t rank = q.size();
  require(rank >= 2 && rank <= 4, op, "each has the shape LxD, BxLxD or BxHxLxD");
  require(k.size() == rank && v.size() == rank, op, "all three have as many dimensions");
  require(rank == 2 || (q[0] == k[0] && k[0] == v[0]), op, "the batches differ");
  AttentionShape shape{.queries = q[rank - 2], .keys = k[rank - 2], .depth = q[rank - 1], .width = v[rank - 1], .out = q};
  if (rank > 2) shape.batch = q[0];
  if (rank == 4) {
    shape.heads = q[1];
    shape.kv_heads = k[1];
    require(k[1] == v[1], op, "K and V differ in heads");
    require(k[1] > 0 && q[1] % k[1] == 0, op, "the heads of K divide those of Q");
  }
  shape.out.back() = shape.width;
  require(k[rank - 1] == shape.depth, op, "the rows of Q and K have as many elements");
  require(v[rank - 2] == shape.keys, op, "K and V have as many rows");
  require(shape.keys > 0 && shape.depth > 0 && shape.width > 0, op, "there is nothing to attend to");
  if (op.mask && op.mask->shape != std::vector<std::uint64_t>{shape.queries, shape.keys})
    throw Error(fmt::format("the mask has shape {}; {} queries and {} keys need {}x{}", words_of_shape(op.mask->shape),
                            shape.queries, shape.keys, shape.queries, shape.keys));
  return shape;
}

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// Checks shapes, and gathers rows of K and V from pages, padded and packed batches.
#include "verify/operations/attention_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "emu/error.hpp"

namespace ulpscope::verify {
namespace {

/// Where key `key` of a head of a sequence lies, as a row of K.
using KeyRow = std::function<std::uint64_t(std::uint64_t batch, std::uint64_t head, std::uint64_t key)>;

void require(bool holds, const Attention& op, const char* what) {
  if (holds) return;
  throw Error(fmt::format("attention of Q {}, K {}, V {}: {}", words_of_shape(op.q.shape), words_of_shape(op.k.shape),
                          words_of_shape(op.v.shape), what));
}

void require_heads(const AttentionShape& shape, const Attention& op) {
  require(shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0, op, "the heads of K divide those of Q");
}

/// What all layouts have in common, once heads and depth are known.
void require_rows(const AttentionShape& shape, const Attention& op) {
  require(op.k.columns() == shape.depth, op, "the rows of Q and K have as many elements");
  require(std::equal(op.k.shape.begin(), op.k.shape.end() - 1, op.v.shape.begin(), op.v.shape.end() - 1), op,
          "K and V have as many rows");
  require(shape.depth > 0 && shape.width > 0, op, "there is nothing to attend to");
}

AttentionShape matrices(const Attention& op) {
  const auto &q = op.q.shape, &k = op.k.shape, &v = op.v.shape;
  const std::size_t rank = q.size();
  require(rank >= 2 && rank <= 4, op, "each has the shape LxD, BxLxD or BxHxLxD");
  require(k.size() == rank && v.size() == rank, op, "all three have as many dimensions");
  require(rank == 2 || (q[0] == k[0] && k[0] == v[0]), op, "the batches differ");
  AttentionShape shape{.depth = q[rank - 1], .width = v[rank - 1], .sequences = {}, .out = q, .key_rows = k[rank - 2]};
  if (rank == 4) {
    shape.heads = q[1];
    shape.kv_heads = k[1];
    require(k[1] == v[1], op, "K and V differ in heads");
    require_heads(shape, op);
  }
  shape.out.back() = shape.width;
  require_rows(shape, op);
  require(shape.key_rows > 0 || op.sequences.key_lengths, op, "there is nothing to attend to");
  const std::uint64_t batch = rank > 2 ? q[0] : 1, queries = q[rank - 2];
  for (std::uint64_t b = 0; b < batch; ++b)
    shape.sequences.push_back({b * queries, queries, b * shape.key_rows, shape.key_rows});
  return shape;
}

/// Extents of sequences that lie one behind the other.
std::vector<std::uint64_t> extents(const char* option, const Integers& starts, const Values& rows) {
  const auto refuse = [&](const std::string& what) { throw Error(fmt::format("{}: {}", option, what)); };
  if (!starts.is_vector() || starts.elements.size() < 2)
    refuse("one number for each sequence and one more, the end of the last");
  std::vector<std::uint64_t> out;
  if (starts.at(0) != 0) refuse(fmt::format("the first sequence begins at {}, not at 0", starts.at(0)));
  for (std::size_t i = 1; i < starts.elements.size(); ++i) {
    if (starts.elements[i] < starts.elements[i - 1])
      refuse(fmt::format("sequence {} would end at {}, before it begins at {}", i - 1, starts.elements[i],
                         starts.elements[i - 1]));
    out.push_back(static_cast<std::uint64_t>(starts.elements[i] - starts.elements[i - 1]));
  }
  if (static_cast<std::uint64_t>(starts.elements.back()) != rows.shape[0])
    refuse(fmt::format("the last sequence ends at {}; there are {} rows", starts.elements.back(), rows.shape[0]));
  return out;
}

/// Another sequence whose rows have all heads together.
void add_rows(AttentionShape& shape, std::uint64_t first, std::uint64_t count) {
  shape.sequence_of.insert(shape.sequence_of.end(), static_cast<std::size_t>(count),
                           static_cast<std::uint32_t>(shape.sequences.size()));
  shape.sequences.push_back({first, count, 0, 0});
}

/// Queries of a batch whose keys are not matrices, a head behind the other.
AttentionShape queries_of(const Attention& op) {
  const Sequences& where = op.sequences;
  const auto& q = op.q.shape;
  AttentionShape shape{.sequences = {}, .out = q};
  if (where.query_starts) {
    require(q.size() == 3, op, "packed queries have the shape rows x heads x D");
    shape.heads = q[1];
    shape.is_packed = true;
    std::uint64_t first = 0;
    for (const std::uint64_t count : extents("--query-starts", *where.query_starts, op.q)) {
      add_rows(shape, first, count);
      first += count;
    }
    require(!shape.sequence_of.empty(), op, "there is no query");
  } else if (where.layout == AttentionLayout::blhd) {
    require(q.size() == 4, op, "Q has the shape BxLxHxD");
    shape.heads = q[2];
    for (std::uint64_t b = 0; b < q[0]; ++b) add_rows(shape, b * q[1], q[1]);
  } else {
    require(q.size() == 4, op, "Q has the shape BxHxLxD, or rows x heads x D with --query-starts");
    shape.heads = q[1];
    for (std::uint64_t b = 0; b < q[0]; ++b) shape.sequences.push_back({b * q[2], q[2], 0, 0});
  }
  shape.depth = op.q.columns(), shape.width = op.v.columns();
  shape.out.back() = shape.width;
  return shape;
}

/// The declared lengths, each from 0 to what there is room for.
void shorten(AttentionShape& shape, const Integers& lengths, const std::function<std::uint64_t(std::uint64_t)>& room) {
  if (!lengths.is_vector() || lengths.elements.size() != shape.sequences.size())
    throw Error(fmt::format("--key-lengths of shape {}: the batch has {} sequences, give a number for each",
                            words_of_shape(lengths.shape), shape.sequences.size()));
  for (std::size_t b = 0; b < shape.sequences.size(); ++b) {
    const std::int64_t length = lengths.elements[b];
    if (length < 0 || static_cast<std::uint64_t>(length) > room(b))
      throw Error(fmt::format("--key-lengths: sequence {} has {} keys; there is room for 0 to {}", b, length, room(b)));
    shape.sequences[b].keys = static_cast<std::uint64_t>(length);
  }
}

/// A head's keys in blocks. The table is read where there are keys alone.
KeyRow paged(const Attention& op, AttentionShape& shape) {
  const Integers& table = *op.sequences.block_table;
  require(op.k.shape.size() == 4 && op.v.shape.size() == 4, op,
          "K and V of a block table have the shape blocks x rows of a block x heads x D");
  if (!op.sequences.key_lengths) throw Error("--block-table: say with --key-lengths how many keys each sequence has");
  if (op.sequences.key_starts) throw Error("--block-table, --key-starts: K is in blocks or packed, not both");
  const std::uint64_t blocks = op.k.shape[0], rows = op.k.shape[1], heads = op.k.shape[2];
  if (table.shape.size() != 2 || table.shape[0] != shape.sequences.size())
    throw Error(fmt::format("--block-table of shape {}: the batch has {} sequences, give a row of blocks for each",
                            words_of_shape(table.shape), shape.sequences.size()));
  shape.kv_heads = heads;
  const std::uint64_t most = table.shape[1];
  shorten(shape, *op.sequences.key_lengths, [&](std::uint64_t) { return most * rows; });
  for (std::uint64_t b = 0; b < shape.sequences.size(); ++b)
    for (std::uint64_t i = 0; i * rows < shape.sequences[static_cast<std::size_t>(b)].keys; ++i) {
      const std::int64_t block = table.at(b * most + i);
      if (block < 0 || static_cast<std::uint64_t>(block) >= blocks)
        throw Error(
            fmt::format("--block-table: block {} of sequence {} is number {}; K has blocks 0 to {}", i, b, block, blocks - 1));
    }
  return [&table, most, rows, heads](std::uint64_t batch, std::uint64_t head, std::uint64_t key) {
    const auto block = static_cast<std::uint64_t>(table.at(batch * most + key / rows));
    return (block * rows + key % rows) * heads + head;
  };
}

KeyRow packed(const Attention& op, AttentionShape& shape) {
  require(op.k.shape.size() == 3 && op.v.shape.size() == 3, op, "packed keys have the shape rows x heads x D");
  const Integers& starts = *op.sequences.key_starts;
  const std::vector<std::uint64_t> room = extents("--key-starts", starts, op.k);
  if (room.size() != shape.sequences.size())
    throw Error(fmt::format("--query-starts, --key-starts: {} sequences of queries and {} of keys", shape.sequences.size(),
                            room.size()));
  const std::uint64_t heads = shape.kv_heads = op.k.shape[1];
  for (std::size_t b = 0; b < room.size(); ++b) shape.sequences[b].keys = room[b];
  if (op.sequences.key_lengths)
    shorten(shape, *op.sequences.key_lengths, [&](std::uint64_t b) { return room[static_cast<std::size_t>(b)]; });
  return [&starts, heads](std::uint64_t batch, std::uint64_t head, std::uint64_t key) {
    return (static_cast<std::uint64_t>(starts.at(batch)) + key) * heads + head;
  };
}

/// Keys of a batch, all heads of a row together.
KeyRow heads_last(const Attention& op, AttentionShape& shape) {
  require(op.k.shape.size() == 4 && op.v.shape.size() == 4, op, "K and V have the shape BxLxHxD");
  require(op.k.shape[0] == shape.sequences.size(), op, "the batches differ");
  const std::uint64_t rows = shape.key_rows = op.k.shape[1], heads = shape.kv_heads = op.k.shape[2];
  require(rows > 0 || op.sequences.key_lengths, op, "there is nothing to attend to");
  for (AttentionSequence& sequence : shape.sequences) sequence.keys = rows;
  if (op.sequences.key_lengths) shorten(shape, *op.sequences.key_lengths, [rows](std::uint64_t) { return rows; });
  return
      [rows, heads](std::uint64_t batch, std::uint64_t head, std::uint64_t key) { return (batch * rows + key) * heads + head; };
}

/// Rows in the order of sequences and heads.
std::vector<float> gathered(const Values& from, const AttentionShape& shape, const KeyRow& row) {
  std::vector<float> out;
  for (std::uint64_t b = 0; b < shape.sequences.size(); ++b)
    for (std::uint64_t h = 0; h < shape.kv_heads; ++h)
      for (std::uint64_t key = 0; key < shape.sequences[static_cast<std::size_t>(b)].keys; ++key) {
        const auto of_key = from.row(row(b, h, key));
        out.insert(out.end(), of_key.begin(), of_key.end());
      }
  return out;
}

void gather(Attention& op, AttentionShape& shape, const KeyRow& row) {
  std::uint64_t keys = 0;
  for (AttentionSequence& sequence : shape.sequences) {
    sequence.first_key = keys;
    keys += sequence.keys;
  }
  for (Values* const values : {&op.k, &op.v}) {
    values->elements = gathered(*values, shape, row);
    values->shape = {keys * shape.kv_heads, values->columns()};
  }
}

}  // namespace

KeyRange Sight::range(const AttentionSequence& sequence, std::uint64_t query) const {
  const auto keys = static_cast<std::int64_t>(sequence.keys);
  if (causal == Causal::none && !window.left && !window.right) return {0, sequence.keys};
  const std::int64_t diagonal = static_cast<std::int64_t>(query) + shift +
                                (causal == Causal::top_left ? 0 : keys - static_cast<std::int64_t>(sequence.queries));
  const auto within = [keys](std::int64_t key) { return static_cast<std::uint64_t>(std::clamp<std::int64_t>(key, 0, keys)); };
  const std::uint64_t begin = window.left ? within(diagonal - static_cast<std::int64_t>(*window.left)) : 0;
  std::uint64_t end = window.right ? within(diagonal + 1 + static_cast<std::int64_t>(*window.right)) : sequence.keys;
  if (causal != Causal::none) end = std::min(end, within(diagonal + 1));
  return {begin, std::max(begin, end)};
}

std::uint64_t AttentionShape::rows() const {
  if (has_heads_last()) return sequence_of.size() * heads;
  return sequences.empty() ? 0 : sequences.size() * heads * sequences.front().queries;
}

AttentionPlace AttentionShape::place(std::uint64_t row) const {
  if (has_heads_last()) {
    const std::uint32_t batch = sequence_of[static_cast<std::size_t>(row / heads)];
    return {batch, row % heads, row / heads - sequences[batch].first_query};
  }
  const std::uint64_t queries = sequences.front().queries;
  return {row / (heads * queries), row / queries % heads, row % queries};
}

AttentionShape laid_out(Attention& op) {
  const Sequences& where = op.sequences;
  const bool in_matrices = !where.block_table && !where.query_starts && !where.key_starts;
  if (in_matrices && where.layout == AttentionLayout::bhld) {
    AttentionShape shape = matrices(op);
    if (!where.key_lengths) return shape;
    const std::uint64_t rows = shape.key_rows, heads = shape.kv_heads;
    shorten(shape, *where.key_lengths, [rows](std::uint64_t) { return rows; });
    gather(op, shape,
           [=](std::uint64_t batch, std::uint64_t head, std::uint64_t key) { return (batch * heads + head) * rows + key; });
    return shape;
  }
  if (where.query_starts && !where.block_table && !where.key_starts)
    throw Error("--query-starts: say with --key-starts where the keys of each sequence begin, or give a --block-table");
  if (where.key_starts && !where.query_starts && !where.block_table)
    throw Error("--key-starts: say with --query-starts where the queries of each sequence begin");
  AttentionShape shape = queries_of(op);
  const KeyRow row = where.block_table ? paged(op, shape) : where.key_starts ? packed(op, shape) : heads_last(op, shape);
  require_heads(shape, op);
  require_rows(shape, op);
  gather(op, shape, row);
  for (const AttentionSequence& sequence : shape.sequences) shape.key_rows = std::max(shape.key_rows, sequence.keys);
  return shape;
}

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// Shapes of masks and factors, pages, padded and packed batches: the same attention in another layout, and what is refused.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <functional>
#include <numeric>

#include "tests/verify/attention_served.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::operations;
using Catch::Matchers::ContainsSubstring;
using Shape = std::vector<std::uint64_t>;

Served plain(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Served in{.batch = 3, .heads = 4, .kv_heads = 2, .queries = 5, .keys = 32, .depth = 8, .width = 6};
  draw(in, random, 1, emu::bfloat16);
  return in;
}

std::vector<verify::Expected> all_of(const verify::Attention& op) {
  const auto expectation = verify::expect_attention(op);
  std::uint64_t count = 1;
  for (const std::uint64_t extent : expectation->shape()) count *= extent;
  std::vector<verify::Expected> out(static_cast<std::size_t>(count));
  expectation->expect(0, out);
  return out;
}

bool same(const std::vector<verify::Expected>& a, const std::vector<verify::Expected>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const verify::Expected& x, const verify::Expected& y) {
    return x.value == y.value && x.radius == y.radius && x.allowed == y.allowed;
  });
}

/// Keys in blocks of four rows, in any order, and the table that finds them.
struct Paged {
  verify::Values k, v;
  verify::Integers table;
};
Paged paged(const Served& in, std::uint64_t seed) {
  constexpr std::size_t rows = 4;
  const std::size_t blocks = in.keys / rows, count = in.batch * blocks + 2;
  std::mt19937_64 random(seed);
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  Paged out;
  out.k = values({count, rows, in.kv_heads, in.depth}, std::vector<float>(count * rows * in.kv_heads * in.depth, no_number));
  out.v = values({count, rows, in.kv_heads, in.width}, std::vector<float>(count * rows * in.kv_heads * in.width, no_number));
  out.table = {{in.batch, blocks}, {}};
  for (std::size_t b = 0; b < in.batch; ++b)
    for (std::size_t i = 0; i < blocks; ++i) {
      const std::size_t block = order[b * blocks + i];
      out.table.elements.push_back(static_cast<std::int64_t>(block));
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t h = 0; h < in.kv_heads; ++h) {
          const std::size_t from = (b * in.kv_heads + h) * in.keys + i * rows + r, to = (block * rows + r) * in.kv_heads + h;
          if (i * rows + r >= in.length(b)) continue;  // what is there is not written
          std::copy_n(in.k.begin() + static_cast<std::ptrdiff_t>(from * in.depth), in.depth,
                      out.k.elements.begin() + static_cast<std::ptrdiff_t>(to * in.depth));
          std::copy_n(in.v.begin() + static_cast<std::ptrdiff_t>(from * in.width), in.width,
                      out.v.elements.begin() + static_cast<std::ptrdiff_t>(to * in.width));
        }
    }
  return out;
}

/// Rows of all heads of a token together, sequences one behind the other.
std::vector<float> packed(const Served& in, const std::vector<float>& from, std::size_t heads, std::size_t rows,
                          std::size_t columns, const std::function<std::size_t(std::size_t)>& count) {
  std::vector<float> out;
  for (std::size_t b = 0; b < in.batch; ++b)
    for (std::size_t i = 0; i < count(b); ++i)
      for (std::size_t h = 0; h < heads; ++h) {
        const auto first = from.begin() + static_cast<std::ptrdiff_t>(((b * heads + h) * rows + i) * columns);
        out.insert(out.end(), first, first + static_cast<std::ptrdiff_t>(columns));
      }
  return out;
}

}  // namespace

TEST_CASE("served attention: a mask is broadcast", "[verify][attention]") {
  const Served in = plain(1);
  std::mt19937_64 random(2);
  const Shape shapes[] = {{5, 32},       {3, 5, 32},    {1, 5, 32}, {3, 1, 5, 32}, {1, 4, 5, 32},
                          {3, 4, 5, 32}, {3, 1, 1, 32}, {32},       {5, 1}};
  for (const Shape& shape : shapes) {
    std::uint64_t count = 1;
    for (const std::uint64_t extent : shape) count *= extent;
    const std::vector<float> mask = normals(random, static_cast<std::size_t>(count), 1, emu::float32);
    Shape whole(4, 1);
    std::copy(shape.begin(), shape.end(), whole.end() - static_cast<std::ptrdiff_t>(shape.size()));
    if (shape.size() == 3) whole = {shape[0], 1, shape[1], shape[2]};
    Served full = in;
    for (std::size_t row = 0; row < in.rows(); ++row)
      for (std::size_t j = 0; j < in.keys; ++j) {
        const std::size_t at[] = {row / 20, row / 5 % 4, row % 5, j};
        std::size_t index = 0;
        for (std::size_t d = 0; d < 4; ++d) index = index * static_cast<std::size_t>(whole[d]) + (whole[d] == 1 ? 0 : at[d]);
        full.mask.push_back(mask[index]);
      }
    verify::Attention op = declared(in);
    op.mask = values(shape, mask);
    CAPTURE(verify::words_of_shape(shape));
    CHECK(same(all_of(op), all_of(declared(full))));
    CHECK(judge_all(*verify::expect_attention(op), served<float>(full).out, {emu::float32}).wrong() == 0);
  }
  for (const Shape& shape : {Shape{4, 32}, Shape{4, 5, 32}, Shape{3, 2, 5, 32}, Shape{3, 4, 5, 31}, Shape{1, 1, 1, 5, 32}}) {
    verify::Attention op = declared(in);
    std::uint64_t count = 1;
    for (const std::uint64_t extent : shape) count *= extent;
    op.mask = values(shape, std::vector<float>(static_cast<std::size_t>(count)));
    CHECK_THROWS_WITH(verify::expect_attention(op), ContainsSubstring("the mask has shape " + verify::words_of_shape(shape)));
  }
}

TEST_CASE("served attention: factors are told by their shape", "[verify][attention]") {
  const Served in = plain(3);
  const std::size_t key_rows = in.batch * in.kv_heads * in.keys;
  const auto check = [&](const Shape& shape,
                         const std::function<std::size_t(std::size_t b, std::size_t h, std::size_t row)>& index,
                         bool of_queries) {
    std::uint64_t count = 1;
    for (const std::uint64_t extent : shape) count *= extent;
    std::vector<float> scale;
    for (std::size_t i = 0; i < count; ++i) scale.push_back(0.5F + 0.125F * static_cast<float>(i));
    Served full = in;
    verify::Attention op = declared(in);
    (of_queries ? op.descales.q : op.descales.k) = values(shape, scale);
    for (std::size_t row = 0; row < (of_queries ? in.rows() : key_rows); ++row) {
      const std::size_t rows = of_queries ? in.queries : in.keys, heads = of_queries ? in.heads : in.kv_heads;
      (of_queries ? full.q_scale : full.k_scale).push_back(scale[index(row / rows / heads, row / rows % heads, row % rows)]);
    }
    CAPTURE(verify::words_of_shape(shape), of_queries);
    CHECK(same(all_of(op), all_of(declared(full))));
  };
  check(
      {}, [](auto, auto, auto) { return 0; }, true);
  check(
      {4}, [](auto, auto h, auto) { return h; }, true);
  check(
      {2}, [](auto, auto h, auto) { return h / 2; }, true);  // for the heads of K
  check(
      {3, 4}, [](auto b, auto h, auto) { return b * 4 + h; }, true);
  check(
      {3, 2}, [](auto b, auto h, auto) { return b * 2 + h / 2; }, true);
  check(
      {3, 1}, [](auto b, auto, auto) { return b; }, true);
  check(
      {2}, [](auto, auto h, auto) { return h; }, false);
  check(
      {3, 2}, [](auto b, auto h, auto) { return b * 2 + h; }, false);
  check(
      {3, 2, 2}, [](auto b, auto h, auto row) { return (b * 2 + h) * 2 + row / 16; }, false);
  check(
      {1, 2, 8}, [](auto, auto h, auto row) { return h * 8 + row / 4; }, false);
  for (const Shape& shape : {Shape{3}, Shape{4}, Shape{2, 3}, Shape{3, 2, 7}, Shape{3, 2, 1, 1}}) {
    verify::Attention op = declared(in);
    std::uint64_t count = 1;
    for (const std::uint64_t extent : shape) count *= extent;
    op.descales.k = values(shape, std::vector<float>(static_cast<std::size_t>(count), 1));
    CHECK_THROWS_WITH(verify::expect_attention(op), ContainsSubstring("--k-descale of shape " + verify::words_of_shape(shape)));
  }
}

TEST_CASE("served attention: pages hold what padded keys do, and a wrong page is found", "[verify][attention]") {
  Served in = plain(4);
  in.lengths = {32, 13, 6};
  in.causal = verify::Causal::bottom_right;
  const Paged pages = paged(in, 5);
  verify::Attention op = declared(in), padded = op;
  op.k = pages.k, op.v = pages.v, op.sequences.block_table = pages.table;
  CHECK(same(all_of(op), all_of(padded)));
  CHECK(judge_all(*verify::expect_attention(op), served<float>(in).out, {emu::float32}).wrong() == 0);

  verify::Attention swapped = op;
  std::swap(swapped.sequences.block_table->elements[1], swapped.sequences.block_table->elements[9]);
  CHECK(judge_all(*verify::expect_attention(swapped), served<float>(in).out, {emu::float32}).wrong() > in.rows() / 3);

  const auto refused = [&op](const char* words, const std::function<void(verify::Attention&)>& change) {
    verify::Attention wrong = op;
    change(wrong);
    CHECK_THROWS_WITH(verify::expect_attention(wrong), ContainsSubstring(words));
  };
  refused("--block-table: block 2 of sequence 0 is number 26; K has blocks 0 to 25",
          [](auto& x) { x.sequences.block_table->elements[2] = 26; });
  refused("block 7 of sequence 0 is number 26", [](auto& x) { x.sequences.block_table->elements[7] = 26; });
  refused("block 1 of sequence 2 is number 26", [](auto& x) { x.sequences.block_table->elements[17] = 26; });
  refused("block 0 of sequence 0 is number -1", [](auto& x) { x.sequences.block_table->elements[0] = -1; });
  refused("--key-lengths: sequence 1 has -1 keys", [](auto& x) { x.sequences.key_lengths->elements[1] = -1; });
  refused("--key-lengths: sequence 1 has 33 keys; there is room for 0 to 32",
          [](auto& x) { x.sequences.key_lengths->elements[1] = 33; });
  refused("--key-lengths of shape 2", [](auto& x) { x.sequences.key_lengths = verify::Integers{{2}, {1, 2}}; });
  refused("say with --key-lengths", [](auto& x) { x.sequences.key_lengths.reset(); });
  refused("--block-table of shape 24", [](auto& x) { x.sequences.block_table->shape = {24}; });
  refused("K and V of a block table", [](auto& x) { x.k.shape = {26 * 4, 2, 8}; });
  refused("K and V have as many rows", [](auto& x) { x.v.shape = {13, 8, 2, 6}; });
  verify::Attention unused = op;  // the table's rest is not looked at
  unused.sequences.block_table->elements[8 + 4] = -7;
  CHECK(same(all_of(unused), all_of(op)));
}

TEST_CASE("served attention: packed sequences are those of a padded batch", "[verify][attention]") {
  Served in = plain(6);
  in.lengths = {7, 32, 5};
  in.left = 6, in.sinks = {0.5, 1, -1, 2};
  const auto all_queries = [&in](std::size_t) { return in.queries; };
  const auto own_keys = [&in](std::size_t b) { return in.lengths[b]; };
  verify::Attention op = declared(in);
  op.sequences = {.query_starts = verify::Integers{{4}, {0, 5, 10, 15}}, .key_starts = verify::Integers{{4}, {0, 7, 39, 44}}};
  op.q = values({15, 4, 8}, packed(in, in.q, 4, 5, 8, all_queries));
  op.k = values({44, 2, 8}, packed(in, in.k, 2, 32, 8, own_keys));
  op.v = values({44, 2, 6}, packed(in, in.v, 2, 32, 6, own_keys));
  const auto both = verify::expect_attention_and_lse(op, {emu::float32});
  const ServedOutput kernel = served<float>(in);
  CHECK(both.output->shape() == Shape{15, 4, 6});
  CHECK(both.lse->shape() == Shape{4, 15});
  CHECK(judge_all(*both.output, packed(in, kernel.out, 4, 5, 6, all_queries), {emu::float32}).wrong() == 0);
  std::vector<float> lse;
  for (std::size_t h = 0; h < 4; ++h)
    for (std::size_t token = 0; token < 15; ++token) lse.push_back(kernel.lse[(token / 5 * 4 + h) * 5 + token % 5]);
  CHECK(judge_all(*both.lse, lse, {emu::float32}).wrong() == 0);
  std::swap(lse[3], lse[4]);
  CHECK(judge_all(*both.lse, lse, {emu::float32}).beyond == 2);

  const auto refused = [&op](const char* words, const std::function<void(verify::Attention&)>& change) {
    verify::Attention wrong = op;
    change(wrong);
    CHECK_THROWS_WITH(verify::expect_attention(wrong), ContainsSubstring(words));
  };
  refused("--query-starts: the last sequence ends at 14; there are 15 rows",
          [](auto& x) { x.sequences.query_starts->elements[3] = 14; });
  refused("--key-starts: sequence 1 would end at 6, before it begins at 7",
          [](auto& x) { x.sequences.key_starts->elements[2] = 6; });
  refused("--query-starts: the first sequence begins at 1", [](auto& x) { x.sequences.query_starts->elements[0] = 1; });
  refused("--query-starts: say with --key-starts", [](auto& x) { x.sequences.key_starts.reset(); });
  refused("--key-starts: say with --query-starts", [](auto& x) { x.sequences.query_starts.reset(); });
  refused("3 sequences of queries and 2 of keys", [](auto& x) { x.sequences.key_starts = verify::Integers{{3}, {0, 7, 44}}; });
  refused("--mask: packed queries have none", [](auto& x) { x.mask = values({1, 1}, {0}); });
  refused("packed queries have the shape", [](auto& x) { x.q.shape = {15, 32}; });
}

TEST_CASE("served attention: heads behind rows are the same attention", "[verify][attention]") {
  Served in = plain(7);
  in.causal = verify::Causal::bottom_right, in.sinks = {0.5, 1, -1, 2};
  std::mt19937_64 random(8);
  in.mask = normals(random, in.rows() * in.keys, 1, emu::float32);
  for (const bool some : {false, true}) {
    if (some) in.lengths = {9, 32, 5};
    const auto queries = [&in](std::size_t) { return in.queries; };
    const auto keys = [&in](std::size_t) { return in.keys; };
    verify::Attention op = declared(in);
    op.descales.k = values({3, 2, 2}, {1, 2, 1, 0.5F, 1, 1, 4, 1, 1, 1, 1, 2});
    const auto before = verify::expect_attention_and_lse(op, {emu::float32});
    op.sequences.layout = verify::AttentionLayout::blhd;
    op.q = values({3, 5, 4, 8}, packed(in, in.q, 4, 5, 8, queries));
    op.k = values({3, 32, 2, 8}, packed(in, in.k, 2, 32, 8, keys));
    op.v = values({3, 32, 2, 6}, packed(in, in.v, 2, 32, 6, keys));
    const auto after = verify::expect_attention_and_lse(op, {emu::float32});
    CHECK(after.output->shape() == Shape{3, 5, 4, 6});
    CHECK(after.lse->shape() == Shape{3, 4, 5});
    std::vector<verify::Expected> out(360), moved(360), lse(60), moved_lse(60);
    before.output->expect(0, out), after.output->expect(0, moved);
    before.lse->expect(0, lse), after.lse->expect(0, moved_lse);
    CHECK(same(lse, moved_lse));
    std::vector<verify::Expected> back;
    for (std::size_t row = 0; row < 60; ++row)
      for (std::size_t c = 0; c < 6; ++c) back.push_back(moved[((row / 20 * 5 + row % 5) * 4 + row / 5 % 4) * 6 + c]);
    CHECK(same(out, back));
  }
  verify::Attention flat = declared(in);
  flat.sequences.layout = verify::AttentionLayout::blhd;
  flat.q.shape = {60, 8};
  CHECK_THROWS_WITH(verify::expect_attention(flat), ContainsSubstring("Q has the shape BxLxHxD"));
  flat.q.shape = {3, 5, 4, 8}, flat.sequences.key_lengths.reset();
  CHECK_THROWS_WITH(verify::expect_attention(flat), ContainsSubstring("the heads of K divide those of Q"));
}

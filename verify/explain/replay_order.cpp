// SPDX-License-Identifier: Apache-2.0
// Permutations of K, cuts into chains, and reductions of their sums.
#include "verify/explain/replay_order.hpp"

#include <algorithm>
#include <initializer_list>

namespace ulpscope::verify {
namespace {

template <class Float>
void add_to(std::vector<Float>& sum, std::span<const Float> more) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
}

/// The first ceil(n/2) parts, the rest, and the sum of the two.
template <class Float>
std::vector<Float> pairwise(std::span<const std::vector<Float>> parts) {
  if (parts.size() == 1) return parts.front();
  const std::size_t middle = parts.size() - parts.size() / 2;
  std::vector<Float> sum = pairwise(parts.first(middle));
  add_to<Float>(sum, pairwise(parts.subspan(middle)));
  return sum;
}

/// Of each four products the first two, then of each the last two.
void add_pairs_in_turn(std::vector<std::size_t>& out, std::span<const std::size_t> block) {
  for (const std::size_t half : std::initializer_list<std::size_t>{0, 1})
    for (std::size_t i = 0; i < block.size(); ++i)
      if (i % 4 / 2 == half) out.push_back(block[i]);
}

std::vector<std::size_t> in_blocks(std::span<const std::size_t> ks, KOrder::Kind kind, std::size_t n) {
  std::vector<std::size_t> out;
  const std::size_t blocks = (ks.size() + n - 1) / n;
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::size_t block = kind == KOrder::Kind::blocks_descending ? blocks - 1 - i : i;
    const auto part = ks.subspan(block * n, std::min(n, ks.size() - block * n));
    if (kind == KOrder::Kind::pairs_in_turn)
      add_pairs_in_turn(out, part);
    else if (kind == KOrder::Kind::blocks_descending)
      out.insert(out.end(), part.begin(), part.end());
    else
      out.insert(out.end(), part.rbegin(), part.rend());
  }
  return out;
}

/// The products of one block, by accumulator.
ChainPieces lanes_of(std::span<const std::size_t> block, std::size_t lanes) {
  constexpr std::size_t unroll = 8;
  ChainPieces pieces(lanes);
  const std::size_t in_turns = block.size() / unroll * unroll;
  for (std::size_t i = 0; i < block.size(); ++i) pieces[i < in_turns ? i % lanes : 0].push_back(block[i]);
  std::erase_if(pieces, [](const std::vector<std::size_t>& piece) { return piece.empty(); });
  return pieces;
}

std::vector<ChainPieces> cut_in_blocks(std::span<const std::size_t> order, const KBlocks& blocks) {
  std::vector<ChainPieces> chains;
  std::size_t begin = 0;
  for (const std::size_t end : block_ends(blocks, order.size())) {
    chains.push_back(lanes_of(order.subspan(begin, end - begin), blocks.lanes));
    begin = end;
  }
  return chains;
}

std::vector<std::vector<std::size_t>> chains_of(std::span<const std::size_t> order, const Parts& parts, std::size_t step) {
  std::vector<emu::KPart> cuts;
  if (parts.lanes > 1)
    cuts = emu::chains_in_turns(order.size(), parts.lanes, parts.run);
  else
    for (const emu::KRange& chain : emu::equal_chains(order.size(), parts.split, step)) cuts.push_back({chain});
  std::vector<std::vector<std::size_t>> chains;
  for (const emu::KPart& part : cuts) {
    chains.emplace_back();
    for (const emu::KRange& range : part) {
      const auto run = order.subspan(range.begin, range.end - range.begin);
      chains.back().insert(chains.back().end(), run.begin(), run.end());
    }
  }
  if (parts.lost && *parts.lost < chains.size()) chains.erase(chains.begin() + static_cast<std::ptrdiff_t>(*parts.lost));
  return chains;
}

}  // namespace

std::vector<std::size_t> indices(const KOrder& order, std::size_t k) {
  std::vector<std::size_t> ks;
  for (std::size_t i = 0; i < k; ++i) {
    if (i < order.skipped.begin || i >= order.skipped.end) ks.push_back(i);
    if (i + 1 != order.twice.end) continue;
    for (std::size_t again = order.twice.begin; again < order.twice.end; ++again) ks.push_back(again);
  }
  switch (order.kind) {
    case KOrder::Kind::ascending: return ks;
    case KOrder::Kind::descending: std::reverse(ks.begin(), ks.end()); return ks;
    case KOrder::Kind::blocks_descending:
    case KOrder::Kind::pairs_in_turn:
    case KOrder::Kind::blocks_reversed: return in_blocks(ks, order.kind, order.n);
    case KOrder::Kind::strided: break;
  }
  std::vector<std::size_t> strided;
  for (std::size_t rest = 0; rest < order.n; ++rest)
    for (std::size_t i = rest; i < ks.size(); i += order.n) strided.push_back(ks[i]);
  return strided;
}

std::vector<std::size_t> block_ends(const KBlocks& blocks, std::size_t k) {
  std::vector<std::size_t> ends;
  std::size_t begin = 0;
  while (begin < k) {
    const std::size_t left = k - begin, of = std::max<std::size_t>(blocks.halved_to, 1);
    const bool halved = blocks.halved_to != 0 && left > blocks.length && left < 2 * blocks.length;
    const std::size_t half = of == 1 ? (left + 1) / 2 : (left / 2 + of - 1) / of * of;
    begin += std::min(left, halved ? half : blocks.length);
    ends.push_back(begin);
  }
  return ends;
}

std::vector<ChainPieces> cut(std::span<const std::size_t> order, const Parts& parts, std::size_t step, std::size_t block) {
  if (parts.blocks.length != 0 && !order.empty()) return cut_in_blocks(order, parts.blocks);
  std::vector<ChainPieces> cut_chains;
  for (const std::vector<std::size_t>& chain : chains_of(order, parts, step)) {
    ChainPieces pieces;
    for (std::size_t i = 0; i < chain.size(); ++i) {
      const bool promoted = parts.promote != 0 && i % parts.promote == 0;
      const bool scaled_anew = block != 0 && i != 0 && chain[i] / block != chain[i - 1] / block;
      if (i == 0 || promoted || scaled_anew) pieces.emplace_back();
      pieces.back().push_back(chain[i]);
    }
    cut_chains.push_back(std::move(pieces));
  }
  if (cut_chains.empty()) cut_chains.push_back({{}});
  return cut_chains;
}

template <class Float>
std::vector<Float> reduced(std::vector<Float> start, const std::vector<std::vector<Float>>& parts, Reduction reduction) {
  switch (reduction) {
    case Reduction::ascending:
      for (const auto& part : parts) add_to<Float>(start, part);
      break;
    case Reduction::descending:
      for (auto part = parts.rbegin(); part != parts.rend(); ++part) add_to<Float>(start, *part);
      break;
    case Reduction::pairwise: add_to<Float>(start, pairwise(std::span(parts))); break;
  }
  return start;
}

template <class Float>
std::vector<Float> reduced_in_tree(std::vector<Float> start, std::vector<std::vector<Float>> parts,
                                   std::span<const std::uint8_t> join) {
  std::size_t met = 0;  // bits that the numbers of sums which are left do not have
  for (const std::uint8_t bit : join) {
    const std::size_t distance = std::size_t{1} << bit;
    for (std::size_t i = 0; i + distance < parts.size(); ++i)
      if ((i & (met | distance)) == 0) add_to<Float>(parts[i], parts[i + distance]);
    met |= distance;
  }
  add_to<Float>(start, parts.front());
  return start;
}

template std::vector<float> reduced_in_tree(std::vector<float>, std::vector<std::vector<float>>, std::span<const std::uint8_t>);
template std::vector<double> reduced_in_tree(std::vector<double>, std::vector<std::vector<double>>,
                                             std::span<const std::uint8_t>);
template std::vector<float> reduced(std::vector<float>, const std::vector<std::vector<float>>&, Reduction);
template std::vector<double> reduced(std::vector<double>, const std::vector<std::vector<double>>&, Reduction);

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// Cuts K into chains, and chains into pieces.
#include "emu/product_chains.hpp"

#include <algorithm>

namespace ulpscope::emu {

std::vector<KRange> equal_chains(std::size_t k, std::size_t parts, std::size_t step) {
  const auto divided = [](std::size_t size, std::size_t by) { return (size + by - 1) / by; };
  const std::size_t length = std::max<std::size_t>(divided(divided(k, parts), step) * step, 1);
  std::vector<KRange> chains;
  for (std::size_t begin = 0; begin < k; begin += length) chains.push_back({begin, std::min(k, begin + length)});
  return chains;
}

std::vector<KPart> chains_in_turns(std::size_t k, std::size_t chains, std::size_t run) {
  std::vector<KPart> parts(chains);
  for (std::size_t begin = 0; begin < k; begin += run) parts[begin / run % chains].push_back({begin, std::min(k, begin + run)});
  std::erase_if(parts, [](const KPart& part) { return part.empty(); });
  return parts;
}

std::vector<KRange> pieces_of(KRange chain, std::size_t promote, std::span<const std::size_t> blocks) {
  std::vector<KRange> pieces;
  std::size_t begin = chain.begin;
  while (begin < chain.end) {
    std::size_t end = chain.end;
    if (promote > 0) end = std::min(end, chain.begin + ((begin - chain.begin) / promote + 1) * promote);
    for (const std::size_t block : blocks)
      if (block > 0) end = std::min(end, (begin / block + 1) * block);
    pieces.push_back({begin, end});
    begin = end;
  }
  return pieces;
}

}  // namespace ulpscope::emu

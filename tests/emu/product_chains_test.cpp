// SPDX-License-Identifier: Apache-2.0
// Cuts of K against their definitions, product by product, for every small K.
#include "emu/product_chains.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <vector>

namespace ulpscope::emu {
namespace {

/// The chain of each product, by which the cut covers each of 0 .. k - 1 once.
std::vector<std::size_t> owners(const std::vector<KPart>& parts, std::size_t k) {
  constexpr std::size_t nobody = ~std::size_t{0};
  std::vector<std::size_t> owner(k, nobody);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    REQUIRE(!parts[i].empty());
    for (const KRange& range : parts[i])
      for (std::size_t p = range.begin; p < range.end; ++p) {
        REQUIRE(p < k);
        REQUIRE(owner[p] == nobody);
        owner[p] = i;
      }
  }
  REQUIRE(std::count(owner.begin(), owner.end(), nobody) == 0);
  return owner;
}

std::vector<KPart> as_parts(const std::vector<KRange>& ranges) {
  std::vector<KPart> parts;
  for (const KRange& range : ranges) parts.push_back({range});
  return parts;
}

TEST_CASE("equal chains are the shortest of whole steps that are few enough", "[emu]") {
  for (std::size_t k = 0; k <= 40; ++k)
    for (std::size_t parts = 1; parts <= 9; ++parts)
      for (const std::size_t step : {1U, 2U, 3U, 8U}) {
        CAPTURE(k, parts, step);
        const std::vector<KRange> chains = equal_chains(k, parts, step);
        owners(as_parts(chains), k);
        REQUIRE(chains.size() <= parts);
        for (std::size_t i = 0; i < chains.size(); ++i) {
          const std::size_t length = chains[i].end - chains[i].begin;
          const std::size_t first = chains[0].end;
          if (i + 1 < chains.size()) {
            REQUIRE(length == first);
            REQUIRE(length % step == 0);
            // One step less would ask for more chains than there may be.
            REQUIRE((length == step || (length - step) * parts < k));
          }
          REQUIRE(length <= first);
        }
      }
}

TEST_CASE("chains take turns", "[emu]") {
  for (std::size_t k = 0; k <= 40; ++k)
    for (std::size_t chains = 1; chains <= 5; ++chains)
      for (const std::size_t run : {1U, 2U, 7U}) {
        CAPTURE(k, chains, run);
        const std::vector<std::size_t> owner = owners(chains_in_turns(k, chains, run), k);
        for (std::size_t p = 0; p < k; ++p) REQUIRE(owner[p] == p / run % chains);
      }
}

TEST_CASE("a piece ends where a promotion or a block does, and nowhere else", "[emu]") {
  for (std::size_t begin = 0; begin <= 12; ++begin)
    for (std::size_t end = begin; end <= 40; ++end)
      for (const std::size_t promote : {0U, 3U, 8U})
        for (const std::vector<std::size_t>& blocks : {std::vector<std::size_t>{}, {0}, {4}, {6, 10}}) {
          CAPTURE(begin, end, promote, blocks);
          std::vector<std::size_t> ends;
          for (std::size_t p = begin + 1; p <= end; ++p) {
            bool cut = p == end || (promote > 0 && (p - begin) % promote == 0);
            for (const std::size_t block : blocks) cut |= block > 0 && p % block == 0;
            if (cut) ends.push_back(p);
          }
          std::vector<std::size_t> found;
          std::size_t from = begin;
          for (const KRange& piece : pieces_of({begin, end}, promote, blocks)) {
            REQUIRE(piece.begin == from);
            found.push_back(from = piece.end);
          }
          REQUIRE(found == ends);
        }
}

TEST_CASE("scales multiply in the order that the rule says", "[emu]") {
  const float x = 1.1F, a = 1.3F, b = 1.7F, onto = 0.9F;
  using First = ScaleRule::First;
  CHECK(ScaleRule{First::both, false}.add(onto, x, a, b) == x * (a * b) + onto);
  CHECK(ScaleRule{First::a, false}.add(onto, x, a, b) == x * a * b + onto);
  CHECK(ScaleRule{First::b, false}.add(onto, x, a, b) == x * b * a + onto);
  CHECK(ScaleRule{First::both, true}.add(onto, x, a, b) == std::fma(x, a * b, onto));
  CHECK(ScaleRule{First::a, true}.add(onto, x, a, b) == std::fma(x * a, b, onto));
  CHECK(ScaleRule{First::b, true}.add(onto, x, a, b) == std::fma(x * b, a, onto));
}

}  // namespace
}  // namespace ulpscope::emu

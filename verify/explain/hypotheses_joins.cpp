// SPDX-License-Identifier: Apache-2.0
// Sums of equal parts of K that meet in a tree, as the reductions of split-K kernels add them.
#include <algorithm>
#include <string>

#include "emu/catalogue.hpp"
#include "emu/split_product.hpp"
#include "verify/explain/hypotheses.hpp"

namespace ulpscope::verify {
namespace {

/// The split product of one product that is the same as parts of a claimed engine, as an option; none where no word says it.
std::vector<MatmulOption> as_split(const Claim& claim, std::size_t parts, const std::string& join) {
  const auto word = claim.a() == emu::float32    ? "f32x1"
                    : claim.a() == emu::tf32     ? "tf32x1"
                    : claim.a() == emu::bfloat16 ? "bf16x1"
                                                 : "";
  if (*word == '\0' || claim.a() != claim.b() || claim.config.acc != emu::float32) return {};
  const std::string keys = ",k=" + std::to_string(claim.shape.k / parts) + ",join=" + join;
  return {{"--engine", word + (":engine=" + claim.engine()) + keys}, {"--split-k", "1"}};
}

}  // namespace

std::vector<std::vector<std::uint8_t>> join_orders(std::size_t bits) {
  constexpr std::size_t most_lane_bits = 2, most_warp_bits = 3;
  std::vector<std::vector<std::uint8_t>> orders;
  for (std::size_t lanes = 0; lanes <= std::min(most_lane_bits, bits); ++lanes)
    for (std::size_t warps = 0; warps <= std::min(most_warp_bits, bits - lanes); ++warps) {
      std::vector<std::uint8_t> order;
      for (std::size_t bit = lanes + warps; bit < bits; ++bit) order.push_back(static_cast<std::uint8_t>(bit));
      for (std::size_t bit = lanes; bit-- > 0;) order.push_back(static_cast<std::uint8_t>(bit));
      for (std::size_t bit = lanes + warps; bit-- > lanes;) order.push_back(static_cast<std::uint8_t>(bit));
      if (std::find(orders.begin(), orders.end(), order) == orders.end()) orders.push_back(order);
    }
  return orders;
}

std::string join_word(const std::vector<std::uint8_t>& order) {
  std::string word;
  for (const std::uint8_t bit : order) word += (word.empty() ? "" : ".") + std::to_string(bit);
  return word;
}

std::vector<Cause> join_causes(const Claim& claim) {
  std::vector<Cause> causes;
  const products::Product& config = claim.config;
  const bool chains = claim.kernel.chain.engine && !claim.kernel.chain.exact;
  if (!chains || config.a.scales || config.b.scales || config.promote != 0) return causes;
  for (std::size_t bits = 2; bits <= most_join_bits; ++bits) {
    const std::size_t parts = std::size_t{1} << bits;
    if (claim.shape.k % (parts * claim.step()) != 0) break;
    for (const std::vector<std::uint8_t>& order : join_orders(bits)) {
      if (std::is_sorted(order.begin(), order.end())) continue;  // pairwise, which part_causes() has
      const std::string join = join_word(order), number = std::to_string(parts);
      causes.push_back({"split-k=" + number + ",join=" + join, "split-K = " + number + ", the parts added in the tree " + join,
                        as_split(claim, parts, join),
                        [parts, order](Kernel& kernel) { kernel.parts = {.split = parts, .join = order}; }});
    }
  }
  return causes;
}

}  // namespace ulpscope::verify

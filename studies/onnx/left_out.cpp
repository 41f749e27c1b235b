// SPDX-License-Identifier: Apache-2.0
// Counts the nodes of each operator apart from those that follow from them.
#include "studies/onnx/left_out.hpp"

#include <algorithm>
#include <cstddef>

#include "emu/visible.hpp"

namespace ulpscope::studies::onnx {

std::vector<std::string> LeftOut::remarks(const std::string& file) const {
  std::vector<std::string> lines;
  std::size_t following = 0;
  for (const auto& [op, nodes] : nodes_) {
    const auto has_own_cause = [](const Node& one) { return one.why != follows; };
    const auto first = std::ranges::find_if(nodes, has_own_cause);
    const auto own = static_cast<std::size_t>(std::ranges::count_if(nodes, has_own_cause));
    following += nodes.size() - own;
    if (own == 0) continue;
    lines.push_back(emu::visible(file + ": not computed: " + op +
                                 (first->why == unknown ? ", which is not known" : ": " + first->why) + " (" +
                                 std::to_string(own) + (own == 1 ? " node, " : " nodes, the first ") + first->name + ")"));
  }
  if (following != 0)
    lines.push_back(emu::visible(
        file + ": " + std::to_string(following) +
        (following == 1 ? " node that follows from these is left out" : " nodes that follow from these are left out")));
  return lines;
}

}  // namespace ulpscope::studies::onnx

// SPDX-License-Identifier: Apache-2.0
// Running sums whose order is said: each sum is a rounding point, so of exact terms they are exact.
#include <algorithm>
#include <span>
#include <vector>

#include "emu/tasks.hpp"
#include "verify/expressions/evaluation.hpp"
#include "verify/expressions/reader.hpp"
#include "verify/expressions/scan.hpp"

namespace ulpscope::verify {

void Evaluation::keep_scan(std::size_t node, Kept& out, int threads) const {
  const Node& n = formula_.nodes[node];
  out.make(element_count(n.shape));
  emu::for_each_task(static_cast<std::size_t>(n.before), threads, [&](std::size_t before) {
    Reader reader(*this, n.operands.front());
    const std::uint64_t begin = before * n.along * n.behind, count = n.along * n.behind;
    std::vector<Approximate> terms(static_cast<std::size_t>(count));  // those of one sum next to each other
    for (std::uint64_t done = 0; done < count; done += Lanes::size) {
      const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(Lanes::size, count - done));
      const Lanes& lanes = reader.read(begin + done, some);
      for (std::size_t i = 0; i < some; ++i) {
        const std::uint64_t at = done + i;
        terms[static_cast<std::size_t>(at % n.behind * n.along + at / n.behind)] = rounded_sum(n, lanes.at(i), {});
      }
    }
    for (std::uint64_t column = 0; column < n.behind; ++column) {
      const std::span<Approximate> own =
          std::span(terms).subspan(static_cast<std::size_t>(column * n.along), static_cast<std::size_t>(n.along));
      scan(own, *n.order, [&](const Approximate& x, const Approximate& y) { return rounded_sum(n, x, y); });
      for (std::size_t i = 0; i < own.size(); ++i) out.put(begin + i * n.behind + column, own[i]);
    }
  });
}

}  // namespace ulpscope::verify

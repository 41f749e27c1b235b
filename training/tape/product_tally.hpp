// SPDX-License-Identifier: Apache-2.0
// Which matrix products a tape forms, and how many of each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "emu/format.hpp"
#include "studies/census/scaling.hpp"

namespace ulpscope::training {

/// A product of m by k and k by n elements.
struct ProductKind {
  std::size_t m, n, k;
  emu::Format a, b;                     ///< of the stored operands
  studies::ScaleRule scale_a, scale_b;  ///< how they were scaled
  bool promoted;                        ///< its partial sums are added in float32

  friend bool operator==(const ProductKind&, const ProductKind&) = default;
};

/// Products of one kind.
struct CountedProducts {
  ProductKind kind;
  std::uint64_t count;
};

/// Products by kind, in the order in which the kinds first came. A network has few kinds.
class ProductTally {
 public:
  void add(const ProductKind& kind) {
    const auto found =
        std::find_if(counts_.rbegin(), counts_.rend(), [&](const auto& counted) { return counted.kind == kind; });
    if (found == counts_.rend())
      counts_.push_back({kind, 1});
    else
      ++found->count;
  }
  const std::vector<CountedProducts>& counts() const noexcept { return counts_; }

 private:
  std::vector<CountedProducts> counts_;
};

}  // namespace ulpscope::training

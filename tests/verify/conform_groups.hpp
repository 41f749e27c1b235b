// SPDX-License-Identifier: Apache-2.0
// Groups of mismatches against others, in tests.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <map>

#include "verify/conform/conform_tally.hpp"

namespace ulpscope {

/// Checks that both have the same groups, as many members of each, and the same examples.
inline void check_same(const std::map<verify::Group, verify::Members>& groups,
                       const std::map<verify::Group, verify::Members>& others) {
  REQUIRE(groups.size() == others.size());
  auto other = others.begin();
  for (const auto& [group, members] : groups) {
    CHECK(group == other->first);
    CHECK(members.count == other->second.count);
    REQUIRE(members.examples.size() == other->second.examples.size());
    for (std::size_t i = 0; i < members.examples.size(); ++i)
      CHECK(members.examples[i].index == other->second.examples[i].index);
    ++other;
  }
}

}  // namespace ulpscope

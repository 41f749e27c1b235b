// SPDX-License-Identifier: Apache-2.0
// The order of lines about many tensors.
#include "cli/worst_first.hpp"

namespace ulpscope::cli {

std::vector<reports::Order> worst_first() {
  using Direction = reports::Order::Direction;
  return {{"overflow%", Direction::descending},
          {"to_zero%", Direction::descending},
          {"subnormal%", Direction::descending},
          {"sqnr_db", Direction::ascending}};
}

}  // namespace ulpscope::cli

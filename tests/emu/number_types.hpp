// SPDX-License-Identifier: Apache-2.0
// The formats of the catalogue as types, for tests of Number.
#pragma once

#include <cstddef>
#include <utility>

#include "emu/catalogue.hpp"
#include "emu/number.hpp"

namespace ulpscope::laws {

/// visit.operator()<Number<f>>() for every format f of the catalogue with at most `bits` bits.
template <int bits, class Visit>
void for_each_number(Visit visit) {
  const auto one = [&]<std::size_t i>() {
    if constexpr (emu::catalogue[i].format.bits() <= bits) visit.template operator()<emu::Number<emu::catalogue[i].format>>();
  };
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (one.template operator()<i>(), ...);
  }(std::make_index_sequence<emu::catalogue.size()>{});
}

}  // namespace ulpscope::laws

// SPDX-License-Identifier: Apache-2.0
// Number in {fmt}, with the format specifications of double. Needs {fmt}, which nothing else in emu does.
#pragma once

#include <fmt/format.h>

#include "emu/number_type.hpp"

template <ulpscope::emu::Format F, ulpscope::emu::RoundingOptions O, class Char>
struct fmt::formatter<ulpscope::emu::Number<F, O>, Char> : fmt::formatter<double, Char> {
  template <class Context>
  auto format(ulpscope::emu::Number<F, O> x, Context& context) const {
    return fmt::formatter<double, Char>::format(static_cast<double>(x), context);
  }
};

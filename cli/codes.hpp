// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "emu/format.hpp"

namespace ulpscope::cli {

/// A code in lower-case hex, ceil(bits / 4) digits.
inline std::string hex(emu::Format format, emu::Code code) {
  constexpr const char* digits = "0123456789abcdef";
  std::string out;
  for (int i = (format.bits() + 3) / 4 - 1; i >= 0; --i) out += digits[code >> (4 * i) & 0xf];
  return out;
}

}  // namespace ulpscope::cli

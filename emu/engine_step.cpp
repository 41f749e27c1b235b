// SPDX-License-Identifier: Apache-2.0
// A chain of steps by the interpreter, with terms in vectors.
#include "emu/engine_step.hpp"

#include <vector>

#include "emu/engine_interpreter.hpp"

namespace ulpscope::emu {

Code inner_product(const Engine& engine, Format a_format, std::span<const Code> a, Format b_format, std::span<const Code> b,
                   Code c, const BlockScales& scales) {
  return detail::interpreted_product<std::vector<detail::EngineTerm>>(engine, a_format, a, b_format, b, c, scales);
}

}  // namespace ulpscope::emu

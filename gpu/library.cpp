// SPDX-License-Identifier: Apache-2.0
// Operands drawn on the host, for libraries that do not draw their own.
#include "gpu/library.hpp"

#include "emu/encode.hpp"
#include "gpu/normal_like.hpp"

namespace ulpscope::gpu {

void draw_normal_here(emu::Format format, std::uint64_t seed, std::uint64_t operand, std::span<std::byte> codes) {
  for (std::size_t i = 0; i < codes.size() / bytes_per_code(format); ++i)
    store_code(format, codes.data(), i, emu::encode(format, normal_like(seed, operand, i)));
}

}  // namespace ulpscope::gpu

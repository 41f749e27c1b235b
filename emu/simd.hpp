// SPDX-License-Identifier: Apache-2.0
// Which instructions the bulk operations use. The results do not depend on it: every path gives the same bits.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ulpscope::emu {

/// The vector instructions that bulk operations use.
enum class SimdPath : std::uint8_t {
  scalar,  ///< any processor
  avx2,    ///< AVX2, FMA, F16C
  avx512,  ///< AVX-512 F, BW, CD, DQ, VL
  neon,    ///< any AArch64
};

/// `scalar`, `avx2`, `avx512`, `neon`.
std::string_view name_of(SimdPath path) noexcept;

/// The paths that this processor and this build can take, best first; the last is `scalar`, unless the
/// compiler may use better instructions everywhere (-march=native).
std::vector<SimdPath> simd_paths();

/// The path in force: the best, unless use_simd_path() chose another.
SimdPath simd_path() noexcept;

/// Chooses a path for the whole process. Not to be called while a bulk operation runs. @throws Error if it is not available
void use_simd_path(SimdPath path);
/// The same by name. @throws Error naming those that are available
void use_simd_path(std::string_view name);

}  // namespace ulpscope::emu

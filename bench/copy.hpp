// SPDX-License-Identifier: Apache-2.0
// The limit of an operation on spans: loops that read and write as many bytes as it does, and compute nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ulpscope::bench {

/// Bytes per element.
struct Traffic {
  int read;
  int written;
};

/// What copy() knows; one divides the other.
inline constexpr std::array<Traffic, 12> traffics{
    {{1, 1}, {1, 2}, {1, 4}, {2, 1}, {2, 2}, {2, 4}, {4, 1}, {4, 2}, {4, 4}, {8, 1}, {8, 2}, {8, 4}}};

enum class Copy {
  library,    ///< memcpy; where as much is written as is read, and not in place
  vectors,    ///< loads and stores of whole vectors
  streaming,  ///< the same with stores that pass the caches by
};
constexpr std::string_view name_of(Copy kind) noexcept {
  return kind == Copy::library ? "memcpy" : kind == Copy::vectors ? "vectors" : "streaming";
}

/// Reads `elements * traffic.read` bytes and writes `elements * traffic.written`, on the SIMD path in force (emu/simd.hpp).
/// `in` and `out` are aligned to 64 bytes, equal or apart; `elements` is a multiple of 64.
void copy(Copy kind, Traffic traffic, const std::byte* in, std::byte* out, std::size_t elements);

/// Executes `instructions`, a multiple of 16, on whole vectors in registers, on the SIMD path in force: additions of integers
/// and exclusive ors in 8 chains, as many in a cycle as a processor does of anything.
std::uint32_t compute(std::size_t instructions);

}  // namespace ulpscope::bench

// SPDX-License-Identifier: Apache-2.0
// The vector loops behind emu/bulk.hpp, one instance for each instruction set. They expect the floating-point environment that
// their plan asks for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emu/bulk/plan.hpp"

namespace ulpscope::emu::detail {

/// How the data of a loop travels.
enum class Traffic : std::uint8_t {
  near,       ///< within the nearer caches
  far,        ///< from beyond them: the beginning of each page, which the processor does not foresee, is asked for in time
  streaming,  ///< the same, and results go past the caches
};

struct Loop {
  std::size_t size;
  Traffic traffic = Traffic::near;
  const std::uint32_t* random = nullptr;  ///< `size` words for stochastic rounding
};

/// Results are float bits (32 bits wide) or codes. `in` and `out` may be the same.
void round_floats(const BulkPlan& plan, const float* in, float* out, const Loop& loop);
void encode_floats(const BulkPlan& plan, const float* in, std::uint8_t* out, const Loop& loop);
void encode_floats(const BulkPlan& plan, const float* in, std::uint16_t* out, const Loop& loop);
void encode_floats(const BulkPlan& plan, const float* in, std::uint32_t* out, const Loop& loop);

void decode_to_floats(const DecodePlan& plan, const std::uint8_t* in, float* out, const Loop& loop);
void decode_to_floats(const DecodePlan& plan, const std::uint16_t* in, float* out, const Loop& loop);
void decode_to_floats(const DecodePlan& plan, const std::uint32_t* in, float* out, const Loop& loop);

/// out[i] = rounding_bits(seed, first + i), whose blocks share the high word of their counters.
void fill_random(std::uint64_t seed, std::uint64_t first, std::uint32_t* out, std::size_t size);

/// Doubles rounded to odd into floats, from which a format of at least two fraction bits less is rounded to as from the doubles
/// (S. Boldo, G. Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE TC
/// 57 (2008), theorem 3). Finite doubles beyond the range of float become its largest number.
void narrow_to_odd(const double* in, float* out, std::size_t size, bool subnormals_are_zero);

/// Makes floats of doubles. @returns whether that changed none, NaNs apart
bool make_floats(const double* in, float* out, std::size_t size);

/// Asks for the first half of the page after `at`, spread over the `bytes` at a time that a loop reads of this one. Hardware
/// prefetchers stop at page boundaries (Intel 64 and IA-32 Architectures Optimization Reference Manual, "Data Prefetching").
inline void prefetch_next_page(const void* at, std::size_t bytes) noexcept {
  constexpr std::uintptr_t page = 4096, line = 64;
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const std::uintptr_t wanted = (address / page + 1) * page + address % page / 2 / line * line;
  for (std::uintptr_t ahead = 0; ahead == 0 || ahead < bytes / 2; ahead += line)
    __builtin_prefetch(static_cast<const char*>(at) + (wanted - address + ahead));
}

/// Elements before `out` is aligned to a cache line.
template <class Out>
std::size_t misaligned(const Out* out) noexcept {
  constexpr std::size_t line = 64;
  return (line - reinterpret_cast<std::uintptr_t>(out) % line) % line / sizeof(Out);
}

}  // namespace ulpscope::emu::detail

// SPDX-License-Identifier: Apache-2.0
// Random matrices made on the device, to be timed with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "emu/format.hpp"
#include "gpu/cuda/runtime.hpp"

namespace ulpscope::gpu::cublas {

/// Stored codes of numbers that are uniform in (-1, 1), rounded to nearest even, by number and seed; two in each byte where
/// they have four bits. Returns without waiting.
void fill_randomly(cuda::Buffer<std::byte>& codes, emu::Format format, std::uint64_t seed);

/// gpu::Library::draw_normal by a device.
void draw_normal_on(int ordinal, emu::Format format, std::uint64_t seed, std::uint64_t operand, std::span<std::byte> codes);

}  // namespace ulpscope::gpu::cublas

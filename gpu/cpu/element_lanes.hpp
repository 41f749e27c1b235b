// SPDX-License-Identifier: Apache-2.0
// Element operations side by side in the lanes of a vector, and a device made of such operations.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu/elementwise.hpp"

namespace ulpscope::gpu::detail {

/// Operands and results of one instruction, where vectors are loaded from and stored to. Words are as wide as their formats.
template <std::size_t bytes>
struct alignas(64) ElementVectors {
  std::array<std::byte, bytes> a, b, c, d;
};

/// A vector instruction; the rounding is that of the control word, or its own.
template <std::size_t bytes>
using VectorInstruction = void (*)(ElementVectors<bytes>&);

template <class Word, std::size_t bytes>
void pack(std::span<const emu::Code> codes, std::array<std::byte, bytes>& vector) {
  vector.fill(std::byte{0});
  for (std::size_t lane = 0; lane < codes.size(); ++lane) {
    const auto word = static_cast<Word>(codes[lane]);
    std::copy_n(reinterpret_cast<const std::byte*>(&word), sizeof(Word), vector.data() + lane * sizeof(Word));
  }
}

/// From, To: words of the operands and of the results. The narrower one leaves part of its vector unused.
template <class From, class To, std::size_t bytes, VectorInstruction<bytes> instruction>
void apply_in_lanes(const ElementOperands& operands, std::span<emu::Code> d) {
  constexpr std::size_t lanes = bytes / std::max(sizeof(From), sizeof(To));
  ElementVectors<bytes> vectors{};
  for (std::size_t first = 0; first < d.size(); first += lanes) {
    const std::size_t count = std::min(lanes, d.size() - first);
    pack<From>(operands.a.subspan(first, count), vectors.a);
    if (!operands.b.empty()) pack<From>(operands.b.subspan(first, count), vectors.b);
    if (!operands.c.empty()) pack<To>(operands.c.subspan(first, count), vectors.c);
    instruction(vectors);
    for (std::size_t lane = 0; lane < count; ++lane) {
      To word;
      std::copy_n(vectors.d.data() + lane * sizeof(To), sizeof(To), reinterpret_cast<std::byte*>(&word));
      d[first + lane] = word;
    }
  }
}

/// What computes an instruction, in all the roundings that it has by the control word.
struct CpuElementInstruction {
  std::string mnemonic;  ///< as in gpu/cpu/element_models.hpp
  void (*apply)(const ElementOperands& operands, std::span<emu::Code> d);
};

/// The device's operations, each with what computes it.
/// @throws std::logic_error where an instruction has none, or none of them is its own.
std::shared_ptr<const Elementwise> cpu_elementwise(std::string device, const std::vector<CpuElementInstruction>& instructions);

}  // namespace ulpscope::gpu::detail

// SPDX-License-Identifier: Apache-2.0
// Element operations side by side in the lanes of a vector, and a device made of such operations.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "emu/error.hpp"
#include "emu/rounding.hpp"
#include "gpu/cpu/control_word.hpp"
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

/// An operation and what computes it; `control` is what it runs under.
struct CpuElementInstruction {
  ElementOperation operation;
  void (*apply)(const ElementOperands& operands, std::span<emu::Code> d);
  std::uint64_t control = ControlWord::usual;
};

/// A model with NaNs as on x86: those of operands survive, quieted; new ones are negative and have no payload (SDM volume 1,
/// 4.8.3.5 and table 4-3).
inline ElementModel x86_model(ElementKind kind, emu::Format from, emu::Format to, emu::Rounding rounding) {
  ElementModel model{.kind = kind, .from = from, .to = to};
  model.options.rounding = rounding;
  model.nan_result = emu::NanResult::operand;
  model.nan_code = to.sign_mask() | to.infinity_code() | to.infinity_code() >> 1;
  return model;
}

/// Rounding as two bits of the control word have it, and as the names of operations end.
struct RoundingControl {
  emu::Rounding rounding;
  const char* words;
  std::uint64_t bits;
};
/// That of MXCSR (SDM volume 1, table 4-8).
inline constexpr std::array rounding_controls{
    RoundingControl{emu::Rounding::nearest_even, " RC=nearest", 0}, RoundingControl{emu::Rounding::downward, " RC=down", 1},
    RoundingControl{emu::Rounding::upward, " RC=up", 2}, RoundingControl{emu::Rounding::toward_zero, " RC=zero", 3}};

/// Adds an instruction once for each rounding of the control word.
inline void add_rounded(std::vector<CpuElementInstruction>& all, std::span<const RoundingControl> controls,
                        const std::string& mnemonic,
                        ElementModel (*model)(ElementKind, emu::Format, emu::Format, emu::Rounding), ElementKind kind,
                        emu::Format from, emu::Format to, void (*apply)(const ElementOperands&, std::span<emu::Code>)) {
  for (const RoundingControl& control : controls)
    all.push_back({{mnemonic + control.words, model(kind, from, to, control.rounding)},
                   apply,
                   ControlWord::usual | control.bits << ControlWord::rounding_position});
}
/// The same on x86.
inline void add_rounded(std::vector<CpuElementInstruction>& all, const std::string& mnemonic, ElementKind kind,
                        emu::Format from, emu::Format to, void (*apply)(const ElementOperands&, std::span<emu::Code>)) {
  add_rounded(all, rounding_controls, mnemonic, x86_model, kind, from, to, apply);
}

std::shared_ptr<const Elementwise> cpu_elementwise(std::string device, std::vector<CpuElementInstruction> instructions);

}  // namespace ulpscope::gpu::detail

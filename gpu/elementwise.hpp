// SPDX-License-Identifier: Apache-2.0
// Conversions and arithmetic of a device, element by element, and what emu claims that each of them computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "emu/rounding.hpp"
#include "gpu/unit.hpp"

namespace ulpscope::gpu {

/// convert_randomly rounds stochastically: its second operand is a word of 32 bits, some of which are the random ones.
enum class ElementKind : std::uint8_t { convert, add, subtract, multiply, fma, convert_randomly };

/// How many operands it takes.
ULPSCOPE_INLINE constexpr int operands_of(ElementKind kind) noexcept {
  return kind == ElementKind::convert ? 1 : (kind == ElementKind::fma ? 3 : 2);
}
/// How many of them are numbers.
ULPSCOPE_INLINE constexpr int numbers_of(ElementKind kind) noexcept {
  return kind == ElementKind::convert_randomly ? 1 : operands_of(kind);
}

/// Bits of a word, from the highest of a number to its lowest: first down to last, or up to it.
struct BitRange {
  int first = 0, last = 0;  ///< positions from 0, the least significant

  friend constexpr bool operator==(const BitRange&, const BitRange&) = default;
};
/// A random number picked out of a word: the bits of one range or, above one another, two.
struct RandomBits {
  int ranges = 0;          ///< 0 to 2; 0: no random number
  BitRange range[2] = {};  ///< the higher bits of the number first

  /// How many bits it has.
  ULPSCOPE_INLINE constexpr int count() const noexcept {
    int bits = 0;
    for (int i = 0; i < ranges; ++i)
      bits += 1 + (range[i].first < range[i].last ? range[i].last - range[i].first : range[i].first - range[i].last);
    return bits;
  }
  /// The number that these bits of `word` are.
  ULPSCOPE_INLINE constexpr std::uint32_t of(std::uint64_t word) const noexcept {
    std::uint32_t number = 0;
    for (int i = 0; i < ranges; ++i) {
      const int step = range[i].first < range[i].last ? 1 : -1;
      for (int bit = range[i].first; bit != range[i].last + step; bit += step)
        number = number << 1 | static_cast<std::uint32_t>(word >> bit & 1);
    }
    return number;
  }
};

/// What is computed: a plain value, so that device code takes it too.
struct ElementModel {
  ElementKind kind = ElementKind::convert;                ///< the operation
  emu::Format from;                                       ///< of the operands
  emu::Format to;                                         ///< of the result
  emu::RoundingOptions options = {};                      ///< of its one rounding
  bool relu = false;                                      ///< negative results are +0 (PTX cvt.relu, fma.relu)
  emu::NanResult nan_result = emu::NanResult::canonical;  ///< which NaN comes out
  emu::Code nan_code = to.nan_code();                     ///< canonical: of every NaN result
  bool nans_are_cut = false;  ///< convert: of a NaN the upper bits as they are, whatever they then stand for
  bool ignores_sign = false;  ///< convert: of the operand's magnitude (PTX cvt to ue8m0)
  /// convert_randomly: the bits of the second operand that are added to those that the rounding drops, aligned with the highest
  /// of them; where a bit is carried out the magnitude is rounded up (PTX ISA, cvt.rs). options.random_bits of them.
  RandomBits random = {};
};

/// One instruction or intrinsic of a device.
struct ElementOperation {
  std::string instruction;  ///< as its manual spells it: `cvt.rn.satfinite.e4m3x2.f32`, `__hfma2`
  ElementModel model;       ///< what emu computes for the same
};

/// Operands of an operation, as codes; those that it does not take are empty.
struct ElementOperands {
  std::span<const emu::Code> a, b = {}, c = {};  ///< as many of each as there are results
};

/// Operations of a device on single numbers.
class Elementwise {
 public:
  virtual ~Elementwise() = default;

  /// What it offers.
  virtual std::vector<ElementOperation> operations() const = 0;
  /// d[i] of a[i], b[i], c[i].
  /// @throws ulpscope::Error when the device fails; nothing in d counts then.
  virtual void apply(const ElementOperation& operation, const ElementOperands& operands, std::span<emu::Code> d) const = 0;
};

}  // namespace ulpscope::gpu

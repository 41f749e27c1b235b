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

enum class ElementKind : std::uint8_t { convert, add, subtract, multiply, fma };

/// How many operands it takes.
ULPSCOPE_INLINE constexpr int operands_of(ElementKind kind) noexcept {
  return kind == ElementKind::convert ? 1 : (kind == ElementKind::fma ? 3 : 2);
}

/// What is computed: a plain value, so that device code takes it too.
struct ElementModel {
  ElementKind kind = ElementKind::convert;
  emu::Format from;  ///< of the operands
  emu::Format to;    ///< of the result
  emu::RoundingOptions options = {};
  bool relu = false;  ///< negative results are +0 (PTX cvt.relu, fma.relu)
  emu::NanResult nan_result = emu::NanResult::canonical;
  emu::Code nan_code = to.nan_code();  ///< canonical: of every NaN result
  bool nans_are_cut = false;           ///< convert: of a NaN the upper bits as they are, whatever they then stand for
};

/// One instruction or intrinsic of a device.
struct ElementOperation {
  std::string instruction;  ///< as its manual spells it: `cvt.rn.satfinite.e4m3x2.f32`, `__hfma2`
  ElementModel model;       ///< what emu computes for the same
};

/// Operands of an operation, as codes; those that it does not take are empty.
struct ElementOperands {
  std::span<const emu::Code> a, b = {}, c = {};
};

class Elementwise {
 public:
  virtual ~Elementwise() = default;

  virtual std::vector<ElementOperation> operations() const = 0;
  /// d[i] of a[i], b[i], c[i].
  /// @throws ulpscope::Error when the device fails; nothing in d counts then.
  virtual void apply(const ElementOperation& operation, const ElementOperands& operands, std::span<emu::Code> d) const = 0;
};

}  // namespace ulpscope::gpu

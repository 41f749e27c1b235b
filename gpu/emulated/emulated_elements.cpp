// SPDX-License-Identifier: Apache-2.0
// The conversions and arithmetic of PTX, listed with their models.
#include "gpu/emulated/emulated_elements.hpp"

#include <array>
#include <utility>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "gpu/element_model.hpp"

namespace ulpscope::gpu {
namespace {

using emu::Format, emu::Rounding;

class EmulatedElements final : public Elementwise {
 public:
  EmulatedElements(std::string device, std::vector<ElementOperation> operations)
      : device_(std::move(device)), operations_(std::move(operations)) {}

  std::vector<ElementOperation> operations() const override { return operations_; }

  void apply(const ElementOperation& operation, const ElementOperands& operands, std::span<emu::Code> d) const override {
    for (const ElementOperation& own : operations_) {
      if (own.instruction != operation.instruction) continue;
      const auto at = [](std::span<const emu::Code> codes, std::size_t i) { return codes.empty() ? 0 : codes[i]; };
      for (std::size_t i = 0; i < d.size(); ++i)
        d[i] = element_result(own.model, operands.a[i], at(operands.b, i), at(operands.c, i));
      return;
    }
    throw Error(device_ + " has no operation " + operation.instruction);
  }

 private:
  std::string device_;
  std::vector<ElementOperation> operations_;
};

/// A rounding as PTX spells it (PTX ISA, "Floating point rounding modifiers").
struct Direction {
  std::string_view word;
  Rounding rounding;
};
constexpr Direction rn{".rn", Rounding::nearest_even}, rz{".rz", Rounding::toward_zero}, rm{".rm", Rounding::downward},
    rp{".rp", Rounding::upward}, rna{".rna", Rounding::nearest_away};

class Operations {
 public:
  void convert(Format from, Format to, const Direction& direction) {
    add("cvt" + std::string(direction.word), {.kind = ElementKind::convert, .from = from, .to = to}, direction.rounding);
  }
  /// Exact: PTX takes no rounding there.
  void widen(Format from, Format to) {
    add("cvt", {.kind = ElementKind::convert, .from = from, .to = to}, Rounding::nearest_even);
  }
  void relu(Format from, Format to) {
    add("cvt.rn.relu", {.kind = ElementKind::convert, .from = from, .to = to, .relu = true}, Rounding::nearest_even);
  }
  void saturate(Format from, Format to, const Direction& direction) {
    ElementModel model{.kind = ElementKind::convert, .from = from, .to = to};
    model.options.policy = emu::Policy::saturating;
    add("cvt" + std::string(direction.word) + ".satfinite", model, direction.rounding);
  }
  void arithmetic(Format format, std::span<const Direction> directions) {
    constexpr std::array words{std::pair{"add", ElementKind::add}, std::pair{"sub", ElementKind::subtract},
                               std::pair{"mul", ElementKind::multiply}, std::pair{"fma", ElementKind::fma}};
    for (const auto& [word, kind] : words)
      for (const Direction& direction : directions)
        add(word + std::string(direction.word), {.kind = kind, .from = format, .to = format}, direction.rounding);
  }

  std::vector<ElementOperation> all;

 private:
  void add(std::string instruction, ElementModel model, Rounding rounding) {
    model.options.rounding = rounding;
    instruction += '.' + ptx_word(model.to);
    if (model.kind == ElementKind::convert) instruction += '.' + ptx_word(model.from);
    all.push_back({std::move(instruction), model});
  }
};

}  // namespace

std::string ptx_word(Format format) {
  if (format == emu::bfloat16) return "bf16";
  if (format == emu::tf32) return "tf32";
  if (format == emu::float16 || format == emu::float32 || format == emu::float64) return "f" + std::to_string(format.bits());
  const std::string fields = "e" + std::to_string(format.exponent_bits) + "m" + std::to_string(format.fraction_bits);
  return format.is_signed() ? fields : "u" + fields;
}

std::shared_ptr<const Elementwise> emulated_elements(std::string device, int capability) {
  using namespace emu;
  constexpr std::array directions{rn, rz, rm, rp};
  Operations operations;
  for (const Direction& direction : directions) operations.convert(float64, float32, direction);
  for (const Format wide : {float32, float64}) operations.arithmetic(wide, directions);
  operations.arithmetic(float16, std::array{rn});
  for (const Direction& direction : {rn, rz}) operations.convert(float32, float16, direction);
  operations.widen(float16, float32);
  if (capability >= 80) {
    operations.relu(float32, float16);
    operations.relu(float32, bfloat16);
    for (const Direction& direction : {rn, rz}) operations.convert(float32, bfloat16, direction);
    operations.convert(float32, tf32, rna);
  }
  if (capability >= 90) operations.arithmetic(bfloat16, std::array{rn});
  if (capability >= 89) {
    for (const Format byte : {float8_e4m3fn, float8_e5m2}) {
      operations.saturate(float32, byte, rn);
      operations.convert(byte, float16, rn);
    }
  }
  if (capability >= 100) {
    for (const Format narrow : {float6_e3m2fn, float6_e2m3fn, float4_e2m1fn}) {
      operations.saturate(float32, narrow, rn);
      operations.convert(narrow, float16, rn);
    }
    for (const Direction& direction : {rz, rp}) operations.saturate(float32, float8_e8m0fnu, direction);
  }
  return std::make_shared<EmulatedElements>(std::move(device), std::move(operations.all));
}

}  // namespace ulpscope::gpu

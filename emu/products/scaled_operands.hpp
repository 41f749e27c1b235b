// SPDX-License-Identifier: Apache-2.0
// Products of an engine that multiplies each of them by a power of two (Engine::product_exponent), as those of one that does
// not: operands are multiplied instead, which makes them numbers of a format with another bias.
#pragma once

#include <cmath>
#include <vector>

#include "emu/bits.hpp"
#include "emu/engine_matmul.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"

namespace ulpscope::emu::detail {

/// How a power of two is shared by two operands, so that both stay within a float's normal numbers.
struct OperandExponents {
  int a, b;
  explicit constexpr OperandExponents(const Engine& engine) noexcept
      : a(engine.product_exponent / 2), b(engine.product_exponent - a) {}
};

/// The format whose numbers are those of `format` times 2^exponent.
constexpr Format times_power_of_two(Format format, int exponent) noexcept {
  format.bias -= exponent;
  return format;
}

/// The engine without the power of two.
constexpr Engine without_product_exponent(Engine engine) noexcept {
  engine.product_exponent = 0;
  return engine;
}

/// @throws Error where Float has no room for numbers of the format that are multiplied
template <class Float>
void scale_operand(EngineOperand<Float>& operand, int exponent, std::vector<Float>& values) {
  constexpr Format storage = sizeof(Float) == sizeof(float) ? float32 : float64;
  const Format scaled = times_power_of_two(operand.format, exponent);
  if (scaled.min_spacing_exponent() < storage.min_exponent() || scaled.max_exponent() > storage.max_exponent())
    throw Error("the engine multiplies products of " + format_name(operand.format) + " by powers of two beyond what " +
                format_name(storage) + " holds");
  const auto factor = static_cast<Float>(power_of_two(exponent));
  values.assign(operand.values.begin(), operand.values.end());
  for (Float& x : values) x *= factor;
  operand.format = scaled;
  operand.values = values;
}

/// The same product but for C, which joins the sums after they are multiplied back: `a` and `b` keep the operands.
/// @throws Error where the factors of the sums are beyond float32
template <class Float>
EngineMatmul<Float> with_scaled_operands(EngineMatmul<Float> problem, std::vector<Float>& a, std::vector<Float>& b) {
  const OperandExponents exponents(problem.engine);
  scale_operand(problem.a, exponents.a, a);
  scale_operand(problem.b, exponents.b, b);
  problem.scale_a.whole *= static_cast<float>(power_of_two(-problem.engine.product_exponent));
  if (!std::isfinite(problem.scale_a.whole * problem.scale_b.whole))
    throw Error("the scales of whole operands times 2^" + std::to_string(-problem.engine.product_exponent) +
                ", by which the engine's sums are multiplied back, are beyond float32");
  problem.engine = without_product_exponent(problem.engine);
  return problem;
}

}  // namespace ulpscope::emu::detail

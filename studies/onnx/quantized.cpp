// SPDX-License-Identifier: Apache-2.0
// Operators between numbers and their codes under scales and zero points.
#include <algorithm>
#include <cmath>

#include "emu/bulk.hpp"
#include "emu/names.hpp"
#include "studies/onnx/operators.hpp"

namespace ulpscope::studies::onnx {
namespace {

using Kind = Value::Kind;

/// Scales and zero points of QuantizeLinear and DequantizeLinear, one for each element of x.
Value of_elements(const Value& parameter, const Value& x, const Call& call) {
  if (parameter.count() == 1) return stretched(reshaped(parameter, {}), x.shape);
  const std::size_t axis = axis_of(call.whole("axis", 1), x.shape.size());
  const std::int64_t given = call.whole("block_size", 0);
  if (given < 0) throw Error("block_size " + std::to_string(given));
  const auto block = static_cast<std::size_t>(given);
  Shape shape(x.shape.size(), 1);
  if (block == 0) {
    if (parameter.shape.size() != 1) throw Error("scales of " + words_of(parameter.shape));
    shape[axis] = parameter.count();
    broadcast(shape, x.shape);
    return stretched(reshaped(parameter, shape), x.shape);
  }
  const std::vector<std::size_t> strides = strides_of(parameter.shape);
  if (parameter.shape.size() != x.shape.size())
    throw Error("scales of " + words_of(parameter.shape) + " for " + words_of(x.shape));
  for (std::size_t d = 0; d < x.shape.size(); ++d)
    if (parameter.shape[d] < (d == axis ? (x.shape[d] + block - 1) / block : x.shape[d]))
      throw Error("scales of " + words_of(parameter.shape) + " for " + words_of(x.shape));
  return moved(parameter, x.shape, [&](const std::vector<std::size_t>& at) {
    std::size_t index = 0;
    for (std::size_t d = 0; d < at.size(); ++d) index += (d == axis ? at[d] / block : at[d]) * strides[d];
    return index;
  });
}

std::vector<Value> quantize(const Call& call) {
  const Value& x = call.in(0);
  if (!x.is_real()) throw NotComputed("of " + x.dtype);
  const Value scale = of_elements(call.in(1).as_real(), x, call);
  const Value* const zero = call.maybe(2);
  std::string dtype = zero != nullptr ? zero->dtype : "uint8";
  if (zero == nullptr && call.whole("output_dtype", 0) != 0)
    dtype = tensors::onnx_dtype(call.whole("output_dtype", 0)).value_or("");
  if (dtype.empty()) throw NotComputed("to type " + std::to_string(call.whole("output_dtype", 0)));
  Value out = make(kind_of(dtype), x.shape, dtype);
  if (out.is_real()) {
    const auto format = emu::parse_format(dtype);
    std::vector<float> quotients(x.count());
    for (std::size_t i = 0; i < quotients.size(); ++i) quotients[i] = x.reals[i] / scale.reals[i];
    const emu::Policy policy = call.whole("saturate", 1) != 0 ? emu::Policy::saturating : emu::Policy::nonsaturating;
    emu::round_to<float>(*format, quotients, out.reals, {.policy = policy});
    return {out};
  }
  const Value zeros = zero != nullptr ? of_elements(zero->as_integers(), x, call) : make(Kind::whole, x.shape);
  const tensors::DType type{dtype, {}};
  const bool is_signed = dtype.starts_with("int");
  const double high = std::ldexp(1.0, type.integer_bits() - (is_signed ? 1 : 0)) - 1, low = is_signed ? -high - 1 : 0;
  for (std::size_t i = 0; i < out.wholes.size(); ++i) {
    const double code = std::nearbyint(static_cast<double>(x.reals[i] / scale.reals[i])) + static_cast<double>(zeros.wholes[i]);
    out.wholes[i] = static_cast<std::int64_t>(std::isnan(code) ? low : std::clamp(code, low, high));
  }
  return {out};
}

/// To uint8, with the scale and zero point of the range that 0 and all elements have.
std::vector<Value> dynamic_quantize(const Call& call) {
  const Value& x = call.in(0).as_real();
  float low = 0, high = 0;
  for (const float one : x.reals) low = std::min(low, one), high = std::max(high, one);
  const float scale = (high - low) / 255.0F, zero = scale == 0 ? 0.0F : std::clamp(std::nearbyint(-low / scale), 0.0F, 255.0F);
  Value codes = make(Kind::whole, x.shape, "uint8"), scales = make(Kind::real, {}), zeros = make(Kind::whole, {}, "uint8");
  for (std::size_t i = 0; i < x.count(); ++i) {
    const float code = scale == 0 || std::isnan(x.reals[i]) ? zero : std::nearbyint(x.reals[i] / scale) + zero;
    codes.wholes[i] = static_cast<std::int64_t>(std::clamp(code, 0.0F, 255.0F));
  }
  scales.reals[0] = scale, zeros.wholes[0] = static_cast<std::int64_t>(zero);
  return {codes, scales, zeros};
}

std::vector<Value> dequantize(const Call& call) {
  const Value& x = call.in(0);
  const Value scale = of_elements(call.in(1).as_real(), x, call);
  const Value* const zero = call.maybe(2);
  Value out = make(Kind::real, x.shape);
  if (x.is_real()) {
    for (std::size_t i = 0; i < out.reals.size(); ++i) out.reals[i] = x.reals[i] * scale.reals[i];
    return {out};
  }
  const Value zeros = zero != nullptr ? of_elements(zero->as_integers(), x, call) : make(Kind::whole, x.shape);
  for (std::size_t i = 0; i < out.reals.size(); ++i) out.reals[i] = static_cast<float>(x.at(i) - zeros.at(i)) * scale.reals[i];
  return {out};
}

constexpr Operator quantized_table[] = {
    {"DequantizeLinear", dequantize}, {"DynamicQuantizeLinear", dynamic_quantize}, {"QuantizeLinear", quantize}};

}  // namespace

std::span<const Operator> quantized_operators() { return quantized_table; }

}  // namespace ulpscope::studies::onnx

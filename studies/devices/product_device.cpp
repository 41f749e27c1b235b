// SPDX-License-Identifier: Apache-2.0
// A model as products that the device's emulator multiplies.
#include "studies/devices/product_device.hpp"

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "studies/devices/product_operands.hpp"
#include "studies/devices/product_prediction.hpp"

namespace ulpscope::studies {
namespace {

using emu::Code, emu::Format;

OwnMatrix taken(const gpu::ConstMatrix& matrix, Format to, emu::Rounding rounding) {
  OwnMatrix result{to, matrix.rows, matrix.columns,
                   std::vector<std::byte>(matrix.rows * matrix.columns * gpu::bytes_per_code(to))};
  emu::RoundingOptions options;
  options.rounding = rounding;
  for (std::size_t i = 0; i < matrix.rows * matrix.columns; ++i) {
    const Code code = gpu::load_code(matrix.format, matrix.codes.data(), i);
    gpu::store_code(to, result.codes.data(), i,
                    to == matrix.format ? code : emu::convert(matrix.format, code, to, options).code);
  }
  return result;
}

bool can_say(const ProductModel& model) {
  if (!model.scaling.words.empty() || model.engine.engine.scales != emu::EngineScales::none) return false;
  const auto& parts = model.cut->parts;
  if (parts.size() == 1) return true;
  const Format accumulator = model.engine.engine.accumulator;
  if (model.promote > 0 || accumulator != emu::float32 || model.join.order != emu::Reduction::ascending ||
      model.join.stored != accumulator || model.join.summed != accumulator)
    return false;
  const std::size_t length = parts.front().front().end;
  for (const KPart& part : parts)
    if (part.size() != 1 || part.front().end - part.front().begin != length) return false;
  return model.engine.engine.products > 0 && length % static_cast<std::size_t>(model.engine.engine.products) == 0;
}

}  // namespace

std::optional<std::vector<Code>> predict_on_device(const gpu::DeviceEmulator& emulator, const gpu::LibraryCall& call,
                                                   const ProductModel& model, const gpu::MatrixProduct& product) {
  if (!can_say(model)) return std::nullopt;
  const OwnMatrix a = taken(product.a, model.operands.a, model.operands.rounding);
  const OwnMatrix b = taken(product.b, model.operands.b, model.operands.rounding);
  const std::size_t parts = model.cut->parts.size();
  const Format sums = parts > 1 || model.promote > 0 ? emu::float32 : model.engine.engine.accumulator;
  std::vector<std::byte> stored(product.m() * product.n() * gpu::bytes_per_code(sums));
  emulator.multiply({model.engine.engine, {a.view(), b.view(), {}}, model.promote, parts}, stored);
  std::vector<Code> codes;
  for (std::size_t i = 0; i < product.m() * product.n(); ++i)
    codes.push_back(emu::convert(sums, gpu::load_code(sums, stored.data(), i), call.d, result_rounding(call.d)).code);
  return codes;
}

}  // namespace ulpscope::studies

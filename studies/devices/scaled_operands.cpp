// SPDX-License-Identifier: Apache-2.0
// Finds the greatest magnitude under each scale and divides by it.
#include "studies/devices/scaled_operands.hpp"

#include <algorithm>
#include <cmath>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"

namespace ulpscope::studies {
namespace {

using emu::Code, emu::Format;

double number_at(const OwnMatrix& matrix, std::size_t i) {
  return emu::decode(matrix.format, gpu::load_code(matrix.format, matrix.codes.data(), i));
}

Code scale_code(Format format, double ratio) {
  emu::RoundingOptions options;
  if (format == emu::float8_e8m0fnu) options.rounding = emu::Rounding::upward;
  const Code code = emu::encode(format, ratio, options);
  return emu::decode(format, code) > 0 ? code : emu::encode(format, 1.0);
}

}  // namespace

ScaledOperand scaled_operand(Format format, gpu::ScaleMode mode, gpu::OperandSide side, const OwnMatrix& numbers) {
  const bool of_a = side == gpu::OperandSide::a;
  const std::size_t rows = numbers.rows, columns = numbers.columns;
  const gpu::ScaleModeFacts facts = gpu::facts_of(mode);
  const gpu::ScaleExtent extent = gpu::scale_extent(mode, side, of_a ? rows : columns, of_a ? columns : rows);
  const auto place = [&](std::size_t i, std::size_t j) {
    const std::size_t down = of_a ? facts.lines : facts.products, across = of_a ? facts.products : facts.lines;
    return (down == 0 ? 0 : i / down) * extent.columns + (across == 0 ? 0 : j / across);
  };
  std::vector<double> greatest(extent.rows * extent.columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      greatest[place(i, j)] = std::max(greatest[place(i, j)], std::abs(number_at(numbers, i * columns + j)));

  ScaledOperand scaled{
      {format, rows, columns, std::vector<std::byte>(rows * columns * gpu::bytes_per_code(format))},
      {facts.format, extent.rows, extent.columns, std::vector<std::byte>(greatest.size() * gpu::bytes_per_code(facts.format))}};
  const double most = emu::decode(format, format.max_finite_code());
  for (std::size_t s = 0; s < greatest.size(); ++s)
    gpu::store_code(facts.format, scaled.scales.codes.data(), s, scale_code(facts.format, greatest[s] / most));
  emu::RoundingOptions options;
  options.policy = emu::Policy::saturating;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      const double quotient = number_at(numbers, i * columns + j) / number_at(scaled.scales, place(i, j));
      gpu::store_code(format, scaled.matrix.codes.data(), i * columns + j, emu::encode(format, quotient, options));
    }
  return scaled;
}

}  // namespace ulpscope::studies

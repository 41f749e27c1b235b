// SPDX-License-Identifier: Apache-2.0
#include "emu/matmul_operands.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <sstream>

#include "emu/bulk.hpp"
#include "emu/names.hpp"
#include "emu/tasks.hpp"

namespace ulpscope::emu::detail {
namespace {

/// A finite value as the panels hold it.
float packed(float x, int least_exponent, bool flush) noexcept {
  const auto word = bit_cast<std::uint32_t>(x);
  const std::uint32_t magnitude = word & 0x7fffffff;
  if (magnitude >= 0x7f800000) return 0;
  return flush && static_cast<int>(magnitude >> 23) - 127 < least_exponent ? 0 : x;
}

template <class Exponent>
Exponent packed_exponent(float x, int least_exponent) noexcept {
  return x == 0 ? exponent_of_zero<Exponent> : static_cast<Exponent>(nominal_exponent(x, least_exponent));
}

}  // namespace

Error not_of_format(const char* name, Format format, std::size_t row, std::size_t column, double value) {
  std::ostringstream message;
  message << name << ": element (" << row << ", " << column << ") is " << std::hexfloat << value << ", which is not a value of "
          << format_name(format) << ": round the matrix to that format first";
  return Error(message.str());
}

CheckedOperand::CheckedOperand(const char* name, const EngineOperand<float>& operand, bool along_rows, int threads)
    : operand_(operand),
      least_exponent_(operand.format.min_exponent()),
      lines_(along_rows ? operand.rows() : operand.columns()) {
  if (operand.values.size() < operand.shape.extent())
    throw Error(std::string(name) + ": has " + std::to_string(operand.values.size()) + " values, its shape needs " +
                std::to_string(operand.shape.extent()));
  const bool lines_are_rows = along_rows != operand.transposed;
  std::mutex listing;
  for_each_task(operand.shape.rows, threads, [&](std::size_t i) {
    constexpr std::size_t chunk = 1024;
    std::array<float, chunk> rounded;
    for (std::size_t j = 0; j < operand.shape.columns; j += chunk) {
      const std::size_t count = std::min(chunk, operand.shape.columns - j);
      const auto values = operand.values.subspan(operand.shape.at(i, j), count);
      round_to(operand.format, values, std::span(rounded).first(count));
      for (std::size_t x = 0; x < count; ++x) {
        const bool same = values[x] == rounded[x] || (std::isnan(values[x]) && std::isnan(rounded[x]));
        if (!same)
          throw operand.transposed ? not_of_format(name, operand.format, j + x, i, double{values[x]})
                                   : not_of_format(name, operand.format, i, j + x, double{values[x]});
        if (std::isfinite(values[x])) continue;
        const std::lock_guard lock(listing);
        specials_.resize(lines_);
        specials_[lines_are_rows ? i : j + x].push_back(static_cast<std::uint32_t>(lines_are_rows ? j + x : i));
      }
    }
  });
  for (auto& line : specials_) std::sort(line.begin(), line.end());
}

const std::vector<std::uint32_t>& CheckedOperand::specials(std::size_t line) const noexcept {
  static const std::vector<std::uint32_t> none;
  return specials_.empty() ? none : specials_[line];
}

void CheckedOperand::add_special(std::size_t line, std::size_t k) {
  specials_.resize(lines_);
  specials_[line].push_back(static_cast<std::uint32_t>(k));
}

void CheckedOperand::pack_rows(const PanelLayout& layout, std::size_t row, std::size_t begin, std::size_t end,
                               RowPanel& panel) const {
  const std::size_t steps = (end - begin + layout.products - 1) / layout.products;
  panel.rows = std::min(panel_rows, operand_.rows() - row);
  panel.values.resize(steps * panel_rows * layout.products);
  panel.exponents.resize(steps * panel_rows * layout.products);
  for (std::size_t i = 0; i < panel.rows; ++i)
    for (std::size_t s = 0; s < steps; ++s) {
      const std::size_t first = begin + s * layout.products, to = (s * panel_rows + i) * layout.products;
      for (std::size_t p = 0; p < layout.products; ++p) {
        const float x = first + p < end ? packed(operand_.at(row + i, first + p), least_exponent_, layout.flush) : 0;
        panel.values[to + p] = x;
        panel.exponents[to + p] =
            layout.wide ? static_cast<std::uint16_t>(packed_exponent<std::int16_t>(x, least_exponent_)) * 0x10001u
                        : static_cast<std::uint8_t>(packed_exponent<std::int8_t>(x, least_exponent_)) * 0x1010101u;
      }
    }
}

void CheckedOperand::pack_columns(const PanelLayout& layout, std::size_t column, std::size_t begin, std::size_t end,
                                  ColumnPanel& panel) const {
  const std::size_t depth = (end - begin + layout.products - 1) / layout.products * layout.products;
  const std::size_t columns = std::min(panel_columns, operand_.columns() - column);
  panel.values.resize(depth * panel_columns);
  layout.wide ? panel.exponents16.resize(depth * panel_columns) : panel.exponents8.resize(depth * panel_columns);
  float* const values = panel.values.data();
  for (std::size_t k = 0; k < depth; ++k) {
    float* const to = values + k * panel_columns;
    std::fill_n(to, panel_columns, 0.0F);
    if (begin + k < end)
      for (std::size_t j = 0; j < columns; ++j)
        to[j] = packed(operand_.at(begin + k, column + j), least_exponent_, layout.flush);
  }
  const std::size_t count = depth * panel_columns;
  if (layout.wide)
    std::transform(values, values + count, panel.exponents16.data(),
                   [this](float x) { return packed_exponent<std::int16_t>(x, least_exponent_); });
  else
    std::transform(values, values + count, panel.exponents8.data(),
                   [this](float x) { return packed_exponent<std::int8_t>(x, least_exponent_); });
}

}  // namespace ulpscope::emu::detail

// SPDX-License-Identifier: Apache-2.0
// Packs lines side by side, as the kernels read them, while they are checked.
#include "emu/products/operands.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <sstream>
#include <type_traits>

#include "emu/bulk.hpp"
#include "emu/names.hpp"
#include "emu/tasks.hpp"

namespace ulpscope::emu::detail {
namespace {

// Selects instead of branches: the loops over these are vectorised.

/// How finite values become those of a panel; others become zeros.
struct Packing {
  float least;              ///< smaller magnitudes count as zero
  std::uint32_t zero_sign;  ///< the sign bit, if zeros keep theirs

  float operator()(float x) const noexcept {
    const auto word = bit_cast<std::uint32_t>(x);
    const float magnitude = bit_cast<float>(word & 0x7fffffff);
    return magnitude >= least && magnitude <= 0x1.fffffep127F ? x : bit_cast<float>(word & zero_sign);
  }
};

template <class Exponent>
Exponent packed_exponent(float x, int least_exponent) noexcept {
  const auto zero = static_cast<int>(exponent_of_zero<Exponent>);
  return static_cast<Exponent>(x == 0 ? zero : nominal_exponent(x, least_exponent));
}

/// Copies values[i] for i < count to a panel.
void pack(const float* values, std::size_t count, const Packing& packing, float* out) noexcept {
  for (std::size_t i = 0; i < count; ++i) out[i] = packing(values[i]);
}
template <class Exponent, class Out>
void pack_exponents(const float* values, std::size_t count, int least_exponent, Out repeat, Out* out) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const auto exponent = packed_exponent<Exponent>(values[i], least_exponent);
    out[i] = static_cast<Out>(static_cast<Out>(static_cast<std::make_unsigned_t<Exponent>>(exponent)) * repeat);
  }
}

Packing packing_of(const PanelLayout& layout, int least_exponent) noexcept {
  constexpr float least_number = 0x1p-149F;
  return {layout.flush ? static_cast<float>(power_of_two(least_exponent)) : least_number,
          layout.positive_zeros ? 0 : std::uint32_t{1} << 31};
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

const float* CheckedOperand::stored(std::size_t i, std::size_t j) const noexcept {
  return operand_.values.data() + (operand_.transposed ? operand_.shape.at(j, i) : operand_.shape.at(i, j));
}

void CheckedOperand::pack_rows(const PanelLayout& layout, std::size_t row, std::size_t begin, std::size_t end,
                               RowPanel& panel) const {
  const std::size_t products = layout.products, steps = (end - begin + products - 1) / products;
  panel.rows = std::min(panel_rows, operand_.rows() - row);
  panel.values.resize(steps * panel_rows * products);
  panel.exponents.resize(steps * panel_rows * products);
  const std::size_t stride = operand_.transposed ? operand_.shape.stride : 1;
  const Packing packing = packing_of(layout, least_exponent_);
  std::vector<float> line(steps * products), values(steps * products);
  std::vector<std::uint32_t> exponents(steps * products);
  for (std::size_t i = 0; i < panel.rows; ++i) {
    const float* const from = stored(row + i, begin);
    for (std::size_t k = 0; k < end - begin; ++k) line[k] = from[k * stride];
    pack(line.data(), line.size(), packing, values.data());
    if (layout.wide)
      pack_exponents<std::int16_t>(values.data(), values.size(), least_exponent_, std::uint32_t{0x10001}, exponents.data());
    else
      pack_exponents<std::int8_t>(values.data(), values.size(), least_exponent_, std::uint32_t{0x1010101}, exponents.data());
    for (std::size_t s = 0; s < steps; ++s) {
      const std::size_t to = (s * panel_rows + i) * products;
      std::copy_n(values.data() + s * products, products, panel.values.data() + to);
      std::copy_n(exponents.data() + s * products, products, panel.exponents.data() + to);
    }
  }
}

void CheckedOperand::pack_columns(const PanelLayout& layout, std::size_t column, std::size_t begin, std::size_t end,
                                  ColumnPanel& panel) const {
  const std::size_t depth = (end - begin + layout.products - 1) / layout.products * layout.products;
  const std::size_t columns = std::min(panel_columns, operand_.columns() - column), count = depth * panel_columns;
  panel.values.resize(count);
  float* const values = panel.values.data();
  const Packing packing = packing_of(layout, least_exponent_);
  if (columns < panel_columns || end - begin < depth) std::fill_n(values, count, 0.0F);
  if (operand_.transposed) {
    for (std::size_t j = 0; j < columns; ++j) {
      const float* const from = stored(begin, column + j);
      for (std::size_t k = 0; k < end - begin; ++k) values[k * panel_columns + j] = packing(from[k]);
    }
  } else {
    for (std::size_t k = 0; k < end - begin; ++k) pack(stored(begin + k, column), columns, packing, values + k * panel_columns);
  }
  if (layout.wide) {
    panel.exponents16.resize(count);
    pack_exponents<std::int16_t>(values, count, least_exponent_, std::int16_t{1}, panel.exponents16.data());
  } else {
    panel.exponents8.resize(count);
    pack_exponents<std::int8_t>(values, count, least_exponent_, std::int8_t{1}, panel.exponents8.data());
  }
}

}  // namespace ulpscope::emu::detail

// SPDX-License-Identifier: Apache-2.0
// Packs lines side by side, as the kernels read them, while they are checked.
#include "emu/products/operands.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <sstream>
#include <type_traits>

#include "emu/bulk.hpp"
#include "emu/encode.hpp"
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
  return x == 0 ? exponent_of_zero<Exponent> : static_cast<Exponent>(nominal_exponent(x, least_exponent));
}

/// Copies values[i] for i < count to a panel.
void pack(const float* values, std::size_t count, const Packing& packing, float* out) noexcept {
  for (std::size_t i = 0; i < count; ++i) out[i] = packing(values[i]);
}

/// Copies a block of `lines` by `depth` turned round: element k of line i, which stands at from[i * distance + k], to
/// out[k * width + i].
void pack_turned(const float* from, std::size_t distance, std::size_t lines, std::size_t depth, const Packing& packing,
                 float* out, std::size_t width) noexcept {
  constexpr std::size_t at_once = 16;  // k whose lines of `out` stay in the nearest cache
  for (std::size_t first = 0; first < depth; first += at_once) {
    const std::size_t end = std::min(depth, first + at_once);
    for (std::size_t i = 0; i < lines; ++i)
      for (std::size_t k = first; k < end; ++k) out[k * width + i] = packing(from[i * distance + k]);
  }
}

/// Copies whole steps of `lines` lines: element k of line i, which stands at from[i * distance + k].
template <std::size_t products>
void pack_steps(const float* from, std::size_t distance, std::size_t lines, std::size_t steps, const Packing& packing,
                float* out) noexcept {
  constexpr std::size_t at_once = 16;  // steps whose lines of `out` stay in the nearest cache
  for (std::size_t first = 0; first < steps; first += at_once) {
    const std::size_t end = std::min(steps, first + at_once);
    for (std::size_t i = 0; i < lines; ++i)
      for (std::size_t s = first; s < end; ++s)
        for (std::size_t p = 0; p < products; ++p)
          out[(s * panel_rows + i) * products + p] = packing(from[i * distance + s * products + p]);
  }
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

namespace {

/// What a look at a run of elements saw.
struct Seen {
  bool other = false;    ///< an element is no value of the format, or NaN
  bool special = false;  ///< an element is infinite or NaN
};

Seen look(Format format, std::span<const float> values) {
  constexpr std::size_t chunk = 1024;
  std::array<float, chunk> rounded;
  std::uint32_t other = 0, special = 0;
  for (std::size_t first = 0; first < values.size(); first += chunk) {
    const std::span<const float> some = values.subspan(first, std::min(chunk, values.size() - first));
    round_to(format, some, std::span(rounded).first(some.size()));
    for (std::size_t i = 0; i < some.size(); ++i) {
      other |= some[i] == rounded[i] ? 0U : 1U;
      special |= (bit_cast<std::uint32_t>(some[i]) & 0x7f800000U) == 0x7f800000U ? 1U : 0U;
    }
  }
  return {other != 0, special != 0};
}

/// The first element that is no value of the format, or how many there are.
std::size_t first_other(Format format, std::span<const float> values) {
  const auto is_value = [&](float x) {
    const double wide{x}, rounded = round_to(format, wide).value;
    return wide == rounded || (std::isnan(wide) && std::isnan(rounded));
  };
  return static_cast<std::size_t>(std::find_if_not(values.begin(), values.end(), is_value) - values.begin());
}

}  // namespace

void CheckedOperand::check(const char* name, const EngineOperand<float>& operand, bool along_rows, int threads) {
  operand_ = operand;
  least_exponent_ = operand.format.min_exponent();
  lines_ = along_rows ? operand.rows() : operand.columns();
  specials_.clear();
  if (operand.values.size() < operand.shape.extent())
    throw Error(std::string(name) + ": has " + std::to_string(operand.values.size()) + " values, its shape needs " +
                std::to_string(operand.shape.extent()));
  // Rows that follow one another without a gap are looked at together.
  const MatrixShape& shape = operand.shape;
  constexpr std::size_t worth_a_thread = std::size_t{1} << 16;
  const std::size_t at_once = std::max<std::size_t>(worth_a_thread / std::max<std::size_t>(shape.columns, 1), 1);
  constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  std::atomic<std::size_t> first_bad{none};
  std::atomic<bool> any_special{false};
  const auto see = [&](std::size_t row, std::size_t column, std::size_t count) {
    const std::span<const float> values = operand.values.subspan(shape.at(row, column), count);
    const Seen seen = look(operand.format, values);
    if (seen.special) any_special = true;
    if (!seen.other) return;
    const std::size_t bad = first_other(operand.format, values);
    if (bad == count) return;
    const std::size_t place = row * shape.columns + column + bad;
    for (std::size_t least = first_bad; place < least && !first_bad.compare_exchange_weak(least, place);) {
    }
  };
  for_each_task((shape.rows + at_once - 1) / at_once, threads, [&](std::size_t task) {
    const std::size_t begin = task * at_once, end = std::min(shape.rows, begin + at_once);
    if (shape.columns == 0) return;
    if (shape.stride == shape.columns) return see(begin, 0, (end - begin) * shape.columns);
    for (std::size_t i = begin; i < end; ++i) see(i, 0, shape.columns);
  });
  if (const std::size_t bad = first_bad; bad != none) {
    const std::size_t i = bad / shape.columns, j = bad % shape.columns;
    const double value{operand.values[shape.at(i, j)]};
    throw operand.transposed ? not_of_format(name, operand.format, j, i, value)
                             : not_of_format(name, operand.format, i, j, value);
  }
  if (any_special) list_specials(along_rows != operand.transposed);
}

void CheckedOperand::list_specials(bool lines_are_rows) {
  specials_.resize(lines_);
  for (std::size_t i = 0; i < operand_.shape.rows; ++i)
    for (std::size_t j = 0; j < operand_.shape.columns; ++j)
      if (!std::isfinite(operand_.values[operand_.shape.at(i, j)]))
        specials_[lines_are_rows ? i : j].push_back(static_cast<std::uint32_t>(lines_are_rows ? j : i));
}

std::span<const std::uint32_t> CheckedOperand::specials(std::size_t line) const noexcept {
  return specials_.empty() ? std::span<const std::uint32_t>() : specials_[line];
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
  const std::size_t products = layout.products, count = end - begin, steps = (count + products - 1) / products;
  panel.rows = std::min(panel_rows, operand_.rows() - row);
  panel.values.resize(steps * panel_rows * products);
  float* const values = panel.values.data();
  const Packing packing = packing_of(layout, least_exponent_);
  const int least = least_operand_exponent(operand_.format, layout.as_float16);
  const float* const from = stored(row, begin);
  const std::size_t stride = operand_.transposed ? operand_.shape.stride : 1;
  const std::size_t distance = operand_.transposed ? 1 : operand_.shape.stride;
  if (products == 1 && stride == 1) {
    pack_turned(from, distance, panel.rows, count, packing, values, panel_rows);
  } else if (products == 1) {
    for (std::size_t k = 0; k < count; ++k) pack(from + k * stride, panel.rows, packing, values + k * panel_rows);
  } else {
    const std::size_t whole = stride == 1 ? count / products : 0;
    std::size_t packed = whole;
    switch (products) {
      case 2: pack_steps<2>(from, distance, panel.rows, whole, packing, values); break;
      case 4: pack_steps<4>(from, distance, panel.rows, whole, packing, values); break;
      case 8: pack_steps<8>(from, distance, panel.rows, whole, packing, values); break;
      case 16: pack_steps<16>(from, distance, panel.rows, whole, packing, values); break;
      case 32: pack_steps<32>(from, distance, panel.rows, whole, packing, values); break;
      default: packed = 0;
    }
    for (std::size_t s = packed; s < steps; ++s) {
      const std::size_t first = s * products, there = std::min(products, count - first);
      for (std::size_t i = 0; i < panel.rows; ++i) {
        float* const to = values + (s * panel_rows + i) * products;
        for (std::size_t p = 0; p < there; ++p) to[p] = packing(from[i * distance + (first + p) * stride]);
        std::fill(to + there, to + products, 0.0F);
      }
    }
  }
  if (!layout.exponents) return;
  panel.exponents.resize(steps * panel_rows * products);
  for (std::size_t s = 0; s < steps; ++s) {
    const std::size_t at = s * panel_rows * products, size = panel.rows * products;
    std::uint32_t* const exponents = panel.exponents.data() + at;
    if (layout.wide)
      pack_exponents<std::int16_t>(values + at, size, least, std::uint32_t{0x10001}, exponents);
    else
      pack_exponents<std::int8_t>(values + at, size, least, std::uint32_t{0x1010101}, exponents);
  }
}

void CheckedOperand::pack_columns(const PanelLayout& layout, std::size_t column, std::size_t begin, std::size_t end,
                                  ColumnPanel& panel) const {
  const std::size_t depth = (end - begin + layout.products - 1) / layout.products * layout.products;
  const std::size_t columns = std::min(panel_columns, operand_.columns() - column), count = depth * panel_columns;
  panel.columns = columns;
  panel.values.resize(count);
  float* const values = panel.values.data();
  const Packing packing = packing_of(layout, least_exponent_);
  const int least = least_operand_exponent(operand_.format, layout.as_float16);
  if (columns < panel_columns || end - begin < depth) std::fill_n(values, count, 0.0F);
  if (operand_.transposed)
    pack_turned(stored(begin, column), operand_.shape.stride, columns, end - begin, packing, values, panel_columns);
  else
    for (std::size_t k = 0; k < end - begin; ++k) pack(stored(begin + k, column), columns, packing, values + k * panel_columns);
  if (!layout.exponents) return;
  if (layout.wide) {
    panel.exponents16.resize(count);
    pack_exponents<std::int16_t>(values, count, least, std::int16_t{1}, panel.exponents16.data());
  } else {
    panel.exponents8.resize(count);
    pack_exponents<std::int8_t>(values, count, least, std::int8_t{1}, panel.exponents8.data());
  }
}

}  // namespace ulpscope::emu::detail

// SPDX-License-Identifier: Apache-2.0
// One pass over each tensor.
#include "studies/info/info.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <type_traits>

#include "emu/decode.hpp"
#include "studies/info/integer_cells.hpp"

namespace ulpscope::studies {
namespace {

/// Calls act(elements) for all of a tensor, piece by piece.
template <class Element, class Act>
void for_each_piece(const tensors::Tensor& tensor, Act act) {
  const std::uint64_t count = tensor.count();
  std::vector<Element> piece(1 << 16);
  for (std::uint64_t first = 0; first < count; first += piece.size()) {
    const auto part = std::span(piece).first(static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), count - first)));
    if constexpr (std::is_same_v<Element, double>)
      tensor.source->read(first, part);
    else
      tensor.source->read_codes(first, part);
    act(std::span<const Element>(part));
  }
}

/// min, max, min_abs and zero of integers of 64 bits.
std::array<reports::Cell, 4> wide_extremes(const tensors::Tensor& tensor) {
  constexpr std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t least = last, greatest = 0, least_magnitude = last, zeros = 0;
  for_each_piece<emu::Code>(tensor, [&](std::span<const emu::Code> elements) {
    for (const emu::Code bits : elements) {
      const std::uint64_t order = flip_order(tensor.dtype, bits), magnitude = wide_magnitude(tensor.dtype, bits);
      least = std::min(least, order);
      greatest = std::max(greatest, order);
      if (magnitude == 0)
        ++zeros;
      else
        least_magnitude = std::min(least_magnitude, magnitude);
    }
  });
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto cell = [&](std::uint64_t order) { return wide_integer_cell(tensor.dtype, flip_order(tensor.dtype, order)); };
  const bool any = tensor.count() != 0;
  return {any ? cell(least) : nan, any ? cell(greatest) : nan,
          any && zeros != tensor.count() ? wide_integer_cell({"uint64", {}}, least_magnitude) : nan, reports::whole(zeros)};
}

std::vector<reports::Cell> row_of(const tensors::Tensor& tensor) {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  if (is_wide_integer(tensor.dtype)) {
    const auto [least, greatest, least_magnitude, zeros] = wide_extremes(tensor);
    const reports::Cell none = std::int64_t{0};
    return {tensor.label,
            tensor.dtype.name,
            tensors::shape_text(tensor.shape),
            reports::whole(tensor.count()),
            least,
            greatest,
            least_magnitude,
            zeros,
            none,
            none,
            none};
  }
  const double least_normal = tensor.dtype.format ? emu::min_normal(*tensor.dtype.format) : 0;
  double least = inf, greatest = -inf, least_magnitude = inf;
  std::int64_t zeros = 0, subnormals = 0, infinities = 0, nans = 0, finite = 0;
  for_each_piece<double>(tensor, [&](std::span<const double> elements) {
    for (const double x : elements) {
      if (std::isnan(x)) {
        ++nans;
      } else if (std::isinf(x)) {
        ++infinities;
      } else {
        ++finite;
        const double magnitude = std::fabs(x);
        least = std::min(least, x);
        greatest = std::max(greatest, x);
        if (magnitude == 0)
          ++zeros;
        else
          least_magnitude = std::min(least_magnitude, magnitude);
        if (magnitude != 0 && magnitude < least_normal) ++subnormals;
      }
    }
  });
  const auto number = [&](double x) -> reports::Cell {
    if (tensor.is_integer() && std::isfinite(x)) return static_cast<std::int64_t>(x);
    return x;
  };
  return {tensor.label,
          tensor.dtype.name,
          tensors::shape_text(tensor.shape),
          reports::whole(tensor.count()),
          number(finite == 0 ? nan : least),
          number(finite == 0 ? nan : greatest),
          number(std::isinf(least_magnitude) ? nan : least_magnitude),
          zeros,
          subnormals,
          infinities,
          nans};
}

/// What is known of a tensor without values.
std::vector<reports::Cell> row_without_values(const tensors::Tensor& tensor, std::size_t columns) {
  std::vector<reports::Cell> row{tensor.label, tensor.dtype.name, tensors::shape_text(tensor.shape),
                                 static_cast<std::int64_t>(tensor.count())};
  row.resize(columns, std::numeric_limits<double>::quiet_NaN());
  return row;
}

}  // namespace

reports::Table info_table(const std::vector<tensors::Tensor>& tensors) {
  reports::Table table{
      "info", {"tensor", "dtype", "shape", "count", "min", "max", "min_abs", "zero", "subnormal", "infinite", "nan"}, {}};
  for (const tensors::Tensor& tensor : tensors)
    table.rows.push_back(tensor.opaque ? row_without_values(tensor, table.columns.size()) : row_of(tensor));
  return table;
}

}  // namespace ulpscope::studies

// SPDX-License-Identifier: Apache-2.0
// One pass over each tensor.
#include "studies/info/info.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "emu/decode.hpp"

namespace ulpscope::studies {
namespace {

std::vector<reports::Cell> row_of(const tensors::Tensor& tensor) {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const double least_normal = tensor.dtype.format ? emu::min_normal(*tensor.dtype.format) : 0;
  double least = inf, greatest = -inf, least_magnitude = inf;
  std::int64_t zeros = 0, subnormals = 0, infinities = 0, nans = 0, finite = 0;
  const std::uint64_t count = tensor.count();
  std::vector<double> chunk(1 << 16);
  for (std::uint64_t first = 0; first < count; first += chunk.size()) {
    const auto part = std::span(chunk).first(static_cast<std::size_t>(std::min<std::uint64_t>(chunk.size(), count - first)));
    tensor.source->read(first, part);
    for (const double x : part) {
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
  }
  return {tensor.label,
          tensor.dtype.name,
          tensors::shape_text(tensor.shape),
          static_cast<std::int64_t>(count),
          finite == 0 ? nan : least,
          finite == 0 ? nan : greatest,
          std::isinf(least_magnitude) ? nan : least_magnitude,
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

// SPDX-License-Identifier: Apache-2.0
// Gathers elements by a kernel's layout and rounds them by its path.
#include "verify/explain/replay_operands.hpp"

#include <cstddef>
#include <optional>
#include <span>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/encode.hpp"

namespace ulpscope::verify {
namespace {

/// index_of() where some tiles are read with another leading dimension; may lie in a later matrix, or beyond all.
std::size_t index_in_last(const OperandPath& path, std::size_t i, std::size_t j, std::size_t rows, std::size_t columns) {
  const std::size_t size = rows * columns;
  if (!path.is_transposed) return path.last->has(i, j) ? path.last->place(i, j, columns) : i * columns + j;
  if (!path.last->has(j, i)) return i * columns + j;
  const std::size_t place = path.last->place(j, i, rows), in_matrix = place % size;
  return place - in_matrix + in_matrix % rows * columns + in_matrix / rows;
}

/// The index, in a buffer of `rows` by `columns`, of the element that a kernel takes for (i, j).
std::size_t index_of(const OperandPath& path, std::size_t i, std::size_t j, std::size_t rows, std::size_t columns) {
  if (path.last) return index_in_last(path, i, j, rows, columns);
  if (path.layout == Layout::misread) return j * rows + i;
  if (path.layout == Layout::stored) return i * columns + j;
  const std::size_t t = path.tile;
  return (i / t * t + j % t) * columns + j / t * t + i % t;
}

/// The index along K that a kernel reads where it is to read `k`; none for a zero.
std::optional<std::size_t> read_for(const Lag& lag, std::size_t k) {
  if (k >= lag.by) return k - lag.by;
  return lag.zero_first ? std::nullopt : std::optional(k);
}

void convert(const OperandPath& path, std::vector<double>& values) {
  for (const products::InputRounding& rounding : path.roundings) {
    if (rounding.of_float32) emu::round_to(emu::float32, std::span<const double>(values), std::span<double>(values), {}, {});
    emu::round_to(rounding.format, std::span<const double>(values), std::span<double>(values), rounding.options, {});
  }
  if (!path.read_as) return;
  const emu::Format from = path.roundings.back().format;
  for (double& x : values) x = emu::decode(*path.read_as, emu::encode(from, x) & path.read_as->code_mask());
}

/// One operand by its lines: rows of A or columns of B.
template <class At>
std::vector<double> gathered(std::size_t rows, std::size_t columns, At at) {
  std::vector<double> values;
  values.reserve(rows * columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) values.push_back(at(i, j));
  return values;
}

}  // namespace

RegionOperands fetch_operands(const MatmulData& data, const Kernel& kernel, const Region& region) {
  const auto& shape = data.shape;
  const bool swapped = kernel.operands_swapped;
  const auto from_a = std::span(data.a).subspan(shape.a_of[kernel.a.elements_of(region.matrix)] * shape.m * shape.k);
  const auto from_b = std::span(data.b).subspan(shape.b_of[kernel.b.elements_of(region.matrix)] * shape.k * shape.n);
  const std::span<const double> left = swapped ? from_b : from_a, right = swapped ? from_a : from_b;
  const auto at = [](std::span<const double> buffer, std::size_t index) { return index < buffer.size() ? buffer[index] : 0.0; };
  const OperandPath &left_path = swapped ? kernel.b : kernel.a, &right_path = swapped ? kernel.a : kernel.b;
  RegionOperands operands;
  operands.a = gathered(region.rows.size(), shape.k, [&](std::size_t i, std::size_t k) {
    const auto read = read_for(left_path.lag, k);
    return read ? at(left, index_of(left_path, region.rows[i], *read, shape.m, shape.k)) : 0.0;
  });
  operands.b = gathered(shape.k, region.columns.size(), [&](std::size_t k, std::size_t j) {
    const auto read = read_for(right_path.lag, k);
    return read ? at(right, index_of(right_path, *read, region.columns[j], shape.k, shape.n)) : 0.0;
  });
  convert(left_path, operands.a);
  convert(right_path, operands.b);
  return operands;
}

std::vector<double> fetch_c(const MatmulData& data, const Kernel& kernel, const Region& region) {
  if (data.c.empty() || kernel.epilogue.c == CUse::none) return {};
  const double* const c = data.c.data() + region.matrix * data.shape.m * data.shape.n;
  std::vector<double> values = gathered(region.rows.size(), region.columns.size(), [&](std::size_t i, std::size_t j) {
    return c[region.rows[i] * data.shape.n + region.columns[j]];
  });
  emu::round_to(kernel.c_format, std::span<const double>(values), std::span<double>(values), {}, {});
  return values;
}

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// Recognises what a scale tensor scales by comparing its shape with the operand's.
#include "products/scales.hpp"

#include <array>
#include <utility>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::products {
namespace {

using Shape = std::vector<std::uint64_t>;

/// The extent of the blocks of which `count` cover `extent`, or nothing.
std::optional<std::size_t> block_of(std::size_t extent, std::size_t count) {
  constexpr std::array<std::size_t, 3> known{128, 32, 16};
  if (count == 1) return MatmulScales::all;
  if (count == extent) return 1;
  for (const std::size_t block : known)
    if ((extent + block - 1) / block == count) return block;
  if (count != 0 && extent % count == 0) return extent / count;
  return std::nullopt;
}

struct Pair {
  std::size_t lines, k;
};

/// Rows and columns, as stored, by what they are.
Pair lines_and_k(std::size_t rows, std::size_t columns, bool lines_are_rows) {
  return lines_are_rows ? Pair{rows, columns} : Pair{columns, rows};
}

}  // namespace

std::string MatmulScales::word() const {
  const auto extent = [](std::size_t block) { return block == all ? std::string("all") : std::to_string(block); };
  if (line_block == all && k_block == all) return "tensor";
  if (line_block == 1 && k_block == all) return "row";
  if (line_block == 1 && k_block == 32 && format == emu::e8m0) return "mx";
  if (line_block == 1 && k_block == 16 && format == emu::e4m3) return "nvfp4";
  return extent(line_block) + "x" + extent(k_block);
}

MatmulScales fit_scales(const tensors::Tensor& scale, const MatmulInput& operand, MatmulSide side) {
  const Error misfit(
      scale.label + " (" + tensors::shape_text(scale.shape) + "): does not fit " + operand.words() +
      "; scales are one, one for each row of A or column of B, or a grid over the operand as stored, in blocks " +
      "of 1, 16, 32, 128 or a divisor of the extent");
  const bool lines_are_rows = (side == MatmulSide::a) != operand.transposed;
  const Shape& shape = operand.tensor.shape;
  const bool vector = operand.is_vector();
  const std::size_t last = static_cast<std::size_t>(shape.back()),
                    before = vector ? 1 : static_cast<std::size_t>(shape[shape.size() - 2]);
  const Pair extents = vector ? Pair{1, last} : lines_and_k(before, last, lines_are_rows);

  MatmulScales scales{.format = scale.dtype.format.value_or(emu::float32), .values = {}};
  Pair count{1, 1};
  bool stored_by_k = false;  // the grid's rows go along K
  if (scale.count() == 1) {
  } else if (scale.shape.size() == 1) {
    count = vector ? Pair{1, static_cast<std::size_t>(scale.shape[0])} : Pair{static_cast<std::size_t>(scale.shape[0]), 1};
    if (!vector && count.lines != extents.lines) throw misfit;
  } else {
    if (vector || scale.shape.size() < 2) throw misfit;
    const Shape batch(scale.shape.begin(), scale.shape.end() - 2);
    if (!batch.empty() && batch != operand.batch()) throw misfit;
    for (const std::uint64_t extent : batch) scales.matrices *= static_cast<std::size_t>(extent);
    count = lines_and_k(static_cast<std::size_t>(scale.shape[scale.shape.size() - 2]),
                        static_cast<std::size_t>(scale.shape.back()), lines_are_rows);
    stored_by_k = !lines_are_rows;
  }
  const auto line_block = block_of(extents.lines, count.lines), k_block = block_of(extents.k, count.k);
  if (!line_block || !k_block) throw misfit;
  scales.for_lines = count.lines, scales.for_k = count.k;
  scales.line_block = extents.lines == 1 && count.k > 1 ? 1 : *line_block;
  scales.k_block = *k_block;

  std::vector<double> values(static_cast<std::size_t>(scale.count()));
  scale.source->read(0, std::span(values));
  scales.values.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t size = count.lines * count.k, grid = i / size, at = i % size;  // NOLINT: no count is 0 here
    const std::size_t to = stored_by_k ? at % count.lines * count.k + at / count.lines : at;
    scales.values[grid * size + to] = static_cast<float>(values[i]);
  }
  return scales;
}

}  // namespace ulpscope::products

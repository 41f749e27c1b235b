// SPDX-License-Identifier: Apache-2.0
// Reads, rounds and lays out one operand with its scales.
#include "products/operand.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "emu/catalogue.hpp"
#include "tensors/caster.hpp"
#include "tensors/parallel.hpp"

namespace ulpscope::products {
namespace {

/// As many zeros. In large pages where the system has them: a page of 4096 bytes costs more to get than to fill.
template <class Float>
std::vector<Float> zeros(std::size_t count) {
  std::vector<Float> values;
  values.reserve(count);
#ifdef MADV_HUGEPAGE
  constexpr std::size_t page = 1 << 21;
  const std::size_t before = (page - reinterpret_cast<std::uintptr_t>(values.data()) % page) % page,
                    bytes = count * sizeof(Float);
  if (bytes >= before + page)  // refused: as it was
    ::madvise(reinterpret_cast<std::byte*>(values.data()) + before, (bytes - before) / page * page, MADV_HUGEPAGE);
#endif
  values.resize(count);
  return values;
}

/// The tensor in float32, to nearest even.
tensors::Tensor in_float32(const tensors::Tensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.count()));
  tensor.source->read(0, std::span(values));
  std::vector<float> floats(values.size());
  std::transform(values.begin(), values.end(), floats.begin(), [](double x) { return static_cast<float>(x); });
  return tensors::from_values(tensor.label, tensor.shape, std::move(floats));
}

/// Of integers of 64 bits, those that no double is: rounding them to any format changes them, and doubles do not show it.
std::vector<bool> beyond_doubles(const tensors::Tensor& tensor, std::uint64_t first, std::size_t count) {
  const bool is_signed = tensor.dtype.name == "int64";
  if (!is_signed && tensor.dtype.name != "uint64") return {};
  std::vector<emu::Code> integers(count);
  tensor.source->read_codes(first, integers);
  std::vector<bool> beyond(count);
  std::transform(integers.begin(), integers.end(), beyond.begin(), [&](std::uint64_t x) {
    const std::uint64_t magnitude = is_signed && x >> 63 != 0 ? ~x + 1 : x;
    return magnitude != 0 &&
           static_cast<int>(std::bit_width(magnitude)) - std::countr_zero(magnitude) > emu::float64.precision();
  });
  return beyond;
}

void count(RoundedElements& counts, double before, double after) {
  ++counts.count;
  if (before == after || (std::isnan(before) && std::isnan(after))) return;
  ++counts.changed;
  if (std::isfinite(before) && !std::isfinite(after)) ++counts.lost;
}

}  // namespace

InputRounding input_rounding(emu::Format format) {
  if (format != emu::tf32) return {.format = format};
  return {.format = format, .options = {.rounding = emu::Rounding::toward_zero}, .of_float32 = true};
}

template <class Float>
std::vector<Float> rounded_elements(const tensors::Tensor& tensor, const InputRounding& rounding, RoundedElements& counts,
                                    int threads) {
  const bool narrows = rounding.of_float32 && !tensor.dtype.fits_float();
  const tensors::Tensor from = narrows ? in_float32(tensor) : tensor;
  const bool is_rounded = !narrows && from.dtype.format == rounding.format && rounding.options == emu::RoundingOptions{};
  auto values = zeros<Float>(static_cast<std::size_t>(tensor.count()));
  constexpr std::size_t size = 1 << 14;
  std::vector<RoundedElements> parts((values.size() + size - 1) / size);
  const auto read = [&](std::size_t at) {
    const std::size_t first = at * size;
    const std::span part = std::span(values).subspan(first, std::min(size, values.size() - first));
    if (is_rounded && (std::is_same_v<Float, double> || from.dtype.fits_float())) {
      from.source->read(first, part);
      parts[at].count = part.size();
      return;
    }
    std::array<double, size> before;
    tensors::Caster(from, rounding.format, rounding.options, rounding.random).values(first, part);  // one of each thread
    tensor.source->read(first, std::span(before).first(part.size()));
    for (std::size_t i = 0; i < part.size(); ++i) count(parts[at], before[i], static_cast<double>(part[i]));
    const std::vector<bool> beyond = beyond_doubles(tensor, first, part.size());
    for (std::size_t i = 0; i < beyond.size(); ++i) parts[at].changed += beyond[i] && before[i] == static_cast<double>(part[i]);
  };
  if (threads != 1)
    tensors::for_each_index(parts.size(), threads, read);
  else
    for (std::size_t at = 0; at < parts.size(); ++at) read(at);
  for (const RoundedElements& part : parts)
    counts.count += part.count, counts.changed += part.changed, counts.lost += part.lost;
  return values;
}

template <class Float>
LoadedOperand<Float>::LoadedOperand(const MatmulOperand& operand, MatmulSide side, std::size_t k)
    : side_(side), format_(operand.rounding.format), k_(k), scales_(operand.scales) {
  const auto& shape = operand.input.tensor.shape;
  const bool lines_are_rows = (side == MatmulSide::a) != operand.input.transposed;
  lines_ = operand.input.is_vector() ? 1 : static_cast<std::size_t>(lines_are_rows ? shape[shape.size() - 2] : shape.back());
  lines_ = (lines_ + line_block() - 1) / line_block() * line_block();
  lay_out(operand, rounded_elements<Float>(operand.input.tensor, operand.rounding, rounded_));
  lay_out_scales();
}

template <class Float>
void LoadedOperand<Float>::lay_out(const MatmulOperand& operand, const std::vector<Float>& elements) {
  const auto& shape = operand.input.tensor.shape;
  std::size_t rows = operand.input.is_vector() ? 1 : static_cast<std::size_t>(shape[shape.size() - 2]);
  std::size_t columns = static_cast<std::size_t>(shape.back());
  if (operand.input.is_vector() && side_ == MatmulSide::b) std::swap(rows, columns);
  const std::size_t size = rows * columns, matrices = size == 0 ? 0 : elements.size() / size;
  const std::size_t stride = side_ == MatmulSide::a ? k_ : lines_;
  values_.resize(matrices * lines_ * k_);
  for (std::size_t matrix = 0; matrix < matrices; ++matrix)
    for (std::size_t i = 0; i < rows; ++i) {
      const Float* const from = elements.data() + matrix * size + i * columns;
      Float* const to = values_.data() + matrix * lines_ * k_;
      for (std::size_t j = 0; j < columns; ++j) to[operand.input.transposed ? j * stride + i : i * stride + j] = from[j];
    }
}

template <class Float>
void LoadedOperand<Float>::lay_out_scales() {
  if (!scales_) return;
  const std::size_t for_k = scales_->for_k, lines = scales_->for_lines;
  grids_.resize(scales_->matrices * lines * for_k);
  for (std::size_t i = 0; i < scales_->matrices * lines; ++i)
    for (std::size_t k = 0; k < for_k; ++k) {
      const std::size_t matrix = i / lines, line = i % lines;
      const std::size_t at = side_ == MatmulSide::a ? line * for_k + k : k * lines + line;
      grids_[matrix * lines * for_k + at] = scales_->values[i * for_k + k];
    }
}

template <class Float>
emu::EngineOperand<Float> LoadedOperand<Float>::matrix(std::size_t index, std::size_t first, std::size_t count) const {
  const std::span values = std::span(values_).subspan(values_.empty() ? 0 : index * lines_ * k_);
  if (side_ == MatmulSide::b) return {format_, values, {k_, lines_}};
  return {format_, values.subspan(values.empty() ? 0 : first * k_), {count, k_}};
}

template <class Float>
emu::ScaleGrid LoadedOperand<Float>::scales(std::size_t index, std::size_t first, std::size_t count) const {
  if (!scales_) return {};
  const std::size_t lines = scales_->for_lines, for_k = scales_->for_k, own = scales_->matrices == 1 ? 0 : index;
  emu::ScaleGrid grid{scales_->format, std::span(grids_).subspan(own * lines * for_k, lines * for_k), lines, for_k,
                      scales_->whole};
  if (side_ == MatmulSide::b) {
    std::swap(grid.rows, grid.columns);
    grid.row_block = scales_->k_block;
    return grid;
  }
  grid.column_block = scales_->k_block;
  if (lines == 1) return grid;
  grid.rows = count / line_block();
  grid.values = grid.values.subspan(first / line_block() * for_k, grid.rows * for_k);
  return grid;
}

template std::vector<float> rounded_elements(const tensors::Tensor&, const InputRounding&, RoundedElements&, int);
template std::vector<double> rounded_elements(const tensors::Tensor&, const InputRounding&, RoundedElements&, int);
template class LoadedOperand<float>;
template class LoadedOperand<double>;

}  // namespace ulpscope::products

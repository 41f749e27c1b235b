// SPDX-License-Identifier: Apache-2.0
// Quantized operands on an engine.
#include "training/tape/product.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "emu/engine_matmul.hpp"
#include "emu/error.hpp"
#include "products/engine.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::training {
namespace {

using studies::ScaleRule;

/// Extents of the blocks that have one scale: along the sum, and across it. 0: all there is.
struct Block {
  std::size_t along = 0, across = 0;
};

Block block_of(ScaleRule rule) {
  switch (rule) {
    case ScaleRule::none:
    case ScaleRule::number:
    case ScaleRule::amax:
    case ScaleRule::pow2: return {0, 0};
    case ScaleRule::row: return {0, 1};
    case ScaleRule::tile_1x128: return {128, 1};
    case ScaleRule::tile_128x128: return {128, 128};
    case ScaleRule::nvfp4: return {16, 1};
    default: return {32, 1};
  }
}

bool is_scaled(const OperandPrecision& precision) { return precision.scaling.rule != ScaleRule::none; }

std::size_t up_to_multiple(std::size_t n, std::size_t of) { return of == 0 ? n : (n + of - 1) / of * of; }

/// Lines of an operand (rows of A, columns of B) by products of a sum, with zeros up to whole blocks.
template <class Real>
struct Lines {
  std::vector<Real> values;
  std::size_t lines, products;
};

template <class Real>
Lines<Real> lines_of(const MatrixView<Real>& matrix, std::size_t lines, std::size_t products) {
  Lines<Real> out{std::vector<Real>(lines * products), lines, products};
  for (std::size_t i = 0; i < matrix.rows; ++i)
    for (std::size_t j = 0; j < matrix.columns; ++j) out.values[i * products + j] = matrix.at(i, j);
  return out;
}

/// Factors by which sums are multiplied to take the scales out, a grid of lines by products.
struct TakenOut {
  emu::Format format = emu::float32;
  std::vector<float> values;
  std::size_t lines = 0, products = 0;
  float whole = 1;
};

template <class Real>
struct Quantized {
  Lines<Real> lines;
  TakenOut scales;
};

TakenOut taken_out(ScaleRule rule, const studies::ScaleMap& map, std::size_t lines, std::size_t products) {
  const Block block = block_of(rule);
  TakenOut out;
  out.lines = block.across == 0 ? 1 : lines / block.across;
  out.products = block.along == 0 ? 1 : products / block.along;
  const bool nvfp4 = rule == ScaleRule::nvfp4;
  out.format = nvfp4 ? emu::e4m3 : studies::clamps(rule) ? emu::float8_e8m0fnu : emu::float32;
  out.values.reserve(out.lines * out.products);
  for (std::size_t i = 0; i < out.lines; ++i) {
    for (std::size_t j = 0; j < out.products; ++j) {
      const studies::ElementScale& scale = map.at(i * std::max<std::size_t>(block.across, 1) * products + j * block.along);
      if (nvfp4) out.whole = 1.0F / static_cast<float>(scale.denominator);
      const double factor = nvfp4 ? scale.numerator : scale.numerator / scale.denominator;
      out.values.push_back(static_cast<float>(factor));
    }
  }
  return out;
}

constexpr std::size_t hadamard_size = 16;
/// Transformer Engine's signs (get_wgrad_sign_vector in pytorch/tensor/nvfp4_tensor.py).
constexpr std::array<int, hadamard_size> hadamard_signs{1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1};

/// Every 16 products of a line times S H / 4, S being the diagonal of signs and H Sylvester's Hadamard matrix: an orthogonal
/// matrix, which spreads outliers over its block and leaves the sums of products as they were (arXiv 2509.25149, section 4).
/// Each sum of the fast transform is rounded to nearest even in Real.
template <class Real>
void transform(Lines<Real>& lines) {
  for (std::size_t first = 0; first < lines.values.size(); first += hadamard_size) {
    Real* const x = lines.values.data() + first;
    for (std::size_t i = 0; i < hadamard_size; ++i) x[i] *= static_cast<Real>(hadamard_signs[i]);
    for (std::size_t apart = 1; apart < hadamard_size; apart *= 2)
      for (std::size_t i = 0; i < hadamard_size; ++i)
        if ((i & apart) == 0) {
          const Real a = x[i], b = x[i + apart];
          x[i] = a + b, x[i + apart] = a - b;
        }
    for (std::size_t i = 0; i < hadamard_size; ++i) x[i] /= 4;
  }
}

template <class Real>
Quantized<Real> quantized(const ProductOperand<Real>& operand, const MatrixView<Real>& by_lines, std::size_t products,
                          bool hadamard, const Store<Real>& store) {
  const OperandPrecision& precision = operand.precision;
  const ScaleRule rule = precision.scaling.rule;
  Quantized<Real> out{lines_of(by_lines, up_to_multiple(by_lines.rows, block_of(rule).across), products), {}};
  Storage storage = precision.storage;
  if (hadamard) transform(out.lines);
  if (precision.amax)
    for (const Real x : out.lines.values) *precision.amax = std::max(*precision.amax, std::fabs(static_cast<double>(x)));
  if (is_scaled(precision)) {
    const tensors::Tensor tensor = tensors::from_values(std::string(operand.place), {out.lines.lines, out.lines.products},
                                                        std::vector<float>(out.lines.values.begin(), out.lines.values.end()));
    const studies::ScaleMap map(precision.scaling, storage.format, tensor);
    for (std::size_t i = 0; i < out.lines.values.size();) {
      const studies::ScaleMap::Run run = map.run(i);
      const std::size_t end = i + static_cast<std::size_t>(std::min<std::uint64_t>(run.count, out.lines.values.size() - i));
      const Real factor = static_cast<Real>(run.scale.multiply);
      for (; i < end; ++i) out.lines.values[i] *= factor;
    }
    out.scales = taken_out(rule, map, out.lines.lines, out.lines.products);
    if (studies::clamps(rule)) storage.options.policy = emu::Policy::saturating;
  }
  store(out.lines.values, storage, operand.place);
  return out;
}

/// As emu::ScaleGrid has it: over A as it is, over B products by columns.
std::vector<float> transposed(const TakenOut& scales) {
  std::vector<float> out(scales.values.size());
  for (std::size_t i = 0; i < scales.lines; ++i)
    for (std::size_t j = 0; j < scales.products; ++j) out[j * scales.lines + i] = scales.values[i * scales.products + j];
  return out;
}

/// Which result it is, by the places of the operands.
std::string_view result_of(std::string_view a, std::string_view b) {
  constexpr std::string_view gradient = "grad_output";
  if (a != gradient && b != gradient) return "output";
  return a == "weight" || b == "weight" ? "grad_input" : "grad_weight";
}

std::optional<products::MatmulScales> scales_of(const TakenOut& scales, const Block& block) {
  if (scales.values.empty()) return std::nullopt;
  products::MatmulScales out;
  out.format = scales.format;
  out.values = scales.values;
  out.for_lines = scales.lines, out.for_k = scales.products;
  out.line_block = block.across, out.k_block = block.along;
  out.whole = scales.whole;
  return out;
}

}  // namespace

template <class Real>
void multiply(const ProductOperand<Real>& a, const ProductOperand<Real>& b, const ProductSums& sums, const Store<Real>& store,
              std::span<Real> d) {
  const std::size_t m = a.matrix.rows, n = b.matrix.columns, k = a.matrix.columns;
  if (k != b.matrix.rows)
    throw Error("a product of matrices with " + std::to_string(k) + " columns and " + std::to_string(b.matrix.rows) + " rows");
  const Block block_a = block_of(a.precision.scaling.rule), block_b = block_of(b.precision.scaling.rule);
  const std::size_t blocks = up_to_multiple(k, std::max(block_a.along, block_b.along));
  const std::size_t padded = sums.hadamard ? up_to_multiple(blocks, hadamard_size) : blocks;
  const Quantized<Real> left = quantized(a, a.matrix, padded, sums.hadamard, store);
  const Quantized<Real> right = quantized(b, b.matrix.t(), padded, sums.hadamard, store);

  const emu::Format format_a = a.precision.storage.format, format_b = b.precision.storage.format;
  const auto engine = products::choose_engine(sums.engine, {format_a, format_b, sums.accumulate}, padded,
                                              scales_of(left.scales, block_a), scales_of(right.scales, block_b));
  const std::vector<float> scales_b = transposed(right.scales);
  const std::size_t lines_a = left.lines.lines, lines_b = right.lines.lines;
  emu::EngineMatmul<Real> problem{
      .engine = engine.model,
      .a = {format_a, left.lines.values, {lines_a, padded}, false},
      .b = {format_b, right.lines.values, {lines_b, padded}, true},
      .c = {},
      .scale_a = {left.scales.format, left.scales.values, left.scales.lines, left.scales.products, left.scales.whole},
      .scale_b = {right.scales.format, scales_b, right.scales.products, right.scales.lines, right.scales.whole},
      .promote = sums.promote >= padded ? 0 : sums.promote,
      .beta = {},
      .out = sums.accumulate,
      .threads = sums.threads};
  const auto form = [&](std::span<Real> out) {
    if (sums.multiplier == nullptr) return emu::engine_matmul(problem, out);
    sums.multiplier->multiply({sums.operation, sums.layer, result_of(a.place, b.place), engine, problem}, out);
  };
  if (lines_a == m && lines_b == n) return form(d);
  std::vector<Real> whole(lines_a * lines_b);
  form(whole);
  for (std::size_t i = 0; i < m; ++i) std::copy_n(whole.data() + i * lines_b, n, d.data() + i * n);
}

template void multiply(const ProductOperand<float>&, const ProductOperand<float>&, const ProductSums&, const Store<float>&,
                       std::span<float>);
template void multiply(const ProductOperand<double>&, const ProductOperand<double>&, const ProductSums&, const Store<double>&,
                       std::span<double>);

}  // namespace ulpscope::training

// SPDX-License-Identifier: Apache-2.0
// Quantized operands on an engine.
#include "training/tape/product.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "emu/engine_matmul.hpp"
#include "emu/engine_padding.hpp"
#include "emu/error.hpp"
#include "emu/magnitude.hpp"
#include "products/engine.hpp"
#include "tensors/hadamard.hpp"

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
    case ScaleRule::nvfp4_16x16: return {16, 16};
    default: return {32, 1};
  }
}

bool is_scaled(const OperandPrecision& precision) { return precision.scaling.rule != ScaleRule::none; }

std::size_t up_to_multiple(std::size_t n, std::size_t of) { return of == 0 ? n : (n + of - 1) / of * of; }

/// Copies a matrix whose stored columns are its rows: lines of `out` have `products` elements.
template <class Real>
void turn(const MatrixView<Real>& matrix, std::size_t products, Real* out) {
  constexpr std::size_t at_once = 16;  // a block of lines stays in the nearest cache
  for (std::size_t i = 0; i < matrix.rows; i += at_once) {
    const std::size_t end = std::min(matrix.rows, i + at_once);
    for (std::size_t j = 0; j < matrix.columns; ++j)
      for (std::size_t line = i; line < end; ++line) out[line * products + j] = matrix.values[j * matrix.rows + line];
  }
}

/// Lays a matrix out line by line, zeros being added up to so many lines and products.
template <class Real>
void lay_out(const MatrixView<Real>& matrix, std::size_t lines, std::size_t products, QuantizedOperand<Real>& out) {
  out.lines = lines, out.products = products;
  out.values.resize(lines * products);
  Real* const to = out.values.data();
  if (lines != matrix.rows || products != matrix.columns) std::fill(out.values.begin(), out.values.end(), Real{0});
  if (matrix.transposed) return turn(matrix, products, to);
  for (std::size_t i = 0; i < matrix.rows; ++i)
    std::copy_n(matrix.values.data() + i * matrix.columns, matrix.columns, to + i * products);
}

/// Of the scales of so many lines of so many products, all of whole blocks.
ScaleLayout layout_of(ScaleRule rule, std::size_t lines, std::size_t products) {
  if (rule == ScaleRule::none) return {};
  const Block block = block_of(rule);
  return {.format = studies::is_nvfp4(rule) ? emu::e4m3
                    : studies::clamps(rule) ? emu::float8_e8m0fnu
                                            : emu::float32,
          .lines = block.across == 0 ? 1 : lines / block.across,
          .products = block.along == 0 ? 1 : products / block.along,
          .line_block = block.across,
          .product_block = block.along};
}

/// Instructions take a scale for each line of a block of NVFP4.
bool scales_every_line(ScaleRule rule) { return rule == ScaleRule::nvfp4_16x16; }

/// As whoever multiplies is given them.
ScaleLayout given_layout_of(ScaleRule rule, std::size_t lines, std::size_t products) {
  ScaleLayout layout = layout_of(rule, lines, products);
  if (scales_every_line(rule)) layout.lines = lines, layout.line_block = 1;
  return layout;
}

/// The map's scales are in the order of the blocks of a layout.
void take_out(ScaleRule rule, const studies::ScaleMap& map, const ScaleLayout& layout, TakenOut& out) {
  const bool two_levels = studies::is_nvfp4(rule), by_line = scales_every_line(rule);
  out.whole = 1;
  out.values.resize(out.layout.lines * layout.products);
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    const std::size_t line = i / layout.products, column = i % layout.products;
    const studies::ElementScale scale = map.block((by_line ? line / layout.line_block : line) * layout.products + column);
    if (two_levels) out.whole = 1.0F / static_cast<float>(scale.denominator);
    out.values[i] = static_cast<float>(two_levels ? scale.numerator : scale.numerator / scale.denominator);
  }
}

/// Multiplies the elements of every block by its factor.
template <class Real>
void scale_blocks(const studies::ScaleMap& map, const ScaleLayout& layout, QuantizedOperand<Real>& operand) {
  const std::size_t lines = layout.line_block == 0 ? operand.lines : layout.line_block;
  const std::size_t along = layout.product_block == 0 ? operand.products : layout.product_block;
  for (std::size_t i = 0; i < operand.lines; ++i)
    for (std::size_t block = 0; block < layout.products; ++block) {
      const studies::ElementScale scale = map.block(i / lines * layout.products + block);
      Real* const x = operand.values.data() + i * operand.products + block * along;
      const std::size_t end = std::min(along, operand.products - block * along);
      for (std::size_t k = 0; k < end; ++k) x[k] = scale.onto(x[k]);
    }
}

studies::ScaleMap map_of(const OperandPrecision& precision, const QuantizedOperand<float>& operand) {
  return {precision.scaling, precision.storage.format, std::span<const float>(operand.values), operand.products};
}
studies::ScaleMap map_of(const OperandPrecision& precision, const QuantizedOperand<double>& operand) {
  const std::vector<float> floats(operand.values.begin(), operand.values.end());
  return {precision.scaling, precision.storage.format, std::span<const float>(floats), operand.products};
}

constexpr std::size_t hadamard_size = 16;

/// Every 16 products of a line rotated with Transformer Engine's signs: which spreads outliers over their block and leaves the
/// sums of products as they were (arXiv 2509.25149, section 4).
template <class Real>
void transform(std::vector<Real>& lines) {
  static const std::vector<double> signs = tensors::parse_hadamard("16:te").signs;
  for (std::size_t first = 0; first < lines.size(); first += hadamard_size) {
    const std::span<Real, hadamard_size> x(lines.data() + first, hadamard_size);
    for (std::size_t i = 0; i < hadamard_size; ++i) x[i] *= static_cast<Real>(signs[i]);
    tensors::hadamard_transform(std::span<Real>(x));
    for (Real& number : x) number /= 4;
  }
}

/// Lines of products, whole blocks of both operands.
struct Extents {
  std::size_t lines, products;
};

/// An operand on its way to an engine.
template <class Real>
struct Quantizing {
  const ProductOperand<Real>& operand;
  MatrixView<Real> matrix;  ///< by lines
  Extents blocks;           ///< with the zeros that fill up its blocks
  Extents kept = blocks;    ///< with those that are laid out

  const studies::Scaling& scaling() const { return operand.precision.scaling; }
  ScaleLayout layout() const { return given_layout_of(scaling().rule, blocks.lines, blocks.products); }
};

template <class Real>
void quantize(const Quantizing<Real>& of, bool hadamard, const Store<Real>& store, QuantizedOperand<Real>& out) {
  const OperandPrecision& precision = of.operand.precision;
  const ScaleRule rule = precision.scaling.rule;
  lay_out(of.matrix, of.kept.lines, of.kept.products, out);
  Storage storage = precision.storage;
  if (hadamard) transform(out.values);
  if (precision.amax)
    *precision.amax =
        std::max(*precision.amax, static_cast<double>(emu::greatest_magnitude(std::span<const Real>(out.values))));
  out.scales.layout = of.layout(), out.scales.values.clear(), out.scales.whole = 1;
  if (is_scaled(precision)) {
    const studies::ScaleMap map = map_of(precision, out);
    const ScaleLayout layout = layout_of(rule, of.blocks.lines, of.blocks.products);
    scale_blocks(map, layout, out);
    take_out(rule, map, layout, out.scales);
    if (studies::clamps(rule)) storage.options.policy = emu::Policy::saturating;
  }
  store(out.values, storage, of.operand.place,
        {.line = of.kept.products, .zeros = of.blocks.lines * of.blocks.products - out.values.size()});
}

/// Whether zeros of an operand are stored as zeros, whatever its other numbers are, and take no random words.
bool stores_zeros(const OperandPrecision& precision) {
  return !studies::clamps(precision.scaling.rule) && precision.storage.options.rounding != emu::Rounding::stochastic &&
         precision.storage.format.has_zero();
}

/// A grid over A, whose lines are rows.
emu::ScaleGrid grid_of(const TakenOut& scales, std::span<const float> values, std::size_t rows, std::size_t columns) {
  if (scales.layout.products == 0) return {};
  return {scales.layout.format, values, rows, columns, scales.whole};
}

/// Products by lines.
void turn_round(const TakenOut& scales, std::vector<float>& out) {
  const std::size_t lines = scales.layout.lines, products = scales.layout.products;
  out.resize(lines * products);
  for (std::size_t i = 0; i < lines; ++i)
    for (std::size_t j = 0; j < products; ++j) out[j * lines + i] = scales.values[i * products + j];
}

/// Which result it is, by the places of the operands.
std::string_view result_of(std::string_view a, std::string_view b) {
  constexpr std::string_view gradient = "grad_output";
  if (a != gradient && b != gradient) return "output";
  return a == "weight" || b == "weight" ? "grad_input" : "grad_weight";
}

}  // namespace

template <class Real>
void multiply(const ProductOperand<Real>& a, const ProductOperand<Real>& b, const ProductSums& sums, const Store<Real>& store,
              Workspace<Real>& workspace, std::span<Real> d) {
  const std::size_t m = a.matrix.rows, n = b.matrix.columns, k = a.matrix.columns;
  if (k != b.matrix.rows)
    throw Error("a product of matrices with " + std::to_string(k) + " columns and " + std::to_string(b.matrix.rows) + " rows");
  const Block block_a = block_of(a.precision.scaling.rule), block_b = block_of(b.precision.scaling.rule);
  const std::size_t blocks = up_to_multiple(k, std::max(block_a.along, block_b.along));
  const std::size_t padded = sums.hadamard ? up_to_multiple(blocks, hadamard_size) : blocks;
  const auto quantizing = [padded](const ProductOperand<Real>& operand, const MatrixView<Real>& lines) {
    const std::size_t across = block_of(operand.precision.scaling.rule).across;
    return Quantizing<Real>{operand, lines, {up_to_multiple(lines.rows, across), padded}};
  };
  Quantizing<Real> from_a = quantizing(a, a.matrix), from_b = quantizing(b, b.matrix.t());
  const emu::Format format_a = a.precision.storage.format, format_b = b.precision.storage.format;
  const ScaleLayout of_a = from_a.layout(), of_b = from_b.layout();
  const products::ChosenEngine& engine =
      workspace.engines.of({sums.engine, format_a, format_b, sums.accumulate, padded, of_a, of_b});

  // Zeros that fill up a block are left out where no other block begins behind it and nothing comes of them: a device takes
  // whole blocks, and Hadamard matrices spread numbers over them.
  const bool may_leave_out = sums.multiplier == nullptr && !sums.hadamard;
  for (Quantizing<Real>* const of : {&from_a, &from_b})
    if (may_leave_out && stores_zeros(of->operand.precision) && of->layout().lines <= 1) of->kept.lines = of->matrix.rows;
  if (may_leave_out && stores_zeros(a.precision) && stores_zeros(b.precision) && of_a.products <= 1 && of_b.products <= 1 &&
      emu::zeros_keep_sums(engine.model, format_a, format_b))
    from_a.kept.products = from_b.kept.products = k;

  QuantizedOperand<Real>&left = workspace.left, &right = workspace.right;
  quantize(from_a, sums.hadamard, store, left);
  quantize(from_b, sums.hadamard, store, right);
  turn_round(right.scales, workspace.right_scales);
  // Lines that fill up a block are multiplied only where another block begins behind it, or a device takes whole blocks.
  const auto lines_of = [&](const QuantizedOperand<Real>& operand, std::size_t wanted) {
    return sums.multiplier == nullptr && operand.scales.layout.lines <= 1 ? wanted : operand.lines;
  };
  const std::size_t lines_a = lines_of(left, m), lines_b = lines_of(right, n), depth = left.products;
  emu::EngineMatmul<Real> problem{.engine = engine.model,
                                  .a = {format_a, left.values, {lines_a, depth}, false},
                                  .b = {format_b, right.values, {lines_b, depth}, true},
                                  .c = {},
                                  .scale_a = grid_of(left.scales, left.scales.values, of_a.lines, of_a.products),
                                  .scale_b = grid_of(right.scales, workspace.right_scales, of_b.products, of_b.lines),
                                  .promote = sums.promote >= padded ? 0 : sums.promote,
                                  .beta = {},
                                  .out = sums.accumulate,
                                  .threads = sums.threads};
  const auto form = [&](std::span<Real> out) {
    if (sums.multiplier == nullptr) return emu::engine_matmul(problem, out, workspace.products);
    sums.multiplier->multiply({sums.operation, sums.layer, result_of(a.place, b.place), engine, problem}, out);
  };
  if (lines_a == m && lines_b == n) return form(d);
  workspace.whole.resize(lines_a * lines_b);
  form(workspace.whole);
  for (std::size_t i = 0; i < m; ++i) std::copy_n(workspace.whole.data() + i * lines_b, n, d.data() + i * n);
}

template void multiply(const ProductOperand<float>&, const ProductOperand<float>&, const ProductSums&, const Store<float>&,
                       Workspace<float>&, std::span<float>);
template void multiply(const ProductOperand<double>&, const ProductOperand<double>&, const ProductSums&, const Store<double>&,
                       Workspace<double>&, std::span<double>);

}  // namespace ulpscope::training

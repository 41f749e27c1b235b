// SPDX-License-Identifier: Apache-2.0
// Products of matrices: three each, one forward and two backward, every operand stored as the precision of its place says.
#include <algorithm>
#include <utility>

#include "emu/error.hpp"
#include "training/tape/operations.hpp"
#include "training/tape/parallel.hpp"
#include "training/tape/product.hpp"

namespace ulpscope::training {
namespace {

/// Sums of the columns of a matrix, in ascending order in float64.
template <class Real>
Array<Real> column_sums(const std::vector<Real>& x, std::size_t columns, const Shape& shape) {
  std::vector<double> sums(columns, 0.0);
  for (std::size_t first = 0; first < x.size(); first += columns)
    for (std::size_t j = 0; j < columns; ++j) sums[j] += static_cast<double>(x[first + j]);
  Array<Real> out(shape);
  for (std::size_t j = 0; j < columns; ++j) out.values[j] = static_cast<Real>(sums[j]);
  return out;
}

/// One of the products of an operation, and who is told of what it stores.
template <class Real>
struct ProductContext {
  Tape<Real>& tape;
  std::string operation, layer;
  ProductPrecision precision;

  void multiply(const ProductOperand<Real>& a, const ProductOperand<Real>& b, std::span<Real> d, bool of_weight = false) const {
    const bool hadamard = of_weight && precision.hadamard;
    if (ProductTally* const tally = tape.tally())
      tally->add({.m = a.matrix.rows,
                  .n = b.matrix.columns,
                  .k = a.matrix.columns,
                  .a = a.precision.storage.format,
                  .b = b.precision.storage.format,
                  .scale_a = a.precision.scaling.rule,
                  .scale_b = b.precision.scaling.rule,
                  .promoted = precision.promote != 0});
    const ProductSums sums{.engine = precision.engine,
                           .accumulate = precision.accumulate,
                           .promote = precision.promote,
                           .threads = tape.threads(),
                           .hadamard = hadamard,
                           .multiplier = tape.multiplier(),
                           .operation = operation,
                           .layer = layer};
    training::multiply<Real>(
        a, b, sums,
        [this](std::span<Real> values, const Storage& storage, std::string_view place, const Padding& padding) {
          tape.store(values, storage, operation, layer, place, padding);
        },
        tape.workspace(), d);
  }
  void store(std::span<Real> values, const Storage& storage, std::string_view place) const {
    tape.store(values, storage, operation, layer, place);
  }
  /// Of what was added to every row: the format is that of the weight's gradient, since both were cast alike.
  Array<Real> bias_gradient(const std::vector<Real>& of_output, std::size_t columns, const Shape& shape) const {
    Array<Real> gradient = column_sums(of_output, columns, shape);
    store(gradient.values, precision.grad_weight, "grad_bias");
    return gradient;
  }
};

template <class Real>
ProductContext<Real> context_of(Tape<Real>& tape, std::string_view operation) {
  return {tape, std::string(operation), tape.layer(), tape.product_precision_of(operation)};
}

/// Matrices of a batch, one after the other.
template <class Real>
MatrixView<Real> matrix(const Array<Real>& x, std::size_t index, std::size_t rows, std::size_t columns) {
  return {std::span<const Real>(x.values).subspan(index * rows * columns, rows * columns), rows, columns, false};
}

template <class Real>
std::span<Real> part(Array<Real>& x, std::size_t index, std::size_t size) {
  return std::span<Real>(x.values).subspan(index * size, size);
}

/// Adds `row` to every row of a matrix.
template <class Real>
void add_to_rows(std::vector<Real>& matrix, const std::vector<Real>& row) {
  for (std::size_t first = 0; first < matrix.size(); first += row.size())
    for (std::size_t j = 0; j < row.size(); ++j) matrix[first + j] += row[j];
}

}  // namespace

template <class Real>
Variable matmul(Tape<Real>& tape, Variable x, Variable y, Transpose transpose, std::string_view operation) {
  const Shape of_x = tape.shape(x), of_y = tape.shape(y);
  const bool transposed = transpose == Transpose::yes;
  const auto refuse = [&] {
    throw Error(std::string(operation) + ": " + words_of(of_x) + " times " + words_of(of_y) +
                (transposed ? " transposed" : ""));
  };
  if (of_x.size() < 2 || of_x.size() != of_y.size()) refuse();
  const std::size_t d = of_x.size(), m = of_x[d - 2], k = of_x[d - 1];
  const std::size_t n = of_y[transposed ? d - 2 : d - 1];
  if (of_y[transposed ? d - 1 : d - 2] != k || !std::equal(of_x.begin(), of_x.end() - 2, of_y.begin())) refuse();
  Shape shape = of_x;
  shape[d - 1] = n;
  const std::size_t batch = count_of(of_x) / std::max<std::size_t>(m * k, 1);

  const ProductContext<Real> context = context_of(tape, operation);
  const auto matrix_y = [transposed, k, n](const Array<Real>& values, std::size_t i) {
    return transposed ? matrix(values, i, n, k).t() : matrix(values, i, k, n);
  };
  Array<Real> out = tape.array(shape);
  for (std::size_t i = 0; i < batch; ++i)
    context.multiply({matrix(tape.value(x), i, m, k), context.precision.input, "input"},
                     {matrix_y(tape.value(y), i), context.precision.weight, "weight"}, part(out, i, m * n));
  return tape.record(operation, {x, y}, std::move(out), context.precision.output,
                     [context, x, y, of_x, of_y, batch, m, k, n, transposed, matrix_y](const Array<Real>& gradient) {
                       Tape<Real>& own = context.tape;
                       const ProductPrecision& p = context.precision;
                       std::vector<Array<Real>> grads(2);
                       if (own.has_gradient(x)) {
                         grads[0] = own.array(of_x);
                         for (std::size_t i = 0; i < batch; ++i)
                           context.multiply({matrix(gradient, i, m, n), p.grad_output, "grad_output"},
                                            {matrix_y(own.value(y), i).t(), p.weight, "weight"}, part(grads[0], i, m * k));
                         context.store(grads[0].values, p.grad_input, "grad_input");
                       }
                       if (own.has_gradient(y)) {
                         grads[1] = own.array(of_y);
                         for (std::size_t i = 0; i < batch; ++i) {
                           const ProductOperand<Real> of_output{matrix(gradient, i, m, n), p.grad_output, "grad_output"};
                           const ProductOperand<Real> of_input{matrix(own.value(x), i, m, k), p.input, "input"};
                           const auto turned = [](ProductOperand<Real> operand) {
                             operand.matrix = operand.matrix.t();
                             return operand;
                           };
                           // dY = X^T.dD; its transpose, where Y is stored so, is dD^T.X.
                           if (transposed)
                             context.multiply(turned(of_output), of_input, part(grads[1], i, n * k), true);
                           else
                             context.multiply(turned(of_input), of_output, part(grads[1], i, n * k), true);
                         }
                         context.store(grads[1].values, p.grad_weight, "grad_weight");
                       }
                       return grads;
                     });
}

template <class Real>
Variable linear(Tape<Real>& tape, Variable x, Variable weight, std::optional<Variable> bias) {
  const Shape of_x = tape.shape(x), of_w = tape.shape(weight);
  if (of_x.empty() || of_w.size() != 2 || of_x.back() != of_w[1] || (bias && tape.value(*bias).count() != of_w[0]))
    throw Error("linear: " + words_of(of_x) + " with a weight of " + words_of(of_w) +
                (bias ? " and a bias of " + words_of(tape.shape(*bias)) : ""));
  const std::size_t k = of_w[1], n = of_w[0], m = count_of(of_x) / std::max<std::size_t>(k, 1);
  Shape shape = of_x;
  shape.back() = n;

  const ProductContext<Real> context = context_of(tape, "linear");
  Array<Real> out = tape.array(shape);
  context.multiply({matrix(tape.value(x), 0, m, k), context.precision.input, "input"},
                   {matrix(tape.value(weight), 0, n, k).t(), context.precision.weight, "weight"}, out.values);
  // The bias is stored as the weight is, and joins the sum in its own format: cuBLASLt's epilogue.
  if (bias) {
    std::vector<Real> stored = tape.value(*bias).values;
    context.store(stored, context.precision.output, "bias");
    add_to_rows(out.values, stored);
  }
  std::vector<Variable> inputs{x, weight};
  if (bias) inputs.push_back(*bias);
  return tape.record("linear", inputs, std::move(out), context.precision.output,
                     [context, inputs, of_x, of_w, m, k, n](const Array<Real>& gradient) {
                       Tape<Real>& own = context.tape;
                       const ProductPrecision& p = context.precision;
                       std::vector<Array<Real>> grads(inputs.size());
                       const MatrixView<Real> of_output = matrix(gradient, 0, m, n);
                       if (own.has_gradient(inputs[0])) {
                         grads[0] = own.array(of_x);
                         context.multiply({of_output, p.grad_output, "grad_output"},
                                          {matrix(own.value(inputs[1]), 0, n, k), p.weight, "weight"}, grads[0].values);
                         context.store(grads[0].values, p.grad_input, "grad_input");
                       }
                       if (own.has_gradient(inputs[1])) {
                         grads[1] = own.array(of_w);
                         context.multiply({of_output.t(), p.grad_output, "grad_output"},
                                          {matrix(own.value(inputs[0]), 0, m, k), p.input, "input"}, grads[1].values, true);
                         context.store(grads[1].values, p.grad_weight, "grad_weight");
                       }
                       if (inputs.size() > 2) grads[2] = context.bias_gradient(gradient.values, n, own.shape(inputs[2]));
                       return grads;
                     });
}

namespace {

/// Patches of an image as rows: (N, OH, OW, C, R, S).
struct Patches {
  std::size_t n, c, h, w, r, s, oh, ow;
  ConvolutionShape shape;

  std::size_t rows() const { return n * oh * ow; }
  std::size_t length() const { return c * r * s; }

  /// act(element of a patch, element of x) for every element of patch `row` that is not padding.
  template <class Act>
  void for_each(std::size_t row, Act act) const {
    const std::size_t image = row / (oh * ow), top = row / ow % oh * shape.stride, left = row % ow * shape.stride;
    for (std::size_t channel = 0; channel < c; ++channel) {
      for (std::size_t i = 0; i < r; ++i) {
        for (std::size_t j = 0; j < s; ++j) {
          const std::size_t y = top + i, x = left + j;
          if (y < shape.padding || y - shape.padding >= h || x < shape.padding || x - shape.padding >= w) continue;
          act((channel * r + i) * s + j, ((image * c + channel) * h + y - shape.padding) * w + x - shape.padding);
        }
      }
    }
  }
};

Patches patches_of(const Shape& x, const Shape& w, ConvolutionShape shape) {
  const auto fits = [&](std::size_t d) { return x[d] + 2 * shape.padding >= w[d]; };
  if (x.size() != 4 || w.size() != 4 || x[1] != w[1] || shape.stride == 0 || !fits(2) || !fits(3))
    throw Error("conv: " + words_of(x) + " with a weight of " + words_of(w));
  const auto extent = [&](std::size_t d) { return (x[d] + 2 * shape.padding - w[d]) / shape.stride + 1; };
  return {x[0], x[1], x[2], x[3], w[2], w[3], extent(2), extent(3), shape};
}

template <class Real>
void gather(const Patches& patches, const Array<Real>& x, int threads, std::vector<Real>& rows) {
  for_each_part(patches.rows(), threads, patches.length(), [&](std::size_t row, std::size_t end) {
    for (; row < end; ++row) {
      Real* const out = rows.data() + row * patches.length();
      std::fill_n(out, patches.length(), Real{0});
      patches.for_each(row, [&](std::size_t element, std::size_t from) { out[element] = x.values[from]; });
    }
  });
}

/// (N, OH, OW, O) from or to (N, O, OH, OW).
template <class Real>
void move_channels(const std::vector<Real>& x, std::size_t n, std::size_t channels, std::size_t pixels, bool last,
                   std::vector<Real>& out) {
  for (std::size_t image = 0; image < n; ++image)
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t p = 0; p < pixels; ++p) {
        const std::size_t of_first = (image * channels + c) * pixels + p, of_last = (image * pixels + p) * channels + c;
        out[last ? of_last : of_first] = x[last ? of_first : of_last];
      }
}

}  // namespace

template <class Real>
Variable convolution(Tape<Real>& tape, Variable x, Variable weight, std::optional<Variable> bias, ConvolutionShape shape) {
  const Shape of_x = tape.shape(x), of_w = tape.shape(weight);
  const Patches patches = patches_of(of_x, of_w, shape);
  const std::size_t channels = of_w[0], pixels = patches.oh * patches.ow, rows = patches.rows(), length = patches.length();
  if (bias && tape.value(*bias).count() != channels) throw Error("conv: a bias of " + words_of(tape.shape(*bias)));

  const ProductContext<Real> context = context_of(tape, "conv");
  const auto weight_matrix = [channels, length](const Array<Real>& w) { return matrix(w, 0, channels, length); };
  Array<Real> out = tape.array({patches.n, channels, patches.oh, patches.ow});
  Scratch<Real> by_pixels(tape.workspace().arrays, rows * channels);
  {
    Scratch<Real> taken(tape.workspace().arrays, rows * length);
    gather(patches, tape.value(x), tape.threads(), taken.values());
    context.multiply({{taken.values(), rows, length}, context.precision.input, "input"},
                     {weight_matrix(tape.value(weight)).t(), context.precision.weight, "weight"}, by_pixels.values());
  }
  if (bias) {
    std::vector<Real> stored = tape.value(*bias).values;
    context.store(stored, context.precision.output, "bias");
    add_to_rows(by_pixels.values(), stored);
  }
  move_channels(by_pixels.values(), patches.n, channels, pixels, false, out.values);
  std::vector<Variable> inputs{x, weight};
  if (bias) inputs.push_back(*bias);
  return tape.record(
      "conv", inputs, std::move(out), context.precision.output,
      [context, inputs, of_x, of_w, patches, channels, pixels, rows, length, weight_matrix](const Array<Real>& gradient) {
        Tape<Real>& own = context.tape;
        const ProductPrecision& p = context.precision;
        std::vector<Array<Real>> grads(inputs.size());
        Scratch<Real> last(own.workspace().arrays, rows * channels);
        move_channels(gradient.values, patches.n, channels, pixels, true, last.values());
        const MatrixView<Real> of_output{last.values(), rows, channels};
        if (own.has_gradient(inputs[0])) {
          Scratch<Real> of_patches(own.workspace().arrays, rows * length);
          context.multiply({of_output, p.grad_output, "grad_output"}, {weight_matrix(own.value(inputs[1])), p.weight, "weight"},
                           of_patches.values());
          std::vector<double>& sums = own.workspace().sums;
          sums.assign(count_of(of_x), 0.0);
          for (std::size_t row = 0; row < rows; ++row)
            patches.for_each(row, [&, from = of_patches.values().data() + row * length](std::size_t element, std::size_t to) {
              sums[to] += static_cast<double>(from[element]);
            });
          grads[0] = own.array(of_x);
          for (std::size_t i = 0; i < sums.size(); ++i) grads[0].values[i] = static_cast<Real>(sums[i]);
          context.store(grads[0].values, p.grad_input, "grad_input");
        }
        if (own.has_gradient(inputs[1])) {
          Scratch<Real> taken(own.workspace().arrays, rows * length);
          gather(patches, own.value(inputs[0]), own.threads(), taken.values());
          grads[1] = own.array(of_w);
          context.multiply({of_output.t(), p.grad_output, "grad_output"}, {{taken.values(), rows, length}, p.input, "input"},
                           grads[1].values, true);
          context.store(grads[1].values, p.grad_weight, "grad_weight");
        }
        if (inputs.size() > 2) grads[2] = context.bias_gradient(last.values(), channels, own.shape(inputs[2]));
        return grads;
      });
}

#define ULPSCOPE_OPERATIONS(Real)                                                         \
  template Variable matmul(Tape<Real>&, Variable, Variable, Transpose, std::string_view); \
  template Variable linear(Tape<Real>&, Variable, Variable, std::optional<Variable>);     \
  template Variable convolution(Tape<Real>&, Variable, Variable, std::optional<Variable>, ConvolutionShape);

ULPSCOPE_OPERATIONS(float)
ULPSCOPE_OPERATIONS(double)
#undef ULPSCOPE_OPERATIONS

}  // namespace ulpscope::training

// SPDX-License-Identifier: Apache-2.0
// Operators that multiply matrices.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "emu/catalogue.hpp"
#include "emu/engine_matmul.hpp"
#include "emu/engines.hpp"
#include "studies/onnx/operators.hpp"
#include "studies/onnx/windows.hpp"

namespace ulpscope::studies::onnx {
namespace {

using Kind = Value::Kind;

std::vector<Value> matmul_of(const Call& call) { return {matmul(call.in(0), call.in(1), call.threads)}; }

std::vector<Value> gemm(const Call& call) {
  const auto turned = [](const Value& value, bool turns) { return turns ? transposed(value, {1, 0}) : value; };
  if (call.in(0).shape.size() != 2 || call.in(1).shape.size() != 2)
    throw Error("of " + words_of(call.in(0).shape) + " and " + words_of(call.in(1).shape));
  const Value a = turned(call.in(0), call.whole("transA", 0) != 0), b = turned(call.in(1), call.whole("transB", 0) != 0);
  Value out = matmul(a, b, call.threads);
  const double alpha = call.real("alpha", 1), beta = call.real("beta", 1);
  const Value c = call.maybe(2) != nullptr ? stretched(call.maybe(2)->as_real(), out.shape) : make(Kind::real, out.shape);
  for (std::size_t i = 0; i < out.count(); ++i) out.reals[i] = static_cast<float>(alpha * out.at(i) + beta * c.at(i));
  return {out};
}

/// Integers less their zero points, one for all or one for each row of the first and each column of the second.
std::vector<Value> matmul_of_integers(const Call& call) {
  const auto shifted = [&](std::size_t i, std::size_t of_zero, bool by_rows) {
    Value x = make(Kind::whole, call.in(i).as_integers().shape);
    Value zero = call.maybe(of_zero) != nullptr ? call.maybe(of_zero)->as_integers() : make(Kind::whole, {});
    if (zero.count() == 1) zero = reshaped(zero, {});
    if (by_rows && zero.shape.size() == 1) zero = reshaped(zero, {zero.count(), 1});
    zero = stretched(zero, x.shape);
    for (std::size_t k = 0; k < x.count(); ++k) x.wholes[k] = call.in(i).wholes[k] - zero.wholes[k];
    return x;
  };
  const Value a = shifted(0, 2, true), b = shifted(1, 3, false);
  if (a.shape.size() < 2 || b.shape.size() != 2 || a.shape.back() != b.shape[0])
    throw NotComputed("of " + words_of(a.shape) + " and " + words_of(b.shape));
  Shape shape = a.shape;
  const std::size_t k = b.shape[0], n = b.shape[1];
  shape.back() = n;
  Value out = make(Kind::whole, shape, "int32");
  for (std::size_t row = 0; n != 0 && row < out.count() / n; ++row)
    for (std::size_t p = 0; p < k; ++p)
      for (std::size_t j = 0; j < n; ++j) out.wholes[row * n + j] += a.wholes[row * k + p] * b.wholes[p * n + j];
  return {out};
}

/// Adds a bias of each channel.
void add_bias(Value& out, const Value* bias) {
  if (bias == nullptr) return;
  if (bias->as_real().count() != out.shape[1])
    throw Error("a bias of " + words_of(bias->shape) + " for " + words_of(out.shape));
  const std::size_t plane = count_of(Shape(out.shape.begin() + 2, out.shape.end()));
  auto at = out.reals.begin();
  for (std::size_t n = 0; n < out.shape[0]; ++n)
    for (const float of_channel : bias->reals)
      for (std::size_t p = 0; p < plane; ++p) *at++ += of_channel;
}

std::vector<Value> convolution(const Call& call) {
  const Value &x = call.in(0).as_real(), &w = call.in(1).as_real();
  const std::int64_t group = call.whole("group", 1);
  if (x.shape.size() < 3 || w.shape.size() != x.shape.size() || group < 1 ||
      x.shape[1] != w.shape[1] * static_cast<std::size_t>(group) || w.shape[0] % static_cast<std::size_t>(group) != 0)
    throw Error("of " + words_of(x.shape) + " with filters of " + words_of(w.shape) + " in " + std::to_string(group) +
                " groups");
  const Windows windows(call, Shape(x.shape.begin() + 2, x.shape.end()), Shape(w.shape.begin() + 2, w.shape.end()));
  const auto groups = static_cast<std::size_t>(group);
  const std::size_t channels = w.shape[1], filters = w.shape[0] / groups, positions = count_of(windows.out),
                    taps = count_of(windows.kernel), plane = count_of(windows.in);
  Shape shape{x.shape[0], w.shape[0]};
  shape.insert(shape.end(), windows.out.begin(), windows.out.end());
  Value out = make(Kind::real, shape), columns = make(Kind::real, {channels * taps, positions});
  const std::vector<std::size_t> from = windows.elements();  // of a plane, by tap and position
  for (std::size_t n = 0; n < x.shape[0]; ++n)
    for (std::size_t g = 0; g < groups; ++g) {
      for (std::size_t c = 0; c < channels; ++c) {
        const float* const source = x.reals.data() + (n * x.shape[1] + g * channels + c) * plane;
        float* const to = columns.reals.data() + c * taps * positions;
        for (std::size_t i = 0; i < taps * positions; ++i) to[i] = from[i] == nowhere ? 0.0F : source[from[i]];
      }
      multiply(std::span(w.reals).subspan(g * filters * channels * taps, filters * channels * taps), columns.reals,
               std::span(out.reals).subspan((n * w.shape[0] + g * filters) * positions, filters * positions), filters,
               positions, channels * taps, call.threads);
    }
  add_bias(out, call.maybe(2));
  return {out};
}

std::vector<Value> transposed_convolution(const Call& call) {
  const Value &x = call.in(0).as_real(), &w = call.in(1).as_real();
  const std::int64_t group = call.whole("group", 1);
  if (x.shape.size() < 3 || w.shape.size() != x.shape.size() || group < 1 || x.shape[1] != w.shape[0] ||
      w.shape[0] % static_cast<std::size_t>(group) != 0)
    throw Error("of " + words_of(x.shape) + " with filters of " + words_of(w.shape) + " in " + std::to_string(group) +
                " groups");
  const auto groups = static_cast<std::size_t>(group);
  const Windows windows =
      Windows::backwards(call, Shape(x.shape.begin() + 2, x.shape.end()), Shape(w.shape.begin() + 2, w.shape.end()));
  const std::size_t channels = w.shape[0] / groups, filters = w.shape[1], positions = count_of(windows.out),
                    taps = count_of(windows.kernel),
                    plane = count_of(windows.in);  // of the result: it is what a convolution would slide over
  Shape shape{x.shape[0], filters * groups};
  shape.insert(shape.end(), windows.in.begin(), windows.in.end());
  Value out = make(Kind::real, shape), columns = make(Kind::real, {filters * taps, positions});
  std::vector<float> turned(filters * taps * channels);
  std::vector<double> sums(plane);
  const std::vector<std::size_t> to = windows.elements();
  for (std::size_t n = 0; n < x.shape[0]; ++n)
    for (std::size_t g = 0; g < groups; ++g) {
      for (std::size_t c = 0; c < channels; ++c)
        for (std::size_t i = 0; i < filters * taps; ++i)
          turned[i * channels + c] = w.reals[(g * channels + c) * filters * taps + i];
      multiply(turned, std::span(x.reals).subspan((n * x.shape[1] + g * channels) * positions, channels * positions),
               columns.reals, filters * taps, positions, channels, call.threads);
      for (std::size_t f = 0; f < filters; ++f) {
        std::ranges::fill(sums, 0.0);
        for (std::size_t i = 0; i < taps * positions; ++i)
          if (to[i] != nowhere) sums[to[i]] += static_cast<double>(columns.reals[f * taps * positions + i]);
        std::ranges::transform(sums, out.reals.begin() + static_cast<std::ptrdiff_t>(((n * groups + g) * filters + f) * plane),
                               [](double s) { return static_cast<float>(s); });
      }
    }
  add_bias(out, call.maybe(2));
  return {out};
}

constexpr Operator product_table[] = {{"Conv", convolution},
                                      {"ConvTranspose", transposed_convolution},
                                      {"Gemm", gemm},
                                      {"MatMul", matmul_of},
                                      {"MatMulInteger", matmul_of_integers}};

}  // namespace

void multiply(std::span<const float> a, std::span<const float> b, std::span<float> d, std::size_t m, std::size_t n,
              std::size_t k, int threads) {
  static const emu::Engine engine = emu::parse_engine("fma", {emu::float32, emu::float32});
  if (m == 0 || n == 0) return;
  if (k == 0) {
    std::ranges::fill(d, 0.0F);
    return;
  }
  emu::engine_matmul(
      emu::EngineMatmul<float>{
          .engine = engine, .a = {emu::float32, a, {m, k}}, .b = {emu::float32, b, {k, n}}, .threads = threads},
      d);
}

Value matmul(const Value& a, const Value& b, int threads) {
  a.as_real(), b.as_real();
  if (a.shape.empty() || b.shape.empty()) throw Error("of " + words_of(a.shape) + " and " + words_of(b.shape));
  Shape of_a = a.shape, of_b = b.shape;
  if (a.shape.size() == 1) of_a.insert(of_a.begin(), 1);
  if (b.shape.size() == 1) of_b.push_back(1);
  const std::size_t m = of_a[of_a.size() - 2], k = of_a.back(), n = of_b.back();
  if (of_b[of_b.size() - 2] != k) throw Error("of " + words_of(a.shape) + " and " + words_of(b.shape));
  const Shape batch_a(of_a.begin(), of_a.end() - 2), batch_b(of_b.begin(), of_b.end() - 2), batch = broadcast(batch_a, batch_b);
  Shape shape = batch;
  if (a.shape.size() != 1) shape.push_back(m);
  if (b.shape.size() != 1) shape.push_back(n);
  Value out = make(Kind::real, shape);
  const std::vector<std::size_t> steps_a = strides_of(batch_a, true), steps_b = strides_of(batch_b, true);
  const std::size_t products = count_of(batch);
  Places places(batch);
  for (std::size_t i = 0; i < products; ++i, places.next()) {
    std::size_t at_a = 0, at_b = 0;
    for (std::size_t d = 0; d < steps_a.size(); ++d) at_a += places.at()[batch.size() - steps_a.size() + d] * steps_a[d];
    for (std::size_t d = 0; d < steps_b.size(); ++d) at_b += places.at()[batch.size() - steps_b.size() + d] * steps_b[d];
    multiply(std::span(a.reals).subspan(at_a * m * k, m * k), std::span(b.reals).subspan(at_b * k * n, k * n),
             std::span(out.reals).subspan(i * m * n, m * n), m, n, k, threads);
  }
  return out;
}

std::span<const Operator> product_operators() { return product_table; }

}  // namespace ulpscope::studies::onnx

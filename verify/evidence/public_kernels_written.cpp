// SPDX-License-Identifier: Apache-2.0
// The kernels. Loops over blocks are those of the originals: a block has 64 elements, 32 along K.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "emu/math.hpp"
#include "emu/special_functions.hpp"
#include "verify/evidence/public_kernels.hpp"

namespace ulpscope::verify {
namespace {

using Output = std::vector<float>;

constexpr std::size_t kernel_block = 64, kernel_k_block = 32;

float exp_of(float x) { return static_cast<float>(emu::exp(static_cast<double>(x))); }
float root_of(float x) { return std::sqrt(x); }

std::size_t extent(const Values& tensor, std::size_t axis) { return static_cast<std::size_t>(tensor.shape[axis]); }

/// Each element by itself.
template <class Function>
auto pointwise(Function function) {
  return [function](const KernelInputs& inputs) {
    Output out;
    for (const float x : inputs[0].second.elements) out.push_back(function(x));
    return out;
  };
}

/// Each row by itself: `row(elements from the row's first to the end of the tensor, columns, out)`.
template <class Row>
auto rowwise(Row row) {
  return [row](const KernelInputs& inputs) {
    const Values& x = inputs[0].second;
    const auto columns = static_cast<std::size_t>(x.columns());
    Output out(x.elements.size());
    for (std::size_t first = 0; first < out.size(); first += columns)
      row(std::span(x.elements).subspan(first), columns, std::span(out).subspan(first, columns));
    return out;
  };
}

/// What stands behind the end of a row, up to a whole block.
enum class Tail { masked, zeros, next_row };

template <Tail tail>
void softmax_row(std::span<const float> x, std::size_t columns, std::span<float> out) {
  std::vector<float> padded(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(columns));
  for (std::size_t i = columns; i % kernel_block != 0; ++i)
    padded.push_back(tail == Tail::masked                     ? -std::numeric_limits<float>::infinity()
                     : tail == Tail::next_row && i < x.size() ? x[i]
                                                              : 0.0F);
  const float largest = *std::ranges::max_element(padded);
  float sum = 0;
  for (float& e : padded) e = exp_of(e - largest), sum += e;
  for (std::size_t i = 0; i < columns; ++i) out[i] = padded[i] / sum;
}

float mean_square(std::span<const float> x, std::size_t columns) {
  float sum = 0;
  for (std::size_t i = 0; i < columns; ++i) sum += x[i] * x[i];
  return sum / static_cast<float>(columns);
}

void layer_norm_row(std::span<const float> x, std::size_t columns, std::span<float> out) {
  float sum = 0;
  for (std::size_t i = 0; i < columns; ++i) sum += x[i];
  const float mean = sum / static_cast<float>(columns);
  for (std::size_t i = 0; i < columns; ++i) out[i] = x[i] - mean;
  const float root = root_of(mean_square(out, columns) + 1e-5F);
  for (float& y : out) y /= root;
}

/// x over the root of its mean square, or over that itself.
template <bool rooted>
void rms_norm_row(std::span<const float> x, std::size_t columns, std::span<float> out) {
  const float mean = mean_square(x, columns) + 1e-6F;
  for (std::size_t i = 0; i < columns; ++i) out[i] = x[i] / (rooted ? root_of(mean) : mean);
}

template <bool rooted>
void l2_norm_row(std::span<const float> x, std::size_t columns, std::span<float> out) {
  float sum = 0;
  for (std::size_t i = 0; i < columns; ++i) sum += x[i] * x[i];
  for (std::size_t i = 0; i < columns; ++i) out[i] = x[i] / (rooted ? root_of(sum) : sum);
}

/// A.B by blocks of K, whose sums are added to the accumulator, or replace it.
template <bool added>
Output multiplied(const KernelInputs& inputs) {
  const Values &a = inputs[0].second, &b = inputs[1].second;
  const std::size_t m = extent(a, 0), k = extent(a, 1), n = extent(b, 1);
  Output out(m * n);
  for (std::size_t i = 0; i < m * n; ++i)
    for (std::size_t first = 0; first < k; first += kernel_k_block) {
      float part = 0;
      for (std::size_t j = first; j < std::min(first + kernel_k_block, k); ++j)
        part += a.elements[i / n * k + j] * b.elements[j * n + i % n];
      out[i] = added ? out[i] + part : part;
    }
  return out;
}

/// The score of query `row` and key `column`.
float score(const KernelInputs& inputs, std::size_t row, std::size_t column, bool scaled) {
  const Values &q = inputs[0].second, &k = inputs[1].second;
  const std::size_t d = extent(q, 1);
  float sum = 0;
  for (std::size_t j = 0; j < d; ++j) sum += q.elements[row * d + j] * k.elements[column * d + j];
  return scaled ? sum / root_of(static_cast<float>(d)) : sum;
}

/// Attention with an online softmax over blocks of keys. `rescaled`: what was summed follows when the maximum grows.
Output attended(const KernelInputs& inputs, std::size_t block, bool scaled, bool rescaled) {
  const Values &q = inputs[0].second, &v = inputs[2].second;
  const std::size_t m = extent(q, 0), n = extent(v, 0), d = extent(v, 1);
  Output out(m * d);
  for (std::size_t row = 0; row < m; ++row) {
    float largest = -std::numeric_limits<float>::infinity(), sum = 0;
    const std::span<float> acc = std::span(out).subspan(row * d, d);
    for (std::size_t first = 0; first < n; first += block) {
      std::vector<float> scores;
      for (std::size_t i = first; i < std::min(first + block, n); ++i) scores.push_back(score(inputs, row, i, scaled));
      const float next = std::max(largest, *std::ranges::max_element(scores)), alpha = exp_of(largest - next);
      sum *= alpha, largest = next;
      for (float& x : acc) x *= rescaled ? alpha : 1.0F;
      for (std::size_t i = 0; i < scores.size(); ++i) {
        const float e = exp_of(scores[i] - next);
        sum += e;
        for (std::size_t j = 0; j < d; ++j) acc[j] += e * v.elements[(first + i) * d + j];
      }
    }
    for (float& x : acc) x /= sum;
  }
  return out;
}

Output nothing_like_x(const KernelInputs& inputs) { return Output(inputs[0].second.elements.size()); }
Output nothing_like_rows(const KernelInputs& inputs) { return Output(static_cast<std::size_t>(inputs[0].second.rows())); }

float gelu_of(float x) { return 0.5F * x * (1.0F + static_cast<float>(emu::erf(static_cast<double>(x / root_of(2.0F))))); }
float doubled_gelu_of(float x) { return x * (1.0F + static_cast<float>(emu::erf(static_cast<double>(x / root_of(2.0F))))); }
template <int beta>
float silu_of(float x) {
  return x / (1.0F + exp_of(-static_cast<float>(beta) * x));
}
template <int percent>
float leaky_relu_of(float x) {
  return x > 0 ? x : static_cast<float>(percent) / 100.0F * x;
}

constexpr const char* softmax_formula = "e = exp(x - max(x, axis=-1, keepdims=true)); e / sum(e, axis=-1, keepdims=true)";
constexpr const char* gelu_formula = "0.5 * x * (1 + erf(x / sqrt(2)))";
constexpr const char* silu_formula = "x / (1 + exp(-x))";
constexpr const char* rms_norm_formula = "x / sqrt(mean(x * x, axis=-1, keepdims=true) + 1e-6)";
constexpr const char* l2_norm_formula = "x / sqrt(sum(x * x, axis=-1, keepdims=true))";
constexpr const char* leaky_relu_formula = "where(x > 0, x, 0.01 * x)";
constexpr const char* attention_formula =
    "s = einsum(\"md,nd->mn\", q, k) / sqrt(D); e = exp(s - max(s, axis=-1, keepdims=true)); "
    "einsum(\"mn,nd->md\", e, v) / sum(e, axis=-1, keepdims=true)";

std::vector<KernelInput> x_of(const std::string& drawn) { return {{"x", drawn}}; }
std::vector<KernelInput> a_and_b(const std::string& m, const std::string& k, const std::string& n) {
  return {{"a", "normal:0,1:" + m + "x" + k}, {"b", "normal:0,1:" + k + "x" + n}};
}
std::vector<KernelInput> q_k_v(const std::string& drawn, const std::string& d, const std::string& n) {
  return {{"q", drawn + ":16x" + d}, {"k", drawn + ":" + n + "x" + d}, {"v", drawn + ":" + n + "x" + d}};
}

}  // namespace

std::vector<WrittenKernel> written_kernels() {
  const std::string paper = "arXiv 2606.20128", bench = "KernelBench, level 1";
  const auto even = x_of("normal:0,1:16x256"), odd = x_of("normal:0,1:5x3"), small = x_of("uniform:-0.1,0.1:16x256"),
             tiny = x_of("uniform:-0.01,0.01:16x256"), long_rows = x_of("normal:0,1:2x65536"),
             longer_rows = x_of("normal:0,1:1x262144");
  const auto product = a_and_b("16", "32", "16"), long_product = a_and_b("5", "33", "7");
  const auto weak = q_k_v("normal:0,0.1", "64", "64"), strong = q_k_v("normal:0,1", "8", "200");
  const auto attention = [](bool scaled) {
    return [scaled](const KernelInputs& in) { return attended(in, std::numeric_limits<std::uint32_t>::max(), scaled, true); };
  };
  const auto flash = [](bool rescaled) {
    return [rescaled](const KernelInputs& in) { return attended(in, kernel_block, true, rescaled); };
  };
  const auto tanh_of = [](float x) { return static_cast<float>(emu::tanh(static_cast<double>(x))); };
  return {
      {paper, "softmax", "", softmax_formula, even, odd, rowwise(softmax_row<Tail::masked>)},
      {paper, "layernorm", "", "d = x - mean(x, axis=-1, keepdims=true); d / sqrt(mean(d * d, axis=-1, keepdims=true) + 1e-5)",
       even, odd, rowwise(layer_norm_row)},
      {paper, "matmul", "", "a @ b", product, long_product, multiplied<true>},
      {paper, "softmax_llm_buggy", "the tail of a block is that of the next row", softmax_formula, even, odd,
       rowwise(softmax_row<Tail::next_row>)},
      {paper, "softmax_triton", "", softmax_formula, even, odd, rowwise(softmax_row<Tail::masked>)},
      {paper, "softmax_triton_buggy", "the tail of a block is 0 instead of -inf", softmax_formula, even, odd,
       rowwise(softmax_row<Tail::zeros>)},
      {paper, "gelu_triton", "", gelu_formula, tiny, odd, pointwise(gelu_of)},
      {paper, "gelu_triton_buggy", "the factor 0.5 is missing", gelu_formula, tiny, odd, pointwise(doubled_gelu_of)},
      {paper, "silu_triton", "", silu_formula, small, odd, pointwise(silu_of<1>)},
      {paper, "silu_triton_buggy", "sigmoid(2 x) instead of sigmoid(x)", silu_formula, small, odd, pointwise(silu_of<2>)},
      {paper, "rmsnorm_triton", "", rms_norm_formula, long_rows, odd, rowwise(rms_norm_row<true>)},
      {paper, "rmsnorm_triton_buggy", "the square root is missing", rms_norm_formula, long_rows, odd,
       rowwise(rms_norm_row<false>)},
      {paper, "l2norm_triton", "", l2_norm_formula, longer_rows, odd, rowwise(l2_norm_row<true>)},
      {paper, "l2norm_triton_buggy", "the square root is missing", l2_norm_formula, longer_rows, odd,
       rowwise(l2_norm_row<false>)},
      {paper, "relu_triton", "", "maximum(x, 0)", even, odd, pointwise([](float x) { return std::max(x, 0.0F); })},
      {paper, "leaky_relu_triton", "", leaky_relu_formula, small, odd, pointwise(leaky_relu_of<1>)},
      {paper, "leaky_relu_triton_buggy", "the slope is 0.1 instead of 0.01", leaky_relu_formula, small, odd,
       pointwise(leaky_relu_of<10>)},
      {paper, "sigmoid_triton", "", "1 / (1 + exp(-x))", even, odd,
       pointwise([](float x) { return 1.0F / (1.0F + exp_of(-x)); })},
      {paper, "tanh_triton", "", "tanh(x)", even, odd, pointwise(tanh_of)},
      {paper, "elu_triton", "", "where(x > 0, x, exp(x) - 1)", even, odd,
       pointwise([](float x) { return x > 0 ? x : exp_of(x) - 1.0F; })},
      {paper, "matmul_triton", "", "a @ b", product, long_product, multiplied<true>},
      {paper, "matmul_triton_buggy", "blocks of K replace the sum", "a @ b", product, long_product, multiplied<false>},
      {paper, "attention_triton", "", attention_formula, weak, strong, attention(true)},
      {paper, "attention_triton_buggy", "scores are not divided by the root of D", attention_formula, weak, strong,
       attention(false)},
      {paper, "flash_attention_triton", "", attention_formula, weak, strong, flash(true)},
      {paper, "flash_attention_triton_buggy", "sums are not rescaled when the maximum grows", attention_formula, weak, strong,
       flash(false)},
      {bench,
       "23_Softmax",
       "nothing is written",
       softmax_formula,
       x_of("uniform:0,1:1x393216"),
       {},
       nothing_like_x,
       emu::bfloat16},
      {bench,
       "37_FrobeniusNorm_",
       "nothing is written",
       "x / sqrt(sum(x * x))",
       x_of("uniform:0,1:1024x1024"),
       {},
       nothing_like_x,
       emu::bfloat16},
      {bench,
       "39_L2Norm_",
       "nothing is written",
       l2_norm_formula,
       x_of("uniform:0,1:4x65535"),
       {},
       nothing_like_x,
       emu::bfloat16},
      {bench,
       "53_Min_reduction_over_a_dimension",
       "nothing is written",
       "min(x, axis=-1)",
       x_of("uniform:0,1:64x4096"),
       {},
       nothing_like_rows,
       emu::bfloat16},
  };
}

}  // namespace ulpscope::verify

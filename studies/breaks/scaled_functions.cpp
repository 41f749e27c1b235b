// SPDX-License-Identifier: Apache-2.0
// Each function stands here twice: one rounding an operation as a program computes it, and in float64 as the reference.
#include "studies/breaks/scaled_functions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/math.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"

namespace ulpscope::studies {
namespace {

using Values = std::vector<double>;
using View = std::span<const double>;

constexpr double layer_norm_epsilon = 1e-5;                                  // torch.nn.LayerNorm's default
constexpr double adam_beta1 = 0.9, adam_beta2 = 0.999, adam_epsilon = 1e-8;  // torch.optim.Adam's defaults
constexpr double sqrt_half = 0.70710678118654752440, sqrt_two_over_pi = 0.79788456080286535588;
constexpr double gelu_cubic = 0.044715;  // Hendrycks and Gimpel, "Gaussian Error Linear Units", arXiv 1606.08415

double greatest(View x) { return *std::max_element(x.begin(), x.end()); }

double sum_of(RoundedArithmetic& in, View terms) {
  double sum = 0;
  for (const double term : terms) sum = in.add(sum, term);
  return sum;
}

Values exponentials(RoundedArithmetic& in, View x) {
  Values out;
  for (const double v : x) out.push_back(in.exp(v));
  return out;
}

Values less(RoundedArithmetic& in, View x, double shift) {
  Values out;
  for (const double v : x) out.push_back(in.sub(v, shift));
  return out;
}

Values shares(RoundedArithmetic& in, Values terms) {
  const double sum = sum_of(in, terms);
  for (double& term : terms) term = in.div(term, sum);
  return terms;
}

Values softmax_unshifted(RoundedArithmetic& in, View x) { return shares(in, exponentials(in, x)); }
Values softmax(RoundedArithmetic& in, View x) {
  const Values shifted = less(in, x, greatest(x));
  return softmax_unshifted(in, shifted);
}
Values exact_softmax(View x) {
  const double most = greatest(x);
  Values out(x.begin(), x.end());
  double sum = 0;
  for (double& v : out) sum += v = emu::exp(v - most);
  for (double& v : out) v /= sum;
  return out;
}

/// The class is the first.
Values cross_entropy(RoundedArithmetic& in, View x) {
  const Values shifted = less(in, x, greatest(x));
  const Values terms = exponentials(in, shifted);
  const double sum = sum_of(in, terms);
  const double logarithm = in.log(sum);
  return {in.sub(logarithm, shifted.front())};
}
Values cross_entropy_of_softmax(RoundedArithmetic& in, View x) {
  const Values probabilities = softmax(in, x);
  return {-in.log(probabilities.front())};
}
Values exact_cross_entropy(View x) {
  const double most = greatest(x);
  double sum = 0;
  for (const double v : x) sum += emu::exp(v - most);
  return {emu::log(sum) - (x.front() - most)};
}

double sum_of_squares_of(RoundedArithmetic& in, View x) {
  double sum = 0;
  for (const double v : x) {
    const double square = in.mul(v, v);
    sum = in.add(sum, square);
  }
  return sum;
}
Values sum_of_squares(RoundedArithmetic& in, View x) { return {sum_of_squares_of(in, x)}; }
Values exact_sum_of_squares(View x) {
  double sum = 0;
  for (const double v : x) sum += v * v;
  return {sum};
}

/// Without gain and bias.
Values layer_norm(RoundedArithmetic& in, View x) {
  const double count = in.round(static_cast<double>(x.size())), epsilon = in.round(layer_norm_epsilon);
  const double sum = sum_of(in, x);
  const double mean = in.div(sum, count);
  Values out = less(in, x, mean);
  const double squares = sum_of_squares_of(in, out);
  const double variance = in.div(squares, count);
  const double enlarged = in.add(variance, epsilon);
  const double deviation = in.sqrt(enlarged);
  for (double& v : out) v = in.div(v, deviation);
  return out;
}
Values exact_layer_norm(View x) {
  const auto count = static_cast<double>(x.size());
  double sum = 0;
  for (const double v : x) sum += v;
  Values out(x.begin(), x.end());
  for (double& v : out) v -= sum / count;
  const double deviation = std::sqrt(exact_sum_of_squares(out).front() / count + layer_norm_epsilon);
  for (double& v : out) v /= deviation;
  return out;
}

/// x/2 (1 + gate): how both forms end.
double gated(RoundedArithmetic& in, double x, double half, double one, double gate) {
  const double halved = in.mul(half, x);
  const double factor = in.add(one, gate);
  return in.mul(halved, factor);
}
Values gelu(RoundedArithmetic& in, View x) {
  const double half = in.round(0.5), one = in.round(1), factor = in.round(sqrt_half);
  Values out;
  for (const double v : x) {
    const double scaled = in.mul(v, factor);
    const double gate = in.erf(scaled);
    out.push_back(gated(in, v, half, one, gate));
  }
  return out;
}
Values gelu_tanh(RoundedArithmetic& in, View x) {
  const double half = in.round(0.5), one = in.round(1), factor = in.round(sqrt_two_over_pi), cubic = in.round(gelu_cubic);
  Values out;
  for (const double v : x) {
    const double square = in.mul(v, v);
    const double cube = in.mul(square, v);
    const double weighted = in.mul(cubic, cube);
    const double inner = in.add(v, weighted);
    const double scaled = in.mul(factor, inner);
    const double gate = in.tanh(scaled);
    out.push_back(gated(in, v, half, one, gate));
  }
  return out;
}
template <class Function>
Values of_each(View x, Function function) {
  Values out;
  for (const double v : x) out.push_back(emu::decode(emu::float64, function(emu::encode(emu::float64, v)).code));
  return out;
}
Values exact_gelu(View x) {
  return of_each(x, [](emu::Code v) { return emu::gelu(emu::float64, v); });
}
Values exact_gelu_tanh(View x) {
  return of_each(x, [](emu::Code v) { return emu::gelu_tanh(emu::float64, v); });
}

/// The first step from moments of 0, its learning rate left out. 1 - beta is computed in float64, as programs do, and divides
/// itself out again: m / (1 - beta1) / (sqrt(v / (1 - beta2)) + epsilon).
Values adam(RoundedArithmetic& in, View x) {
  const double rest1 = in.round(1 - adam_beta1), rest2 = in.round(1 - adam_beta2), epsilon = in.round(adam_epsilon);
  Values out;
  for (const double g : x) {
    const double first = in.mul(rest1, g), square = in.mul(g, g);
    const double second = in.mul(rest2, square);
    const double mean = in.div(first, rest1), variance = in.div(second, rest2);
    const double root = in.sqrt(variance);
    const double divisor = in.add(root, epsilon);
    out.push_back(in.div(mean, divisor));
  }
  return out;
}
Values exact_adam(View x) {
  Values out;
  for (const double g : x) out.push_back(g / (std::fabs(g) + adam_epsilon));
  return out;
}

constexpr std::array functions{ScaledFunction{"softmax", softmax, exact_softmax},
                               ScaledFunction{"softmax_unshifted", softmax_unshifted, exact_softmax},
                               ScaledFunction{"layer_norm", layer_norm, exact_layer_norm},
                               ScaledFunction{"gelu", gelu, exact_gelu},
                               ScaledFunction{"gelu_tanh", gelu_tanh, exact_gelu_tanh},
                               ScaledFunction{"cross_entropy", cross_entropy, exact_cross_entropy},
                               ScaledFunction{"cross_entropy_of_softmax", cross_entropy_of_softmax, exact_cross_entropy},
                               ScaledFunction{"sum_of_squares", sum_of_squares, exact_sum_of_squares},
                               ScaledFunction{"adam", adam, exact_adam}};

}  // namespace

std::span<const ScaledFunction> scaled_functions() { return functions; }

std::vector<std::string> scaled_function_names() {
  std::vector<std::string> names;
  for (const ScaledFunction& function : functions) names.emplace_back(function.name);
  return names;
}

const ScaledFunction& find_scaled_function(const std::string& name) {
  const auto* const found =
      std::find_if(functions.begin(), functions.end(), [&](const ScaledFunction& function) { return function.name == name; });
  if (found == functions.end())
    throw Error("unknown function '" + name +
                "'; nearest: " + emu::comma_separated(emu::closest_words(name, scaled_function_names())));
  return *found;
}

}  // namespace ulpscope::studies

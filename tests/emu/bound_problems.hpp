// SPDX-License-Identifier: Apache-2.0
// Matrix products whose errors are held against bounds: operands of every kind that a bound has a word about, what an engine
// makes of them, and for each element the exact value and the sums of magnitudes, all without rounding.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/engine_bound.hpp"
#include "emu/engine_matmul.hpp"
#include "emu/engines.hpp"
#include "emu/exact_sum.hpp"
#include "tests/emu/engine_inputs.hpp"

namespace ulpscope::test {

enum class Values { normal, positive, cancelling, wide, subnormal, losing, constant, tiny };
inline constexpr std::array all_values{Values::normal,    Values::positive, Values::cancelling, Values::wide,
                                       Values::subnormal, Values::losing,   Values::constant,   Values::tiny};

/// Two factors' worth of exponent for terms that an engine just loses beside 1.
inline int losing_bits(const emu::Engine& engine) {
  const emu::Stage& stage = engine.stages[0];
  return stage.summing == emu::Summing::aligned ? stage.fraction_bits : engine.accumulator.fraction_bits + 1;
}

class Draw {
 public:
  Draw(Values values, const emu::Engine& engine, double amplitude, std::uint64_t seed)
      : values_(values),
        losing_(losing_bits(engine)),
        smallest_(engine.accumulator.min_exponent()),
        amplitude_(amplitude),
        random_(seed) {}

  /// An element for product k.
  double operator()(emu::Format f, std::size_t k) {
    const double sign = random_.one_in(2) ? -1 : 1;
    switch (values_) {
      case Values::normal: {
        double sum = 0;
        for (int i = 0; i < 4; ++i) sum += unit();
        return of(f, amplitude_ * (sum - 2));
      }
      case Values::positive: return of(f, amplitude_ * unit());
      case Values::cancelling: return of(f, amplitude_ * sign * (1 + unit()));
      case Values::wide: {
        const double significand = 1 + unit();
        return of(f, sign * amplitude_ * significand * std::ldexp(1.0, -random_.below(40)));
      }
      case Values::tiny: {
        const int exponent = std::max(f.min_exponent(), smallest_ / 2 - random_.below(4));
        return of(f, sign * (1 + unit()) * std::ldexp(1.0, exponent));
      }
      case Values::constant: return of(f, amplitude_ * 0.95);
      case Values::losing: {
        if (k == 0) return of(f, amplitude_);
        const double significand = 2 - unit() / 64;
        return of(f, amplitude_ * significand * std::ldexp(1.0, -(losing_ + 3) / 2 + random_.below(2)));
      }
      case Values::subnormal: break;
    }
    if (random_.one_in(3)) return of(f, amplitude_ * unit());
    const auto most = static_cast<std::uint64_t>(f.min_normal_code()) * 3;
    return sign * emu::decode(f, random_.bits() % std::min<std::uint64_t>(most, f.max_finite_code()));
  }
  /// About the least normal number.
  double least(emu::Format f) { return of(f, std::ldexp(unit(), f.min_exponent() + 2)); }
  double unit() { return static_cast<double>(random_.bits() >> 11) * 0x1p-53; }
  Random& random() { return random_; }

 private:
  static double of(emu::Format f, double x) { return emu::round_to(f, x, {.policy = emu::Policy::saturating}).value; }
  Values values_;
  int losing_, smallest_;
  double amplitude_;
  Random random_;
};

/// Who multiplies parts by scales.
struct TestScales {
  emu::Format format = emu::float32;
  std::size_t products = 0;  ///< that share two; 0: none
  std::vector<double> a, b;  ///< m x blocks, blocks x n
};

/// A product of m x k and k x n, in doubles: alpha times it, or c and it, or beta c. Scales and alpha have few enough bits for
/// their products with an operand to be doubles.
struct BoundProblem {
  emu::Engine engine;
  emu::Format a_format, b_format;
  std::size_t m, n, k;
  std::vector<double> a, b, c;
  TestScales scales;
  emu::Chain chain;
  double alpha = 1;
  std::optional<double> beta = {};

  std::size_t blocks() const { return (k + scales.products - 1) / scales.products; }
  double scale_of_a(std::size_t i, std::size_t x) const {
    return scales.products == 0 ? 1 : scales.a[i * blocks() + x / scales.products];
  }
  double scale_of_b(std::size_t x, std::size_t j) const {
    return scales.products == 0 ? 1 : scales.b[x / scales.products * n + j];
  }
};

inline double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double x : values) most = std::max(most, std::fabs(x));
  return most;
}

template <class Float>
std::vector<double> product_on_engine(const BoundProblem& p) {
  const auto cast = [](const std::vector<double>& x) { return std::vector<Float>(x.begin(), x.end()); };
  const std::vector<Float> a = cast(p.a), b = cast(p.b), c = cast(p.c);
  const std::vector<float> scale_a(p.scales.a.begin(), p.scales.a.end()), scale_b(p.scales.b.begin(), p.scales.b.end());
  emu::EngineMatmul<Float> request{};
  request.engine = p.engine;
  request.a = {p.a_format, a, {p.m, p.k}};
  request.b = {p.b_format, b, {p.k, p.n}};
  request.c = c;
  request.promote = p.chain.promote;
  request.split_k = p.chain.split_k;
  request.out = std::is_same_v<Float, float> ? emu::float32 : emu::float64;
  request.threads = 1;
  request.alpha = static_cast<Float>(p.alpha);
  if (p.beta) request.beta = static_cast<Float>(*p.beta);
  if (p.scales.products > 0) {
    request.scale_a = {p.scales.format, scale_a, p.m, p.blocks()};
    request.scale_b = {p.scales.format, scale_b, p.blocks(), p.n};
  }
  std::vector<Float> d(p.m * p.n);
  emu::engine_matmul(request, std::span<Float>(d));
  return {d.begin(), d.end()};
}
inline std::vector<double> product_on_engine(const BoundProblem& p) {
  return p.engine.accumulator == emu::float64 ? product_on_engine<double>(p) : product_on_engine<float>(p);
}

/// Of one element: |computed - exact|, and the sums of magnitudes, rounded up.
struct Observed {
  double error, magnitude, floored;
};

inline double rounded_up(const emu::ExactSum& sum) {
  return sum.rounded(emu::float64, {.rounding = emu::Rounding::upward}).value;
}

inline Observed observe(const BoundProblem& p, std::size_t i, std::size_t j, double computed) {
  emu::ExactSum difference, magnitude, floored;
  const auto floor_of = [](emu::Format f, double x) {
    return x == 0 ? 0 : std::max(std::fabs(x), emu::decode(f, f.min_normal_code()));
  };
  for (std::size_t x = 0; x < p.k; ++x) {
    const double a = p.a[i * p.k + x], b = p.b[x * p.n + j], sa = p.scale_of_a(i, x), sb = p.scale_of_b(x, j);
    difference.subtract_product(p.alpha * a * sa, b * sb);
    magnitude.add_product(std::fabs(p.alpha * a * sa), std::fabs(b * sb));
    floored.add_product(std::fabs(p.alpha) * floor_of(p.a_format, a) * floor_of(p.scales.format, sa),
                        floor_of(p.b_format, b) * floor_of(p.scales.format, sb));
  }
  if (p.chain.has_c) {
    // Without beta, c starts the chain and alpha multiplies it too.
    const double c = p.c[i * p.n + j], factor = p.beta.value_or(p.alpha);
    difference.subtract_product(factor, c);
    for (emu::ExactSum* const sum : {&magnitude, &floored}) sum->add_product(std::fabs(factor), std::fabs(c));
  }
  difference.add(computed);
  emu::ExactSum size;
  const bool negative = !difference.is_zero() && difference.value() < 0;
  negative ? size.subtract(difference) : size.add(difference);
  return {difference.is_zero() ? 0 : rounded_up(size), rounded_up(magnitude), rounded_up(floored)};
}

/// What a problem is drawn for.
struct BoundCase {
  const emu::EngineMode* mode;
  emu::Format a, b;
  Values values;
  std::size_t k;
  std::size_t m = 2, n = 4;
};

/// Values are small enough for sums of magnitudes to stay in the accumulator's range, as far as the formats go.
inline BoundProblem bound_problem(const BoundCase& of, const emu::Chain& chain, std::uint64_t seed) {
  const emu::Engine& engine = of.mode->model;
  const emu::Format acc = engine.accumulator;
  const double room = emu::decode(acc, acc.max_finite_code()) / (64.0 * static_cast<double>(of.k));
  Draw draw(of.values, engine, std::min(1.0, std::sqrt(room)), seed);
  BoundProblem p{engine, of.a, of.b, of.m, of.n, of.k, {}, {}, {}, {}, chain};
  p.a.resize(p.m * p.k);
  p.b.resize(p.k * p.n);
  const auto copies = [&](std::size_t x) { return of.values == Values::cancelling && x % 2 == 1; };
  for (std::size_t x = 0; x < p.k; ++x) {
    for (std::size_t i = 0; i < p.m; ++i)
      p.a[i * p.k + x] = copies(x) && !draw.random().one_in(16) ? -p.a[i * p.k + x - 1] : draw(p.a_format, x);
    for (std::size_t j = 0; j < p.n; ++j) p.b[x * p.n + j] = copies(x) ? p.b[(x - 1) * p.n + j] : draw(p.b_format, x);
  }
  if (chain.has_c)
    for (std::size_t at = 0; at < p.m * p.n; ++at) p.c.push_back(of.values == Values::tiny ? draw.least(acc) : draw(acc, at));
  if (engine.scales == emu::EngineScales::none) return p;
  p.scales = {of.mode->scale_format, static_cast<std::size_t>(engine.scale_products), {}, {}};
  const auto scale = [&] {
    const double significand = 1 + draw.unit();
    const double x = significand * std::ldexp(1.0, draw.random().between(-9, 2));
    return std::fabs(emu::decode(p.scales.format, emu::encode(p.scales.format, x, {.policy = emu::Policy::saturating})));
  };
  for (std::size_t at = 0; at < p.m * p.blocks(); ++at) p.scales.a.push_back(scale());
  for (std::size_t at = 0; at < p.n * p.blocks(); ++at) p.scales.b.push_back(scale());
  return p;
}

}  // namespace ulpscope::test

// SPDX-License-Identifier: Apache-2.0
// Random problems for whole matrix products, and what the scalar reference makes of them.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/engine_matmul.hpp"
#include "emu/engine_step.hpp"
#include "emu/engines.hpp"
#include "emu/philox.hpp"
#include "emu/simd.hpp"

namespace ulpscope::test {

using namespace ulpscope::emu;

enum class Kind { ordinary, any_code, finite_code, tiny, huge, full, sparse, zeros };
inline constexpr std::array all_kinds{Kind::ordinary, Kind::any_code, Kind::finite_code, Kind::tiny,
                                      Kind::huge,     Kind::full,     Kind::sparse,      Kind::zeros};

class Random {
 public:
  explicit Random(std::uint64_t seed) : seed_(seed) {}
  std::uint32_t operator()() { return random_word(seed_, next_++); }
  std::uint32_t below(std::uint32_t bound) { return (*this)() % bound; }

  Code code(Format format, Kind kind) {
    const Code high = (*this)(), low = (*this)();
    const Code any = (high << 32 | low) & format.code_mask();
    const Code sign = any & format.sign_mask();
    switch (kind) {
      case Kind::any_code: return any;
      case Kind::finite_code: return format.is_nan(any) || format.is_infinite(any) ? 0 : any;
      case Kind::tiny: return below(3 * static_cast<std::uint32_t>(format.min_normal_code() & 0xffffff) + 3) | sign;
      case Kind::huge: return (format.max_finite_code() - below(12)) | sign;
      case Kind::full: return encode(format, 1.75, {.rounding = Rounding::downward}) | (any & format.fraction_mask());
      case Kind::zeros: return sign;
      case Kind::sparse:
        if (below(3) > 0) return sign;
        [[fallthrough]];
      case Kind::ordinary: break;
    }
    const double magnitude = 0.01 + below(4096) / 1024.0;
    return encode(format, sign != 0 ? -magnitude : magnitude, {.policy = Policy::saturating});
  }
  std::vector<float> matrix(Format format, Kind kind, std::size_t count) {
    std::vector<float> values(count);
    for (float& x : values) x = static_cast<float>(decode(format, code(format, kind)));
    return values;
  }

 private:
  std::uint64_t seed_, next_ = 0;
};

/// In every bit, NaNs too.
inline bool same(float x, float y) { return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y); }

struct Problem {
  const EngineMode* mode;
  Format a_format, b_format;
  std::size_t m, n, k;
  std::vector<float> a, b, c, a_scales, b_scales;

  EngineMatmul<float> request() const {
    EngineMatmul<float> request{};
    request.engine = mode->model;
    request.a = {a_format, a, {m, k}};
    request.b = {b_format, b, {k, n}};
    request.c = c;
    if (!a_scales.empty()) {
      const std::size_t blocks = a_scales.size() / m;
      request.scale_a = {mode->scale_format, a_scales, m, blocks};
      request.scale_b = {mode->scale_format, b_scales, blocks, n};
    }
    return request;
  }
  float reference(std::size_t i, std::size_t j) const {
    std::vector<Code> of_a(k), of_b(k), scales_a, scales_b;
    for (std::size_t x = 0; x < k; ++x) {
      of_a[x] = encode(a_format, a[i * k + x]);
      of_b[x] = encode(b_format, b[x * n + j]);
    }
    for (std::size_t x = 0; x < a_scales.size() / m; ++x) {
      scales_a.push_back(encode(mode->scale_format, a_scales[i * (a_scales.size() / m) + x]));
      scales_b.push_back(encode(mode->scale_format, b_scales[x * n + j]));
    }
    const Format accumulator = mode->model.accumulator;
    const Code d = inner_product(mode->model, a_format, of_a, b_format, of_b, encode(accumulator, c[i * n + j]),
                                 {mode->scale_format, scales_a, scales_b});
    return static_cast<float>(decode(accumulator, d));
  }
};

/// The largest sizes of a problem; K grows to whole blocks of scales.
struct Largest {
  std::uint32_t m = 80, n = 90, k = 140;
};

inline Problem problem_of(const EngineMode& mode, Kind kind, Random& random, Largest largest = {}) {
  constexpr std::array for_any{float16, bfloat16, float8_e4m3fn, float8_e5m2, tf32};
  const std::span<const Format> inputs = mode.inputs.empty() ? std::span<const Format>(for_any) : mode.inputs;
  const auto pick = [&] { return inputs[random.below(static_cast<std::uint32_t>(inputs.size()))]; };
  const Format a_format = pick();
  const std::size_t m = 1 + random.below(largest.m), n = 1 + random.below(largest.n), k = 1 + random.below(largest.k);
  Problem p{&mode, a_format, float16, m, n, k, {}, {}, {}, {}, {}};
  p.b_format = mode.mixed ? pick() : p.a_format;
  p.a = random.matrix(p.a_format, kind, p.m * p.k);
  p.b = random.matrix(p.b_format, kind, p.k * p.n);
  p.c = random.matrix(mode.model.accumulator, kind == Kind::any_code ? Kind::finite_code : kind, p.m * p.n);
  if (mode.model.scales != EngineScales::none) {
    const auto each = static_cast<std::size_t>(mode.model.scale_products);
    const std::size_t blocks = (p.k + each - 1) / each;
    const auto scale = [&] {
      const Code code = kind == Kind::any_code
                            ? random.code(mode.scale_format, Kind::any_code) & mode.scale_format.magnitude_mask()
                            : encode(mode.scale_format, 0.25 * (1 + random.below(12)));
      return static_cast<float>(decode(mode.scale_format, code));
    };
    p.k = blocks * each;
    p.a = random.matrix(p.a_format, kind, p.m * p.k);
    p.b = random.matrix(p.b_format, kind, p.k * p.n);
    for (std::size_t i = 0; i < p.m * blocks; ++i) p.a_scales.push_back(scale());
    for (std::size_t j = 0; j < p.n * blocks; ++j) p.b_scales.push_back(scale());
  }
  return p;
}

/// The first output that differs from the reference, in words.
inline std::optional<std::string> first_difference(const Problem& p, const std::vector<float>& d) {
  for (std::size_t i = 0; i < p.m; ++i)
    for (std::size_t j = 0; j < p.n; ++j)
      if (const float exact = p.reference(i, j); !same(exact, d[i * p.n + j]))
        return "(" + std::to_string(i) + ", " + std::to_string(j) + "): " + std::to_string(d[i * p.n + j]) + " for " +
               std::to_string(exact);
  return std::nullopt;
}

/// D of a product, in memory of its own.
inline std::vector<float> product(const EngineMatmul<float>& problem) {
  std::vector<float> d(problem.a.rows() * problem.b.columns());
  engine_matmul(problem, std::span(d));
  return d;
}

/// Numbers that are not the same, NaN and the sign of zero included.
inline std::size_t differing(const std::vector<float>& x, const std::vector<float>& y) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < x.size(); ++at) count += same(x[at], y[at]) ? 0 : 1;
  return count;
}

class ChosenPath {
 public:
  explicit ChosenPath(SimdPath path) { use_simd_path(path); }
  ~ChosenPath() { use_simd_path(simd_paths().front()); }
};

}  // namespace ulpscope::test

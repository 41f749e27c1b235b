// SPDX-License-Identifier: Apache-2.0
// What surrounds the chains of a matrix product: how parts are added up, scales, alpha and beta; and one chain by the
// reference.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/engine_matmul.hpp"
#include "emu/engine_step.hpp"
#include "emu/matmul_parts.hpp"

namespace ulpscope::emu {

/// What follows the chains, all in the float of storage, to nearest even.
template <class Float>
class Epilogue {
 public:
  /// Of a product, which must outlive it.
  explicit Epilogue(const EngineMatmul<Float>& problem)
      : problem_(problem), scales_(software_scales(problem)), whole_(problem.scale_a.whole * problem.scale_b.whole) {}

  /// Whether c is where the chain starts. It is not where it would be scaled.
  bool chain_starts_with_c() const noexcept { return !problem_.c.empty() && !problem_.beta && !scales_.any && whole_ == 1; }

  /// The scale of A times that of B at products k of element (i, j), without the scales of whole operands.
  Float scale(std::size_t i, std::size_t j, std::size_t k) const noexcept {
    const auto &a = problem_.a, &b = problem_.b;
    const float of_a = problem_.scale_a.empty() ? 1.0F : scale_at(problem_.scale_a, a.rows(), a.columns(), i, k);
    const float of_b = problem_.scale_b.empty() ? 1.0F : scale_at(problem_.scale_b, b.rows(), b.columns(), k, j);
    return static_cast<Float>(of_a) * static_cast<Float>(of_b);
  }

  /// total + part, or total + scale * part where parts have their own.
  Float join(Float total, Float part, std::size_t i, std::size_t j, std::size_t k) const noexcept {
    return scales_.along_k ? std::fma(part, scale(i, j, k), total) : total + part;
  }

  /// The element before its last rounding: scales that do not change along K, whole scales, alpha, and C.
  Float finish(Float total, std::size_t i, std::size_t j) const noexcept {
    Float x = scales_.any && !scales_.along_k ? total * scale(i, j, 0) : total;
    if (whole_ != 1) x *= static_cast<Float>(whole_);
    if (!adds_c()) return problem_.alpha == 1 ? x : problem_.alpha * x;
    const Float c = problem_.c[i * problem_.b.columns() + j];
    const Float source = problem_.beta ? *problem_.beta * c : c;
    return std::fma(problem_.alpha, x, source);
  }

  /// Whether columns have scales of their own here, which finish_row() is given.
  bool scales_columns() const noexcept { return scales_.any && !scales_.along_k && problem_.scale_b.columns > 1; }
  /// That of column j.
  float column_scale(std::size_t j) const noexcept {
    return scale_at(problem_.scale_b, problem_.b.rows(), problem_.b.columns(), 0, j);
  }

  /// The same of `count` elements of row i, the first in column j. `of_columns` are the scales of as many columns; null where
  /// they have none.
  void finish_row(const Float* totals, std::size_t count, std::size_t i, std::size_t j, const float* of_columns,
                  Float* out) const noexcept {
    if (adds_c()) {
      for (std::size_t x = 0; x < count; ++x) out[x] = finish(totals[x], i, j + x);
      return;
    }
    // Factors of 1 change no number.
    const bool scaled = scales_.any && !scales_.along_k;
    const Float whole = static_cast<Float>(whole_), alpha = problem_.alpha;
    if (of_columns == nullptr) {
      const Float factor = scaled ? scale(i, j, 0) : Float{1};
      for (std::size_t x = 0; x < count; ++x) out[x] = alpha * (totals[x] * factor * whole);
      return;
    }
    const auto of_row = static_cast<Float>(
        problem_.scale_a.empty() ? 1.0F : scale_at(problem_.scale_a, problem_.a.rows(), problem_.a.columns(), i, 0));
    for (std::size_t x = 0; x < count; ++x) out[x] = alpha * (totals[x] * (of_row * static_cast<Float>(of_columns[x])) * whole);
  }

 private:
  bool adds_c() const noexcept { return !problem_.c.empty() && !chain_starts_with_c(); }

  const EngineMatmul<Float>& problem_;
  SoftwareScales scales_;
  float whole_;
};

/// Adds up the parts of one output: chains of equal length first in themselves, then with each other.
template <class Float>
class Total {
 public:
  /// Begins with C, or with 0.
  explicit Total(Float start) noexcept : sum_(start) {}
  /// Adds the sum of one part to element (i, j); parts come in ascending order.
  void add(const Epilogue<Float>& epilogue, const Part& part, Float value, std::size_t i, std::size_t j) noexcept {
    if (part.split != split_) close(part.split);
    chain_ = epilogue.join(chain_, value, i, j, part.begin);
  }
  /// The sum of all parts. To be asked once, at the end.
  Float value() noexcept {
    close(split_);
    return sum_;
  }

 private:
  void close(std::size_t next) noexcept {
    sum_ += chain_;
    chain_ = 0;
    split_ = next;
  }
  Float sum_, chain_ = 0;
  std::size_t split_ = 0;
};

/// One chain by the reference, from codes.
template <class Float>
class ReferenceChain {
 public:
  /// Of a product, which must outlive it.
  explicit ReferenceChain(const EngineMatmul<Float>& problem) : problem_(problem) {}

  /// The result of the chain of element (i, j) over one part, begun with c.
  Float operator()(std::size_t i, std::size_t j, const Part& part, Float c) const {
    const Engine& engine = problem_.engine;
    const std::size_t count = part.end - part.begin;
    std::vector<Code> a(count), b(count), a_scales, b_scales;
    for (std::size_t k = 0; k < count; ++k) {
      a[k] = encode(problem_.a.format, problem_.a.at(i, part.begin + k));
      b[k] = encode(problem_.b.format, problem_.b.at(part.begin + k, j));
    }
    BlockScales scales;
    if (engine.scales != EngineScales::none) {
      const auto each = static_cast<std::size_t>(engine.scale_products);
      for (std::size_t k = part.begin; k < part.end; k += each) {
        const auto code_at = [&](const ScaleGrid& grid, const EngineOperand<Float>& x, std::size_t row, std::size_t column) {
          return grid.empty() ? encode(scale_format(), 1.0F)
                              : encode(grid.format, scale_at(grid, x.rows(), x.columns(), row, column));
        };
        a_scales.push_back(code_at(problem_.scale_a, problem_.a, i, k));
        b_scales.push_back(code_at(problem_.scale_b, problem_.b, k, j));
      }
      scales = {scale_format(), a_scales, b_scales};
    }
    const Code result =
        inner_product(engine, problem_.a.format, a, problem_.b.format, b, encode(engine.accumulator, c), scales);
    return static_cast<Float>(decode(engine.accumulator, result));
  }

 private:
  Format scale_format() const noexcept { return problem_.scale_a.empty() ? problem_.scale_b.format : problem_.scale_a.format; }

  const EngineMatmul<Float>& problem_;
};

}  // namespace ulpscope::emu

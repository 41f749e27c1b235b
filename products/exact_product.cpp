// SPDX-License-Identifier: Apache-2.0
// Exact sums where formats allow, bin by bin or one by one, then scales and epilogue in float64.
#include "products/exact_product.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/exact_matmul.hpp"
#include "emu/exact_sum.hpp"
#include "emu/stop.hpp"
#include "products/scale_grid.hpp"
#include "tensors/parallel.hpp"

namespace ulpscope::products {
namespace {

/// A sum of doubles whose errors are carried along (D. E. Knuth, TAOCP 2, 4.2.2, theorem B).
class DoubledSum {
 public:
  void add(double x) noexcept {
    const double sum = sum_ + x, of_x = sum - sum_;
    error_ += (sum_ - (sum - of_x)) + (x - of_x);
    sum_ = sum;
  }
  /// Where the sum is not finite its error says nothing.
  double value() const noexcept { return std::isfinite(sum_) ? sum_ + error_ : sum_; }

 private:
  double sum_ = 0, error_ = 0;
};

template <class Float>
class Reference {
 public:
  explicit Reference(const emu::EngineMatmul<Float>& problem)
      : problem_(problem),
        m_(problem.a.rows()),
        n_(problem.b.columns()),
        k_(problem.a.columns()),
        plain_(problem.alpha == 1 && !problem.beta && problem.scale_a.empty() && problem.scale_b.empty() &&
               problem.scale_a.whole == 1 && problem.scale_b.whole == 1) {}

  void run(std::span<Float> d) const {
    constexpr int most = emu::ExactMatrix::most_precision;
    if (std::is_same_v<Float, float> && problem_.a.format.precision() <= most && problem_.b.format.precision() <= most) {
      plain_ ? by_bins(d) : scaled_by_bins(d);
    } else {
      one_by_one(d);
    }
  }

 private:
  emu::ExactMatrix matrix(const emu::EngineOperand<float>& x, std::size_t row, std::size_t column,
                          emu::MatrixShape part) const {
    part.stride = x.shape.stride;
    return {x.format, x.values.subspan(part.extent() == 0 ? 0 : x.shape.at(row, column)), part};
  }

  void by_bins(std::span<Float> d) const {
    if constexpr (std::is_same_v<Float, float>) {
      const auto a = matrix(problem_.a, 0, 0, {m_, k_}), b = matrix(problem_.b, 0, 0, {k_, n_});
      emu::MatmulAddend c;
      if (!problem_.c.empty()) c = [this](std::size_t i, std::size_t j) { return static_cast<double>(problem_.c[i * n_ + j]); };
      emu::exact_matmul(a, b, problem_.out, d, {.threads = problem_.threads}, c);
    }
  }

  /// Products are summed exactly as long as their scales stay the same along K.
  void scaled_by_bins(std::span<Float> d) const {
    if constexpr (std::is_same_v<Float, float>) {
      std::vector<DoubledSum> sums(d.size());
      const std::size_t stretch = constant_along_k(problem_.scale_a, problem_.scale_b, k_);
      for (std::size_t k = 0; k < k_; k += stretch) {
        const std::size_t depth = std::min(stretch, k_ - k);
        const auto a = matrix(problem_.a, 0, k, {m_, depth}), b = matrix(problem_.b, k, 0, {depth, n_});
        emu::exact_matmul(
            a, b, emu::float64,
            [&](std::size_t i, std::size_t j, const emu::Rounded& part) { sums[i * n_ + j].add(part.value * scale(i, j, k)); },
            {.threads = problem_.threads});
      }
      for (std::size_t i = 0; i < d.size(); ++i) d[i] = finish(sums[i].value(), i);
    }
  }

  /// For operands of more than 16 significand bits.
  void one_by_one(std::span<Float> d) const {
    tensors::for_each_index(m_, problem_.threads, [&](std::size_t i) {
      for (std::size_t j = 0; j < n_; ++j) {
        emu::stop_if_asked();
        emu::ExactSum sum;
        for (std::size_t k = 0; k < k_; ++k)
          sum.add_product(static_cast<double>(problem_.a.at(i, k)) * scale_at(problem_.scale_a, m_, k_, i, k),
                          static_cast<double>(problem_.b.at(k, j)) * scale_at(problem_.scale_b, k_, n_, k, j));
        const std::size_t at = i * n_ + j;
        if (plain_ && !problem_.c.empty()) sum.add(problem_.c[at]);
        d[at] = plain_ ? static_cast<Float>(sum.rounded(problem_.out).value) : finish(sum.value(), at);
      }
    });
  }

  /// Exact: two float32 significands fit a double.
  double scale(std::size_t i, std::size_t j, std::size_t k) const {
    return scale_at(problem_.scale_a, m_, k_, i, k) * scale_at(problem_.scale_b, k_, n_, k, j);
  }
  /// What engines do after the chain (emu/engine_matmul.hpp), in float64.
  Float finish(double sum, std::size_t at) const {
    const double whole = static_cast<double>(problem_.scale_a.whole) * static_cast<double>(problem_.scale_b.whole);
    const double c = problem_.c.empty() ? 0 : static_cast<double>(problem_.c[at]), alpha = static_cast<double>(problem_.alpha);
    const bool scaled = !problem_.scale_a.empty() || !problem_.scale_b.empty() || whole != 1;
    double value = 0;
    if (problem_.beta) {
      value = alpha * (sum * whole) + static_cast<double>(*problem_.beta) * c;
    } else {
      value = scaled ? alpha * (sum * whole) + c : alpha * (sum + c);
    }
    return static_cast<Float>(emu::round_to(problem_.out, value).value);
  }

  const emu::EngineMatmul<Float>& problem_;
  std::size_t m_, n_, k_;
  bool plain_;
};

}  // namespace

void exact_product(const emu::EngineMatmul<float>& problem, std::span<float> d) { Reference(problem).run(d); }
void exact_product(const emu::EngineMatmul<double>& problem, std::span<double> d) { Reference(problem).run(d); }

}  // namespace ulpscope::products

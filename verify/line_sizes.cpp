// SPDX-License-Identifier: Apache-2.0
// One pass over each operand.
#include "verify/line_sizes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace ulpscope::verify {
namespace {

/// |x|; infinite where it is NaN or beyond `largest`.
double size_of(double x, double largest) {
  const double size = std::fabs(x);
  return size <= largest ? size : std::numeric_limits<double>::infinity();
}

double largest_scale(const std::optional<products::MatmulScales>& scales) {
  if (!scales) return 1;
  const auto size = [](float x) { return size_of(static_cast<double>(x), std::numeric_limits<double>::max()); };
  double most = 1;
  for (const float x : scales->values) most = std::max(most, size(x));
  return most * std::max(size(scales->whole), 1.0);
}

std::size_t matrices_of(const std::vector<std::size_t>& indices) {
  return indices.empty() ? 0 : *std::max_element(indices.begin(), indices.end()) + 1;
}

}  // namespace

template <class Float>
LineSizes::LineSizes(const products::Product& problem, const products::LoadedOperand<Float>& a,
                     const products::LoadedOperand<Float>& b, double largest_operand)
    : shape_(products::matmul_shape(problem.a.input, problem.b.input)),
      lines_a_(a.lines()),
      lines_b_(b.lines()),
      rows_(matrices_of(shape_.a_of) * lines_a_),
      columns_(matrices_of(shape_.b_of) * lines_b_),
      scale_(largest_scale(problem.a.scales) * largest_scale(problem.b.scales)) {
  const auto size = [largest_operand](Float x) { return size_of(static_cast<double>(x), largest_operand); };
  for (std::size_t at = 0; at < rows_.size(); ++at) {
    const auto row = a.matrix(at / lines_a_, at % lines_a_, 1);
    for (std::size_t k = 0; k < shape_.k; ++k) rows_[at] += size(row.at(0, k));
  }
  for (std::size_t at = 0; at < columns_.size(); at += lines_b_) {
    const auto matrix = b.matrix(at / lines_b_, 0, lines_b_);
    for (std::size_t k = 0; k < shape_.k; ++k)
      for (std::size_t j = 0; j < lines_b_; ++j) columns_[at + j] = std::max(columns_[at + j], size(matrix.at(k, j)));
  }
}

double LineSizes::most(std::uint64_t index) const {
  const auto row = static_cast<std::size_t>(index) / shape_.n, matrix = row / shape_.m;
  return scale_ * rows_[shape_.a_of[matrix] * lines_a_ + row % shape_.m] *
         columns_[shape_.b_of[matrix] * lines_b_ + static_cast<std::size_t>(index) % shape_.n];
}

template LineSizes::LineSizes(const products::Product&, const products::LoadedOperand<float>&,
                              const products::LoadedOperand<float>&, double);
template LineSizes::LineSizes(const products::Product&, const products::LoadedOperand<double>&,
                              const products::LoadedOperand<double>&, double);

}  // namespace ulpscope::verify

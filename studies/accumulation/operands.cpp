// SPDX-License-Identifier: Apache-2.0
// Drawing, rounding and multiplying matrices for the studies of products.
#include "studies/accumulation/operands.hpp"

#include <span>

#include "emu/bulk.hpp"
#include "emu/stop.hpp"
#include "studies/census/error_sums.hpp"
#include "tensors/synthetic.hpp"

namespace ulpscope::studies {

std::vector<float> draw_matrix(const std::string& distribution, emu::MatrixShape shape, std::uint64_t seed) {
  const std::string words = distribution + ":" + std::to_string(shape.rows) + "x" + std::to_string(shape.columns);
  std::vector<float> values(shape.extent());
  tensors::synthetic(words, seed).source->read(0, std::span(values));
  return values;
}

std::vector<float> rounded_matrix(emu::Format format, const std::vector<float>& values) {
  std::vector<float> out(values.size());
  emu::round_to<float>(format, values, out, {.policy = emu::Policy::saturating});
  return out;
}

std::vector<double> float64_product(const std::vector<float>& a, emu::MatrixShape of_a, const std::vector<float>& b,
                                    emu::MatrixShape of_b) {
  std::vector<double> sums(of_a.rows * of_b.columns);
  for (std::size_t i = 0; i < of_a.rows; ++i)
    for (std::size_t k = 0; k < of_a.columns; ++k) {
      if (k % 1024 == 0) emu::stop_if_asked();
      const auto x = static_cast<double>(a[of_a.at(i, k)]);
      const float* const row = &b[of_b.at(k, 0)];
      double* const out = &sums[i * of_b.columns];
      for (std::size_t j = 0; j < of_b.columns; ++j) out[j] += x * static_cast<double>(row[j]);
    }
  return sums;
}

double frobenius_norm(const std::vector<double>& values) {
  SquareSum sum;
  for (const double x : values) sum.add(x);
  return root_mean(sum, 1);
}

}  // namespace ulpscope::studies

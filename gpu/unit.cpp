// SPDX-License-Identifier: Apache-2.0
// Whole products by inner products, a batch of rows at a time.
#include "gpu/unit.hpp"

#include <algorithm>
#include <vector>

namespace ulpscope::gpu {

void check_shapes(const Operation& operation, const MatrixProduct& product, std::span<const std::byte> d) {
  const auto holds = [](const ConstMatrix& matrix, emu::Format format) {
    return matrix.format == format && matrix.codes.size() == matrix.rows * matrix.columns * bytes_per_code(format);
  };
  const ConstMatrix &a = product.a, &b = product.b, &c = product.c;
  const bool c_fits = c.codes.empty() || (holds(c, operation.accumulator) && c.rows == product.m() && c.columns == product.n());
  const bool d_fits = d.size() == product.m() * product.n() * bytes_per_code(operation.accumulator);
  if (!holds(a, operation.a) || !holds(b, operation.b) || b.rows != a.columns || !c_fits || !d_fits)
    throw Error(operation.instruction + ": operands do not fit the operation or each other");
  if (operation.scales != emu::EngineScales::none)
    throw Error(operation.instruction + ": matrices with block scales are multiplied by inner products only");
}

void Unit::multiply_matrices(const Operation& operation, const MatrixProduct& product, std::span<std::byte> d) const {
  check_shapes(operation, product, d);
  // As many rows of D at a time as make a batch worth its call.
  constexpr std::size_t batch = std::size_t{1} << 20;
  const std::size_t each = operation.products, k = (product.k() + each - 1) / each * each;
  std::vector<emu::Code> a, b, c, sums;
  const auto flush = [&](std::size_t begin) {
    sums.resize(c.size());
    multiply(operation, InnerProducts{k, a, b, c, {}, {}}, sums);
    for (std::size_t i = 0; i < sums.size(); ++i) store_code(operation.accumulator, d.data(), begin + i, sums[i]);
    a.clear();
    b.clear();
    c.clear();
  };
  std::size_t begin = 0;
  for (std::size_t i = 0; i < product.m(); ++i) {
    for (std::size_t j = 0; j < product.n(); ++j) {
      for (std::size_t p = 0; p < k; ++p) {
        a.push_back(p < product.k() ? product.a.at(i, p) : 0);
        b.push_back(p < product.k() ? product.b.at(p, j) : 0);
      }
      c.push_back(product.c.codes.empty() ? 0 : product.c.at(i, j));
      if (a.size() < batch) continue;
      flush(begin);
      begin = i * product.n() + j + 1;
    }
  }
  if (!c.empty()) flush(begin);
}

}  // namespace ulpscope::gpu

// SPDX-License-Identifier: Apache-2.0
#include "studies/devices/product_operands.hpp"

#include <numeric>
#include <utility>

#include "emu/encode.hpp"
#include "emu/philox.hpp"
#include "gpu/normal_like.hpp"

namespace ulpscope::studies {
namespace {

using emu::Code, emu::Format;

// Streams of random words: the high half of the counter.
constexpr std::uint64_t numbers_of_a = 0, pairs = 2;

/// A number with all fraction bits of `format`, of either sign, its exponent in -6..2: normal in all formats from e4m3 on, and
/// sums of some thousand products stay within float16.
double wide(Format format, std::uint64_t seed, std::uint64_t operand, std::uint64_t index) {
  constexpr int least = -6, binades = 9;
  const emu::PhiloxBlock random = emu::philox4x32(seed, index, operand);
  const std::uint64_t fraction = (std::uint64_t{random.word[0]} << 32 | random.word[1]) & format.fraction_mask();
  const int exponent = least + static_cast<int>(random.word[2] % binades);
  const auto significand = static_cast<double>(fraction | (format.fraction_mask() + 1));
  const double sign = (random.word[3] & 1) != 0 ? -1.0 : 1.0;
  return sign * significand * emu::detail::power_of_two(exponent - format.fraction_bits);
}

OwnMatrix blank(Format format, std::size_t rows, std::size_t columns) {
  return {format, rows, columns, std::vector<std::byte>(rows * columns * gpu::bytes_per_code(format))};
}

/// For each k the one whose product it takes away, or k itself: pairs of a random order of K, up to `paired` of them.
std::vector<std::size_t> partners(std::size_t paired, std::size_t k, std::uint64_t seed) {
  std::vector<std::size_t> order(k), partner(k);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::iota(partner.begin(), partner.end(), std::size_t{0});
  for (std::size_t i = k; i > 1; --i)  // Fisher and Yates
    std::swap(order[i - 1], order[emu::philox4x32(seed, i, pairs).word[0] % i]);
  for (std::size_t i = 0; i + 1 < paired; i += 2) partner[order[i + 1]] = order[i];
  return partner;
}

ProductOperands normal_operands(Format a, Format b, const ProductShape& shape, std::uint64_t seed) {
  ProductOperands operands{blank(a, shape.m, shape.k), blank(b, shape.k, shape.n)};
  for (const auto& [matrix, operand] : {std::pair{&operands.a, std::uint64_t{0}}, std::pair{&operands.b, std::uint64_t{1}}})
    for (std::size_t i = 0; i < matrix->rows * matrix->columns; ++i)
      gpu::store_code(matrix->format, matrix->codes.data(), i, emu::encode(matrix->format, gpu::normal_like(seed, operand, i)));
  return operands;
}

ProductOperands wide_operands(Format a, Format b, const ProductShape& shape, const std::vector<std::size_t>& partner,
                              std::uint64_t seed) {
  ProductOperands operands{blank(a, shape.m, shape.k), blank(b, shape.k, shape.n)};
  for (std::size_t p = 0; p < shape.k; ++p) {
    const std::size_t from = partner[p];
    for (std::size_t i = 0; i < shape.m; ++i)
      gpu::store_code(a, operands.a.codes.data(), i * shape.k + p,
                      emu::encode(a, wide(a, seed, numbers_of_a, i * shape.k + from)));
    const Code sign = from != p ? b.sign_mask() : 0;
    for (std::size_t j = 0; j < shape.n; ++j)
      gpu::store_code(b, operands.b.codes.data(), p * shape.n + j,
                      emu::encode(b, wide(b, seed, numbers_of_a + 1, from * shape.n + j)) ^ sign);
  }
  return operands;
}

}  // namespace

ProductOperands product_operands(OperandKind kind, Format a, Format b, const ProductShape& shape, std::uint64_t seed) {
  if (kind == OperandKind::normal) return normal_operands(a, b, shape, seed);
  return wide_operands(a, b, shape, partners(kind == OperandKind::cancelling ? shape.k : 0, shape.k, seed), seed);
}

}  // namespace ulpscope::studies

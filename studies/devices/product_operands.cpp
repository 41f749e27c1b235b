// SPDX-License-Identifier: Apache-2.0
// Draws codes by a counter, so that element i depends on seed and i alone.
#include "studies/devices/product_operands.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "emu/encode.hpp"
#include "emu/philox.hpp"
#include "gpu/normal_like.hpp"

namespace ulpscope::studies {
namespace {

using emu::Code, emu::Format;

// Streams of random words: the high half of the counter.
constexpr std::uint64_t numbers_of_a = 0, pairs = 2, scales_of_a = 4;

/// A number with all fraction bits of `format`, of either sign, its exponent in -6..2: normal in all formats from e4m3 on, and
/// sums of some thousand products stay within float16.
double wide(Format format, std::uint64_t seed, std::uint64_t operand, std::uint64_t index) {
  constexpr int least = -6, binades = 9;
  const emu::PhiloxBlock random = emu::philox4x32(seed, index, operand);
  const std::uint64_t fraction = (std::uint64_t{random.word[0]} << 32 | random.word[1]) & format.fraction_mask();
  const int exponent = least + static_cast<int>(random.word[2] % binades);
  const auto significand = static_cast<double>(fraction | (format.fraction_mask() + 1));
  const double sign = (random.word[3] & 1) != 0 ? -1.0 : 1.0;
  return sign * significand * emu::power_of_two(exponent - format.fraction_bits);
}

OwnMatrix blank(Format format, std::size_t rows, std::size_t columns) {
  return {format, rows, columns, std::vector<std::byte>(rows * columns * gpu::bytes_per_code(format))};
}

/// For each k the one whose product it takes away, or k itself: pairs of a random order within each `block` products.
std::vector<std::size_t> partners(std::size_t block, std::size_t k, std::uint64_t seed) {
  std::vector<std::size_t> order(k), partner(k);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::iota(partner.begin(), partner.end(), std::size_t{0});
  for (std::size_t begin = 0; begin < k; begin += block) {
    const std::size_t count = std::min(block, k - begin);
    for (std::size_t i = count; i > 1; --i)  // Fisher and Yates
      std::swap(order[begin + i - 1], order[begin + emu::philox4x32(seed, begin + i, pairs).word[0] % i]);
    for (std::size_t i = begin; i + 1 < begin + count; i += 2) partner[order[i + 1]] = order[i];
  }
  return partner;
}

std::vector<std::size_t> no_partners(std::size_t k) {
  std::vector<std::size_t> partner(k);
  std::iota(partner.begin(), partner.end(), std::size_t{0});
  return partner;
}

/// Positive, with all fraction bits, its exponent in -2..1.
double scale_number(Format format, std::uint64_t seed, std::uint64_t operand, std::uint64_t index) {
  constexpr int least = -2, binades = 4;
  const emu::PhiloxBlock random = emu::philox4x32(seed, index, operand);
  const auto significand = static_cast<double>((random.word[0] & format.fraction_mask()) | (format.fraction_mask() + 1));
  return significand * emu::power_of_two(least + static_cast<int>(random.word[1] % binades) - format.fraction_bits);
}

OwnMatrix scales(gpu::ScaleMode mode, gpu::OperandSide side, std::size_t lines, std::size_t k, std::uint64_t seed) {
  if (mode == gpu::ScaleMode::scalar_32f) return {};
  const gpu::ScaleExtent extent = gpu::scale_extent(mode, side, lines, k);
  OwnMatrix matrix = blank(gpu::facts_of(mode).format, extent.rows, extent.columns);
  const std::uint64_t operand = scales_of_a + (side == gpu::OperandSide::b ? 1 : 0);
  for (std::size_t i = 0; i < extent.rows * extent.columns; ++i)
    gpu::store_code(matrix.format, matrix.codes.data(), i,
                    emu::encode(matrix.format, scale_number(matrix.format, seed, operand, i)));
  return matrix;
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
  return wide_operands(a, b, shape, kind == OperandKind::cancelling ? partners(shape.k, shape.k, seed) : no_partners(shape.k),
                       seed);
}

ProductOperands product_operands(OperandKind kind, const gpu::LibraryCall& call, const ProductShape& shape,
                                 std::uint64_t seed) {
  const std::size_t block = gpu::facts_of(call.scale_mode_a).products;
  ProductOperands operands = kind == OperandKind::cancelling && block > 0
                                 ? wide_operands(call.a, call.b, shape, partners(block, shape.k, seed), seed)
                                 : product_operands(kind, call.a, call.b, shape, seed);
  operands.scale_a = scales(call.scale_mode_a, gpu::OperandSide::a, shape.m, shape.k, seed);
  operands.scale_b = scales(call.scale_mode_b, gpu::OperandSide::b, shape.n, shape.k, seed);
  return operands;
}

}  // namespace ulpscope::studies

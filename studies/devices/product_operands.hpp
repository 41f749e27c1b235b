// SPDX-License-Identifier: Apache-2.0
// Random operands of matrix products that tell orders of summation apart. Element number i of a seed is always the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "gpu/library.hpp"
#include "gpu/matrix.hpp"

namespace ulpscope::studies {

/// How the numbers of a matrix are made.
enum class OperandKind : std::uint8_t {
  normal,      ///< near N(0, 1): the sum of four uniform numbers (Irwin-Hall), of variance 1
  wide,        ///< exponents of nine binades
  cancelling,  ///< the same, and each product has a partner elsewhere in K that takes it away: what is left is rounding errors
};

/// A matrix with its codes.
struct OwnMatrix {
  emu::Format format;                 ///< of every code
  std::size_t rows = 0, columns = 0;  ///< extents
  std::vector<std::byte> codes = {};  ///< row-major, as gpu::ConstMatrix

  /// The same, not owned.
  gpu::ConstMatrix view() const { return {format, rows, columns, codes}; }
};

/// The operands of one product.
struct ProductOperands {
  OwnMatrix a, b;                        ///< A is m by k, B is k by n
  OwnMatrix scale_a = {}, scale_b = {};  ///< gpu::scale_extent(); without codes where there are none

  /// The same, not owned, without C.
  gpu::MatrixProduct view() const { return {a.view(), b.view(), {}}; }
};

/// The extents of a product.
struct ProductShape {
  std::size_t m = 0, n = 0, k = 0;  ///< of D, and the length of its sums
};

/// Makes A and B, the same ones from the same seed.
ProductOperands product_operands(OperandKind kind, emu::Format a, emu::Format b, const ProductShape& shape, std::uint64_t seed);
/// Operands of a call, with scales where its modes have more than one for a matrix: numbers of four binades with all fraction
/// bits. What cancels does so among the products that share scales.
ProductOperands product_operands(OperandKind kind, const gpu::LibraryCall& call, const ProductShape& shape, std::uint64_t seed);

}  // namespace ulpscope::studies

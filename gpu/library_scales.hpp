// SPDX-License-Identifier: Apache-2.0
// The scales of a library's narrow operands: which numbers of a matrix share one, and in which format it is kept. Names and
// meaning are those of cuBLASLt (cublasLtMatmulMatrixScale_t; cuBLAS Library 13.0, "Narrow Precision Data Types Usage"); how
// the library wants them laid out in memory is its plugin's business.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/format.hpp"
#include "gpu/matrix.hpp"

namespace ulpscope::gpu {

/// How the scales of an operand lie over it, by the words of cublasLtMatmulMatrixScale_t.
enum class ScaleMode : std::uint8_t {
  scalar_32f,      ///< one for the matrix
  vec16_ue4m3,     ///< one for each 16 products of a line (NVFP4)
  vec32_ue8m0,     ///< one for each 32 products of a line (OCP MX)
  outer_vec_32f,   ///< one for each line
  vec128_32f,      ///< one for each 128 products of a line
  blk128x128_32f,  ///< one for 128 products of 128 lines
};

/// A line is a row of A or a column of B.
struct ScaleModeFacts {
  std::string_view name;       ///< the library's, without its prefix
  emu::Format format;          ///< of a scale
  std::size_t lines = 0;       ///< that share a scale; 0: all
  std::size_t products = 0;    ///< of a line that share a scale; 0: all
  bool by_the_engine = false;  ///< multiplied into sums inside the instruction
};

/// The word, the format and the extents of a mode.
constexpr ScaleModeFacts facts_of(ScaleMode mode) noexcept {
  switch (mode) {
    case ScaleMode::vec16_ue4m3: return {"VEC16_UE4M3", emu::float8_e4m3fn, 1, 16, true};
    case ScaleMode::vec32_ue8m0: return {"VEC32_UE8M0", emu::float8_e8m0fnu, 1, 32, true};
    case ScaleMode::outer_vec_32f: return {"OUTER_VEC_32F", emu::float32, 1, 0};
    case ScaleMode::vec128_32f: return {"VEC128_32F", emu::float32, 1, 128};
    case ScaleMode::blk128x128_32f: return {"BLK128x128_32F", emu::float32, 128, 128};
    case ScaleMode::scalar_32f: break;
  }
  return {"SCALAR_32F", emu::float32};
}

/// Which operand a matrix is.
enum class OperandSide : std::uint8_t { a, b };

/// The scales of an operand as a grid laid over it: of A one row for each group of lines and one column for each block of
/// products, of B the other way round.
struct ScaleExtent {
  std::size_t rows = 1, columns = 1;  ///< at least 1

  friend bool operator==(const ScaleExtent&, const ScaleExtent&) = default;
};

/// The grid of an operand of `lines` rows of A or columns of B and k products.
constexpr ScaleExtent scale_extent(ScaleMode mode, OperandSide side, std::size_t lines, std::size_t k) noexcept {
  const ScaleModeFacts facts = facts_of(mode);
  const auto groups = [](std::size_t extent, std::size_t each) { return each == 0 ? 1 : (extent + each - 1) / each; };
  const std::size_t of_lines = groups(lines, facts.lines), of_products = groups(k, facts.products);
  return side == OperandSide::a ? ScaleExtent{of_lines, of_products} : ScaleExtent{of_products, of_lines};
}

/// The scales of one line, block after block; nothing where there are none.
inline std::vector<emu::Code> scales_of_line(ScaleMode mode, OperandSide side, const ConstMatrix& scales, std::size_t line) {
  const ScaleModeFacts facts = facts_of(mode);
  const std::size_t group = facts.lines == 0 ? 0 : line / facts.lines;
  std::vector<emu::Code> codes;
  if (scales.codes.empty()) return codes;
  const std::size_t blocks = side == OperandSide::a ? scales.columns : scales.rows;
  for (std::size_t b = 0; b < blocks; ++b) codes.push_back(side == OperandSide::a ? scales.at(group, b) : scales.at(b, group));
  return codes;
}

}  // namespace ulpscope::gpu

// SPDX-License-Identifier: Apache-2.0
// Operands of a public check: how their elements are drawn and scaled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "products/operand.hpp"

namespace ulpscope::verify {

/// What is drawn of one operand.
struct DrawnOperand {
  std::string elements;                                 ///< as PublicCheck::a has it
  std::string scales = {};                              ///< its word of PublicCheck::scales; empty: not scaled
  std::string format = {};                              ///< a name, or `int8`
  std::size_t lines = 0, k = 0;                         ///< those that are multiplied
  std::size_t all_lines = 0;                            ///< of the source, as far as it states them
  products::MatmulSide side = products::MatmulSide::a;  ///< lines are rows of A, columns of B
  std::uint64_t seed = 0;                               ///< of elements and scales
};

/// Elements of a matrix, row-major, before they are rounded: a synthetic tensor, `codes:LO,HI` of `format`, `identity`.
std::vector<double> elements_of(const std::string& words, emu::Format format, std::size_t rows, std::size_t columns,
                                std::uint64_t seed);

/// The operand, numbers of its own format under its scales. Blocks of scales are drawn whole, as far as there are so many
/// lines, also where fewer lines are multiplied. @throws ulpscope::Error where a word means nothing
products::MatmulOperand operand_of(const DrawnOperand& drawn, emu::Format multiplied);

/// What a name of PublicCheck::a_format is multiplied as: `int8` as bfloat16, which holds its numbers, others as themselves.
/// @throws ulpscope::Error where there is no such format
emu::Format format_of_operand(const std::string& name);

}  // namespace ulpscope::verify

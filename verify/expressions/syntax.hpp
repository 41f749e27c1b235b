// SPDX-License-Identifier: Apache-2.0
// A formula as it is written: words with their places, in a tree. docs/expressions.md has the language.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emu/error.hpp"

namespace ulpscope::verify {

struct Syntax;

/// One place of `x[1:, ..., ::2]`: all dimensions that the others leave (`...`), one index, or a range with a step.
struct SyntaxRange {
  /// Which of the three.
  enum class Kind : std::uint8_t { rest, index, range };
  Kind kind = Kind::range;                ///< which
  std::vector<Syntax> first, last, step;  ///< one whole number or none; an index stands in `first`
};

/// A part of a formula.
struct Syntax {
  /// What it is.
  enum class Kind : std::uint8_t {
    number,     ///< `word` is the decimal
    text,       ///< `word` stood in quotes
    name,       ///< of an input, a number or an earlier line
    call,       ///< of a function or an operator (`+`, `neg`, `where`, `bf16`), with operands and named arguments
    index,      ///< the operand at `ranges`
    list,       ///< `(0, 1)`, whole numbers in `operands`: an argument that has a name
    precision,  ///< the operand, computed in the format `word`
  };
  Kind kind = Kind::number;              ///< what it is
  std::string word = {};                 ///< see Kind
  std::vector<Syntax> operands = {};     ///< of calls, indices and precisions
  std::vector<Syntax> named = {};        ///< arguments of calls that have a name
  std::string name = {};                 ///< of such an argument: `axis`, ...
  std::vector<SyntaxRange> ranges = {};  ///< of indices
  std::size_t column = 0;                ///< where it begins, from 1
};

/// `name = ...;` for each line but the last, whose name is empty: its value is the formula's.
using Lines = std::vector<std::pair<std::string, Syntax>>;

/// Reads a formula. @throws Error in one line that names the column
Lines parse_formula(std::string_view text);
/// A formula as text: what is read from it computes the same.
std::string text_of(const Lines& lines);

/// Names that stand alone where `gather` and `take` want indices.
std::set<std::string> names_of_indices(const Lines& lines);

/// What is wrong with a formula, at a place of it.
Error formula_error(std::size_t column, const std::string& what);

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// A formula whose words are understood: operations on tensors, each with its shape, in an order in which they can be computed.
// docs/expressions.md has the language.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emu/format.hpp"
#include "emu/rounding.hpp"
#include "verify/operations/elementwise_functions.hpp"
#include "verify/operations/kernel_arithmetic.hpp"

namespace ulpscope::verify {

/// Extents, row-major; empty: a scalar.
using Extents = std::vector<std::uint64_t>;

/// What a node of a formula does.
enum class Op : std::uint8_t {
  input,     ///< a tensor
  number,    ///< of the formula
  position,  ///< 0, 1, 2, ... along an axis
  add,       ///< a + b
  subtract,  ///< a - b
  multiply,  ///< a b
  divide,    ///< a / b
  negate,    ///< -a
  absolute,  ///< |a|
  sign,      ///< -1, 0 or 1 by the sign of a; NaN of NaN
  maximum,   ///< the greater of two; NaN where one is
  minimum,   ///< the lesser of two; NaN where one is
  function,  ///< one of verify/operations/elementwise_functions.hpp
  entered,   ///< from outside what is computed in a format: a kernel may round it to that, or not
  rounded,   ///< to a format
  whole,     ///< to a whole number
  less,      ///< a < b: 1 or 0, as of all comparisons
  equal,     ///< a == b
  both,      ///< a and b
  opposite,  ///< not a
  choose,    ///< where(a, b, c)
  sum,       ///< along axes
  mean,      ///< along axes
  greatest,  ///< along axes; NaN where one is
  least,     ///< along axes; NaN where one is
  running,   ///< sums along an axis up to each element
  contract,  ///< einsum of one or two tensors
  gather,    ///< elements at indices along an axis
  view,      ///< elements of one tensor in another order, or some of them: slices, transposes
  reshape,   ///< the same elements in other extents
  join,      ///< tensors one behind the other along an axis
};

/// How `whole` rounds.
enum class WholePart : std::uint8_t { nearest_even, down, up, toward_zero };

/// Which element of the operand a view's element is: offset + sum of index * stride over the dimensions of the view.
struct View {
  std::int64_t offset = 0;            ///< of its first element
  std::vector<std::int64_t> strides;  ///< by dimension
};

/// The order of the additions of a running sum, each rounded to nearest even.
struct ScanOrder {
  /// 0: one after the other. Else J. Sklansky's parallel prefix sums (IRE Trans. EC-9, 1960) in blocks of so many, the last sum
  /// of a block added to the first term of the next.
  std::uint64_t block = 0;
};

/// An operand of a contraction: a step in its row-major order for each label; labels that it does not have have 0.
struct Contraction {
  std::vector<std::uint64_t> kept, summed;  ///< extents of the labels of the result, and of the others
  /// One operand.
  struct Operand {
    std::vector<std::uint64_t> kept, summed;  ///< steps
  };
  std::vector<Operand> operands;  ///< one or two
};

/// One operation.
struct Node {
  Op op = Op::input;                                ///< what it does
  Extents shape = {};                               ///< of its value
  std::vector<std::size_t> operands = {};           ///< nodes before this one
  KernelArithmetic arithmetic = {};                 ///< in which it is computed
  std::size_t index = 0;                            ///< input: which; position, running, gather, join: the axis
  std::string decimal = {};                         ///< number: as it was typed
  const Function* function = nullptr;               ///< function: which
  emu::Format format = {};                          ///< rounded, and running in an order: to what
  emu::RoundingOptions rounding = {};               ///< rounded: how
  WholePart whole = WholePart::nearest_even;        ///< whole: how
  bool divides_by_number = false;                   ///< divide: by a number of the formula
  std::uint64_t before = 1, along = 1, behind = 1;  ///< reductions: extents of the operand before, in and behind the axes
  std::optional<ScanOrder> order = {};              ///< running: the order of its additions; none: any
  View view = {};                                   ///< view: of what
  Contraction contraction = {};                     ///< contract: of what
  std::uint64_t picked = 1;                         ///< gather: elements of its value along the axis

  /// Whether each of its elements is made of one element of each operand, which may be broadcast.
  bool is_pointwise() const noexcept;
};

/// A named tensor.
struct FormulaInput {
  std::string name;  ///< in the formula
  Extents shape;     ///< its extents
};
/// A number in the place of a name.
struct FormulaNumber {
  std::string name;     ///< in the formula
  std::string decimal;  ///< as it is typed
};

/// Nodes in the order of computation; the last one is the value.
struct Formula {
  std::vector<Node> nodes;                            ///< operands stand before what reads them
  const Node& value() const { return nodes.back(); }  ///< the formula's value
};

/// Understands a formula. `arithmetic` holds where the formula declares no other format.
/// @throws Error in one line that names the column
Formula read_formula(std::string_view text, const std::vector<FormulaInput>& inputs, const std::vector<FormulaNumber>& numbers,
                     const KernelArithmetic& arithmetic);

/// Elements of a tensor of these extents. @throws Error beyond 2^40
std::uint64_t element_count(const Extents& shape);

/// Words that formulas know beside names of formats, for help.
std::vector<std::string> formula_words();

}  // namespace ulpscope::verify

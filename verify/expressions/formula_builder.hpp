// SPDX-License-Identifier: Apache-2.0
// Makes nodes of syntax: names, shapes by NumPy's rules of broadcasting, constants of indices. Its parts: operators and
// functions (formula.cpp), what goes along axes (formula_axes.cpp), what changes shapes (formula_shapes.cpp), einsum
// (formula_products.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "verify/expressions/formula.hpp"
#include "verify/expressions/syntax.hpp"

namespace ulpscope::verify {

/// Makes a formula of lines. Of one formula.
class FormulaBuilder {
 public:
  /// Names tensors and numbers; `arithmetic` holds where lines declare no other format.
  FormulaBuilder(const std::vector<FormulaInput>& inputs, const std::vector<FormulaNumber>& numbers,
                 const KernelArithmetic& arithmetic);
  /// @throws Error in one line that names the column
  Formula formula(const Lines& lines);

 private:
  using Operands = std::vector<std::size_t>;

  Node same_as(std::size_t value) const;
  static bool is_known(const std::string& name);
  std::string name_of(std::size_t node) const;
  void define(const std::string& option, const std::string& name, std::size_t node);
  std::size_t add(Node node);
  /// An operand of what is computed in a format: rounded to that or not where it comes from outside.
  std::size_t entered(std::size_t operand);
  /// The format that the values of a node are in.
  emu::Format format_of(std::size_t node) const;
  std::size_t constant(const std::string& decimal) { return add({.op = Op::number, .decimal = decimal}); }
  const Extents& shape(std::size_t node) const { return formula_.nodes[node].shape; }
  std::size_t build(const Syntax& s);
  std::size_t name(const Syntax& s);
  std::size_t in_precision(const Syntax& s);
  std::size_t call(const Syntax& s);
  /// An operator.
  std::optional<std::size_t> operation(const Syntax& s);
  std::size_t opposite(std::size_t x, std::size_t column) { return pointwise(Op::opposite, {x}, column); }
  Operands build_all(const Syntax& s);
  std::size_t pointwise(Op op, const Operands& operands, std::size_t column);
  static Extents broadcast(const Extents& x, const Extents& y, std::size_t column);
  /// Small whole powers are products, and negative ones reciprocals of these; 0.5 and -0.5 are roots.
  std::size_t power(const Syntax& s);
  std::size_t root(std::size_t x, std::string_view name);
  std::size_t cast(const Syntax& s, emu::Format format);
  std::size_t named_operation(const Syntax& s);
  std::size_t extreme(const Syntax& s, bool greatest);
  /// A whole number that is known before anything is computed.
  std::int64_t whole(const Syntax& s) const;
  /// `axis`, counted from the end where it is negative; the last one if it is not given.
  std::size_t axis_of(const Syntax& s, const Extents& extents) const;
  static std::size_t axis_at(std::int64_t place, std::size_t column, const Extents& extents);
  /// Of an argument that is `true` or `false`.
  static bool truth_of(const Syntax& s);
  static void expect_named(const Syntax& s, const std::vector<std::string_view>& known);
  static void expect_operands(const Syntax& s, std::size_t least, std::size_t most);
  static bool has(const Syntax& s, std::string_view key);
  std::size_t reduction(const Syntax& s, Op op);
  /// What `axis` lists, ascending; the last axis if it is not given.
  std::vector<std::size_t> axes_of(const Syntax& s, const Extents& extents) const;
  /// The same elements with these axes behind the others.
  std::size_t with_last(std::size_t x, const std::vector<std::size_t>& axes);
  /// Elements before, in and behind so many axes from this one on.
  static void split(Node& node, const Extents& from, std::size_t axis, std::size_t axes = 1);
  std::size_t running(const Syntax& s);
  static ScanOrder scan_order(const Syntax& s);
  std::size_t positions(const Syntax& s);
  /// The element at an index along an axis, for each index: of `gather` by indices of its own for each line along the axis
  /// where their extents are such, of `take` and of `gather` by more of them all along it.
  std::size_t gather(const Syntax& s);
  Error index_error(const Syntax& s, const Operands& x) const;
  std::size_t join(const Syntax& s);
  std::size_t reshape(const Syntax& s);
  static std::vector<std::int64_t> steps_of(const Extents& extents);
  std::size_t transpose(const Syntax& s);
  /// The axes of x in this order.
  std::size_t transposed(std::size_t x, const std::vector<std::size_t>& order);
  /// As NumPy's basic slices.
  std::size_t indexed(const Syntax& s);
  void take(Node& node, const SyntaxRange& range, std::int64_t extent, std::int64_t stride, std::size_t column) const;
  /// a @ b: the last axis of a with the last but one of b, the others broadcast.
  std::size_t product(const Syntax& s);
  std::size_t contraction(const Syntax& s);

  /// Labels of an einsum, `...` written out as digits.
  struct Labels {
    std::vector<std::string> operands;
    std::string result;
  };
  Labels labels_of(const Syntax& s, const std::string& text, const Operands& x) const;
  static std::string digits(std::size_t count);
  std::size_t contract(const Syntax& s, const Operands& x, const std::string& text);
  static void read_extents(const Syntax& s, const std::string& labels, const Extents& shape,
                           std::map<char, std::uint64_t>& extents);
  static std::vector<std::uint64_t> steps_by_label(const std::string& own, const Extents& shape, const std::string& labels);

  Formula formula_;
  KernelArithmetic arithmetic_;
  std::optional<std::map<std::size_t, std::size_t>> entered_;  ///< by operand, behind `format:`; else none
  std::map<std::string, std::size_t> names_;  ///< nodes by name
  std::set<std::string> numbers_;             ///< names that are given from outside
  std::vector<bool> used_;                    ///< by node
  std::size_t inputs_ = 0;                    ///< nodes that stand first
};

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// What changes shapes: broadcasting, slices, transposes.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "verify/expressions/formula_builder.hpp"
#include "verify/operations/rows.hpp"

namespace ulpscope::verify {
std::size_t FormulaBuilder::pointwise(Op op, const Operands& operands, std::size_t column) {
  Extents common;
  for (const std::size_t operand : operands) common = broadcast(common, shape(operand), column);
  return add({.op = op, .shape = std::move(common), .operands = operands});
}

Extents FormulaBuilder::broadcast(const Extents& x, const Extents& y, std::size_t column) {
  Extents common(std::max(x.size(), y.size()));
  for (std::size_t i = 0; i < common.size(); ++i) {
    const auto from = [&](const Extents& e) { return i < e.size() ? e[e.size() - 1 - i] : 1; };
    const std::uint64_t a = from(x), b = from(y);
    if (a != b && a != 1 && b != 1)
      throw formula_error(column, words_of_shape(x) + " and " + words_of_shape(y) + " do not broadcast");
    common[common.size() - 1 - i] = a == 1 ? b : a;
  }
  return common;
}

std::int64_t FormulaBuilder::whole(const Syntax& s) const {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  if (s.kind == Syntax::Kind::number && s.word.find_first_not_of("0123456789") == std::string::npos && s.word.size() < 13)
    return std::stoll(s.word);
  if (s.kind == Syntax::Kind::call && s.word == "neg") return -whole(s.operands.front());
  if (s.kind == Syntax::Kind::call && s.word == "extent" && s.operands.size() == 1 &&
      s.operands.front().kind == Syntax::Kind::name && names_.count(s.operands.front().word) != 0) {
    expect_named(s, {"axis"});
    const Extents& extents = shape(names_.at(s.operands.front().word));
    return static_cast<std::int64_t>(extents[axis_of(s, extents)]);
  }
  if (s.kind == Syntax::Kind::call && s.operands.size() == 2) {
    const std::int64_t x = whole(s.operands[0]), y = whole(s.operands[1]);
    std::optional<std::int64_t> value;
    if (s.word == "+") value = x + y;
    if (s.word == "-") value = x - y;
    if (s.word == "*" && std::abs(x) < (1 << 20) && std::abs(y) < (1 << 20)) value = x * y;
    if (s.word == "/" && y != 0 && x % y == 0) value = x / y;
    if (value && std::abs(*value) <= most) return *value;
  }
  throw formula_error(s.column, "a whole number stands here, as 2, extent(x, axis=-1) or extent(x) / 2");
}

std::size_t FormulaBuilder::join(const Syntax& s) {
  expect_named(s, {"axis"});
  const Operands x = build_all(s);
  Extents extents = shape(x[0]);
  const std::size_t axis = axis_of(s, extents);
  for (std::size_t i = 1; i < x.size(); ++i) {
    Extents other = shape(x[i]);
    if (other.size() != extents.size()) throw formula_error(s.column, "concat: the operands have as many dimensions each");
    const std::uint64_t more = std::exchange(other[axis], extents[axis]);
    if (other != extents) throw formula_error(s.column, "concat: the operands differ along another axis");
    extents[axis] += more;
  }
  return add({.op = Op::join, .shape = std::move(extents), .operands = x, .index = axis});
}

std::size_t FormulaBuilder::reshape(const Syntax& s) {
  expect_named(s, {});
  const std::size_t x = build(s.operands.front());
  const std::uint64_t count = element_count(shape(x));
  Extents extents;
  std::optional<std::size_t> open;
  std::uint64_t known = 1;
  for (std::size_t i = 1; i < s.operands.size(); ++i) {
    const std::int64_t extent = whole(s.operands[i]);
    if (extent < -1 || (extent == -1 && open)) throw formula_error(s.operands[i].column, "reshape: one extent may be -1");
    if (extent == -1)
      open = i - 1;
    else
      known *= static_cast<std::uint64_t>(extent);
    extents.push_back(static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 0)));
    element_count(extents);
  }
  if (open && known != 0 && count % known == 0) extents[*open] = count / known;
  if (element_count(extents) != count)
    throw formula_error(s.column,
                        "reshape: " + words_of_shape(shape(x)) + " has other elements than " + words_of_shape(extents));
  return add({.op = Op::reshape, .shape = std::move(extents), .operands = {x}});
}

std::vector<std::int64_t> FormulaBuilder::steps_of(const Extents& extents) {
  std::vector<std::int64_t> steps(extents.size(), 1);
  for (std::size_t i = extents.size(); i-- > 1;) steps[i - 1] = steps[i] * static_cast<std::int64_t>(extents[i]);
  return steps;
}

std::size_t FormulaBuilder::transpose(const Syntax& s) {
  expect_named(s, {});
  const std::size_t x = build(s.operands.front()), rank = shape(x).size();
  std::vector<std::size_t> order;
  for (std::size_t i = 1; i < s.operands.size(); ++i) {
    const std::int64_t axis = whole(s.operands[i]), positive = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
    if (positive < 0 || positive >= static_cast<std::int64_t>(rank) ||
        std::find(order.begin(), order.end(), static_cast<std::size_t>(positive)) != order.end())
      throw formula_error(s.operands[i].column, "transpose: the axes, each once");
    order.push_back(static_cast<std::size_t>(positive));
  }
  if (order.empty())
    for (std::size_t i = rank; i-- > 0;) order.push_back(i);
  if (order.size() != rank) throw formula_error(s.column, "transpose: the axes, each once");
  return transposed(x, order);
}

std::size_t FormulaBuilder::transposed(std::size_t x, const std::vector<std::size_t>& order) {
  Node node{.op = Op::view, .shape = {}, .operands = {x}};
  const auto steps = steps_of(shape(x));
  for (const std::size_t axis : order) {
    node.shape.push_back(shape(x)[axis]);
    node.view.strides.push_back(steps[axis]);
  }
  return add(std::move(node));
}

std::size_t FormulaBuilder::indexed(const Syntax& s) {
  const std::size_t x = build(s.operands.front());
  const Extents& from = shape(x);
  const auto steps = steps_of(from);
  const auto rests = static_cast<std::size_t>(std::count_if(
      s.ranges.begin(), s.ranges.end(), [](const SyntaxRange& range) { return range.kind == SyntaxRange::Kind::rest; }));
  const std::size_t own = s.ranges.size() - rests;
  if (rests > 1) throw formula_error(s.column, "'...' stands once between brackets");
  if (own > from.size()) throw formula_error(s.column, fmt::format("{} indices of {}", own, words_of_shape(from)));
  Node node{.op = Op::view, .shape = {}, .operands = {x}};
  std::size_t axis = 0;
  const auto keep = [&] {
    node.shape.push_back(from[axis]);
    node.view.strides.push_back(steps[axis]);
    ++axis;
  };
  for (const SyntaxRange& range : s.ranges) {
    if (range.kind == SyntaxRange::Kind::rest) {
      for (std::size_t i = own; i < from.size(); ++i) keep();
      continue;
    }
    take(node, range, static_cast<std::int64_t>(from[axis]), steps[axis], s.column);
    ++axis;
  }
  while (axis < from.size()) keep();
  return add(std::move(node));
}

void FormulaBuilder::take(Node& node, const SyntaxRange& range, std::int64_t extent, std::int64_t stride,
                          std::size_t column) const {
  const auto number = [&](const std::vector<Syntax>& syntax, std::int64_t standard) {
    return syntax.empty() ? standard : whole(syntax.front());
  };
  if (range.kind == SyntaxRange::Kind::index) {
    std::int64_t at = whole(range.first.front());
    if (at < 0) at += extent;
    if (at < 0 || at >= extent)
      throw formula_error(range.first.front().column, fmt::format("index {} of {} elements", at, extent));
    node.view.offset += at * stride;
    return;
  }
  const std::int64_t step = number(range.step, 1);
  if (step < 1) throw formula_error(column, "a step is 1 or more");
  const auto end = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + extent : at, 0, extent); };
  const std::int64_t first = end(number(range.first, 0)), last = end(number(range.last, extent));
  node.view.offset += first * stride;
  node.shape.push_back(static_cast<std::uint64_t>(std::max<std::int64_t>(0, (last - first + step - 1) / step)));
  node.view.strides.push_back(step * stride);
}

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// What goes along axes: sums, running sums, places, gathers.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "emu/bulk.hpp"
#include "emu/names.hpp"
#include "verify/expressions/formula_builder.hpp"
#include "verify/operations/rows.hpp"

namespace ulpscope::verify {

std::size_t FormulaBuilder::axis_of(const Syntax& s, const Extents& extents) const {
  const auto given = std::ranges::find(s.named, "axis", &Syntax::name);
  return axis_at(given == s.named.end() ? -1 : whole(*given), s.column, extents);
}

std::size_t FormulaBuilder::axis_at(std::int64_t place, std::size_t column, const Extents& extents) {
  const auto rank = static_cast<std::int64_t>(extents.size());
  if (place < -rank || place >= rank)
    throw formula_error(column, fmt::format("axis {} of {}, which has {} dimensions", place, words_of_shape(extents), rank));
  return static_cast<std::size_t>(place < 0 ? place + rank : place);
}

std::vector<std::size_t> FormulaBuilder::axes_of(const Syntax& s, const Extents& extents) const {
  const auto listed = std::ranges::find(s.named, "axis", &Syntax::name);
  if (listed == s.named.end() || listed->kind != Syntax::Kind::list) return {axis_of(s, extents)};
  std::vector<std::size_t> axes;
  for (const Syntax& place : listed->operands) {
    const std::size_t axis = axis_at(whole(place), place.column, extents);
    if (std::ranges::find(axes, axis) != axes.end())
      throw formula_error(place.column, fmt::format("axis {} is listed twice", axis));
    axes.push_back(axis);
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

bool FormulaBuilder::truth_of(const Syntax& s) {
  const bool yes = s.word == "true" || s.word == "True" || s.word == "1";
  if (!yes && s.word != "false" && s.word != "False" && s.word != "0")
    throw formula_error(s.column, s.name + " is true or false");
  return yes;
}

std::size_t FormulaBuilder::reduction(const Syntax& s, Op op) {
  expect_named(s, {"axis", "keepdims"});
  std::size_t x = build(s.operands.front());
  const Extents from = shape(x);
  bool keeps = false;
  for (const Syntax& value : s.named)
    if (value.name == "keepdims") keeps = truth_of(value);
  Node node{.op = op};
  if (has(s, "axis")) {
    const std::vector<std::size_t> axes = axes_of(s, from);
    const bool are_neighbours = axes.back() - axes.front() + 1 == axes.size();
    if (!are_neighbours) x = with_last(x, axes);
    split(node, shape(x), are_neighbours ? axes.front() : from.size() - axes.size(), axes.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      const bool is_kept = !std::ranges::binary_search(axes, i);
      if (is_kept || keeps) node.shape.push_back(is_kept ? from[i] : 1);
    }
  } else {
    node.along = element_count(from);
    if (keeps) node.shape.assign(from.size(), 1);
  }
  if (node.along == 0 && op != Op::sum) throw formula_error(s.column, s.word + " of no elements");
  node.operands = {x};
  return add(std::move(node));
}

std::size_t FormulaBuilder::with_last(std::size_t x, const std::vector<std::size_t>& axes) {
  std::vector<std::size_t> order;
  for (std::size_t axis = 0; axis < shape(x).size(); ++axis)
    if (!std::ranges::binary_search(axes, axis)) order.push_back(axis);
  order.insert(order.end(), axes.begin(), axes.end());
  return transposed(x, order);
}

void FormulaBuilder::split(Node& node, const Extents& from, std::size_t axis, std::size_t axes) {
  const auto first = from.begin() + static_cast<std::ptrdiff_t>(axis), last = first + static_cast<std::ptrdiff_t>(axes);
  node.before = element_count({from.begin(), first});
  node.along = element_count({first, last});
  node.behind = element_count({last, from.end()});
}

std::size_t FormulaBuilder::running(const Syntax& s) {
  expect_named(s, {"axis", "order", "sums"});
  const std::size_t x = build(s.operands.front());
  Node node{.op = Op::running, .shape = shape(x), .operands = {x}, .format = arithmetic_.format};
  split(node, shape(x), axis_of(s, shape(x)));
  for (const Syntax& value : s.named) {
    if (value.name == "order") node.order = scan_order(value);
    if (value.name != "sums") continue;
    const auto format = emu::parse_format(value.word);
    if (!format) throw formula_error(value.column, "'" + value.word + "' is no format; ulpscope formats lists them");
    if (!has(s, "order")) throw formula_error(value.column, "sums: say in which order they are made, as order=\"in_turn\"");
    node.format = *format;
  }
  if (node.order && !emu::fits_float(node.format))
    throw formula_error(s.column, "sums in an order are rounded to formats of at most float32");
  return add(std::move(node));
}

ScanOrder FormulaBuilder::scan_order(const Syntax& s) {
  constexpr std::uint64_t most = std::uint64_t{1} << 20;
  constexpr std::string_view name = "sklansky:";
  if (s.word == "in_turn") return {};
  std::uint64_t block = 0;
  if (s.word.starts_with(name)) {
    const std::string_view digits = std::string_view(s.word).substr(name.size());
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), block);
    if (error != std::errc{} || end != digits.data() + digits.size()) block = 0;
  }
  if (block < 2 || block > most || !std::has_single_bit(block))
    throw formula_error(s.column, "an order is \"in_turn\" or \"sklansky:64\", with a power of two");
  return {block};
}

std::size_t FormulaBuilder::positions(const Syntax& s) {
  expect_named(s, {"axis"});
  const std::size_t x = build(s.operands.front()), axis = axis_of(s, shape(x));
  Extents extents(shape(x).size(), 1);
  extents[axis] = shape(x)[axis];
  return add({.op = Op::position, .shape = std::move(extents), .index = axis});
}

std::size_t FormulaBuilder::gather(const Syntax& s) {
  expect_named(s, {"axis"});
  const Operands x = build_all(s);
  const Extents& from = shape(x[0]);
  const Extents& indices = shape(x[1]);
  const std::size_t axis = axis_of(s, from);
  const auto at_axis = [&](const Extents& some) {  // what stands in the place of the axis
    Extents extents = from;
    const auto place = extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(axis));
    extents.insert(place, some.begin(), some.end());
    return extents;
  };
  Node node{.op = Op::gather, .shape = indices, .operands = x, .index = axis};
  split(node, from, axis);
  const bool for_all = s.word == "take";
  if (!for_all && indices == at_axis({})) return add(std::move(node));
  const bool is_along = !for_all && indices.size() == from.size() && indices == at_axis({indices[axis]});
  if (!is_along && !for_all && indices.size() < 2) throw index_error(s, x);
  node.picked = is_along ? indices[axis] : element_count(indices);
  if (!is_along) node.shape = at_axis(indices);
  if (node.along == 0 && element_count(node.shape) != 0) throw formula_error(s.column, s.word + " of no elements");
  return add(std::move(node));
}

Error FormulaBuilder::index_error(const Syntax& s, const Operands& x) const {
  return formula_error(s.column, "gather: indices of " + words_of_shape(shape(x[1])) + " do not fit " +
                                     words_of_shape(shape(x[0])) +
                                     ": they have its extents but along the axis; take(x, index) has the same ones everywhere");
}

}  // namespace ulpscope::verify

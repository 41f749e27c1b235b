// SPDX-License-Identifier: Apache-2.0
// Labels of einsum, and matrix products, which are einsums.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "verify/expressions/formula_builder.hpp"
#include "verify/operations/rows.hpp"

namespace ulpscope::verify {
std::size_t FormulaBuilder::product(const Syntax& s) {
  const Operands x = build_all(s);
  const Extents &a = shape(x[0]), &b = shape(x[1]);
  if (a.empty() || b.empty()) throw formula_error(s.column, "a @ b: of tensors, not of numbers");
  const std::string left = a.size() == 1 ? "k" : "...mk", right = b.size() == 1 ? "k" : "...kn";
  return contract(s, x, left + "," + right + "->..." + (a.size() == 1 ? "" : "m") + (b.size() == 1 ? "" : "n"));
}

std::size_t FormulaBuilder::contraction(const Syntax& s) {
  expect_named(s, {});
  if (s.operands.front().kind != Syntax::Kind::text)
    throw formula_error(s.operands.front().column, "einsum(\"ij,jk->ik\", a, b): the labels come first, in quotes");
  Operands x;
  for (std::size_t i = 1; i < s.operands.size(); ++i) x.push_back(build(s.operands[i]));
  return contract(s, x, s.operands.front().word);
}

FormulaBuilder::Labels FormulaBuilder::labels_of(const Syntax& s, const std::string& text, const Operands& x) const {
  std::string clean;
  for (const char c : text)
    if (c != ' ') clean += c;
  const std::size_t arrow = clean.find("->");
  if (arrow == std::string::npos) throw formula_error(s.column, "einsum: the labels of the result stand behind ->");
  Labels labels;
  std::string left = clean.substr(0, arrow) + ",";
  for (std::size_t comma = left.find(','); comma != std::string::npos; comma = left.find(',')) {
    labels.operands.push_back(left.substr(0, comma));
    left.erase(0, comma + 1);
  }
  labels.result = clean.substr(arrow + 2);
  if (labels.operands.size() != x.size())
    throw formula_error(s.column,
                        fmt::format("einsum: labels of {} operands, and {} are there", labels.operands.size(), x.size()));
  // Dimensions that `...` stands for: digits, the last one 9.
  std::size_t most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t dots = labels.operands[i].find("...");
    if (dots == std::string::npos) continue;
    const std::size_t own = labels.operands[i].size() - 3, rank = shape(x[i]).size();
    if (rank < own || rank - own > 9) throw formula_error(s.column, "einsum: '" + text + "' does not fit the dimensions");
    labels.operands[i].replace(dots, 3, digits(rank - own));
    most = std::max(most, rank - own);
  }
  const std::size_t dots = labels.result.find("...");
  if (dots != std::string::npos) labels.result.replace(dots, 3, digits(most));
  return labels;
}

std::string FormulaBuilder::digits(std::size_t count) {
  std::string text;
  for (std::size_t i = 10 - count; i < 10; ++i) text += static_cast<char>('0' + i);
  return text;
}

std::size_t FormulaBuilder::contract(const Syntax& s, const Operands& x, const std::string& text) {
  const Labels labels = labels_of(s, text, x);
  std::map<char, std::uint64_t> extents;
  for (std::size_t i = 0; i < x.size(); ++i) read_extents(s, labels.operands[i], shape(x[i]), extents);
  std::string summed;
  for (const auto& [label, extent] : extents)
    if (labels.result.find(label) == std::string::npos) summed += label;
  Node node{.op = Op::contract, .shape = {}, .operands = x};
  for (const char label : labels.result) {
    if (extents.count(label) == 0 || std::count(labels.result.begin(), labels.result.end(), label) != 1)
      throw formula_error(s.column, "einsum: the result's labels are the operands', each once");
    node.shape.push_back(extents[label]);
  }
  node.contraction.kept = node.shape;
  for (const char label : summed) node.contraction.summed.push_back(extents[label]);
  for (std::size_t i = 0; i < x.size(); ++i)
    node.contraction.operands.push_back({steps_by_label(labels.operands[i], shape(x[i]), labels.result),
                                         steps_by_label(labels.operands[i], shape(x[i]), summed)});
  return add(std::move(node));
}

void FormulaBuilder::read_extents(const Syntax& s, const std::string& labels, const Extents& shape,
                                  std::map<char, std::uint64_t>& extents) {
  if (labels.size() != shape.size())
    throw formula_error(s.column, "einsum: '" + labels + "' are labels of " + words_of_shape(shape));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const char label = labels[i];
    const bool is_digit = label >= '0' && label <= '9';
    if (!is_digit && !(label >= 'a' && label <= 'z') && !(label >= 'A' && label <= 'Z'))
      throw formula_error(s.column, "einsum: a label is a letter");
    const auto [known, is_new] = extents.emplace(label, shape[i]);
    if (is_new || known->second == shape[i]) continue;
    if (!is_digit || (known->second != 1 && shape[i] != 1))
      throw formula_error(s.column, fmt::format("einsum: an axis of {} meets one of {}", known->second, shape[i]));
    known->second = std::max(known->second, shape[i]);
  }
}

std::vector<std::uint64_t> FormulaBuilder::steps_by_label(const std::string& own, const Extents& shape,
                                                          const std::string& labels) {
  const auto steps = steps_of(shape);
  std::vector<std::uint64_t> by_label;
  for (const char label : labels) {
    std::uint64_t step = 0;  // a label twice in an operand: its diagonal
    for (std::size_t i = 0; i < own.size(); ++i)
      if (own[i] == label && shape[i] != 1) step += static_cast<std::uint64_t>(steps[i]);
    by_label.push_back(step);
  }
  return by_label;
}

}  // namespace ulpscope::verify

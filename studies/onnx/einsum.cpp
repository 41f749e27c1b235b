// SPDX-License-Identifier: Apache-2.0
// Einstein's sums: products of arrays whose dimensions have labels.
#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "studies/onnx/operators.hpp"

namespace ulpscope::studies::onnx {
namespace {

/// The labels of an einsum's operands and of its result.
struct Labels {
  std::vector<std::string> in;
  std::string out;
};

/// In place of an ellipsis the labels of `rank` dimensions: digits, of which the last has the greatest.
std::string without_ellipsis(std::string labels, std::size_t rank) {
  const std::size_t at = labels.find("...");
  const auto is_letter = [](char label) { return (label >= 'a' && label <= 'z') || (label >= 'A' && label <= 'Z'); };
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (!is_letter(labels[i]) && (i < at || i > at + 2)) throw Error("labels " + labels + ", which are no letters");
  if (at == std::string::npos) return labels;
  if (rank > 10) throw NotComputed("an ellipsis of more than 10 dimensions");
  return labels.replace(at, 3, std::string("0123456789").substr(10 - rank));
}

Labels labels_of(std::string equation, const Call& call) {
  std::erase(equation, ' ');
  Labels labels;
  const std::size_t arrow = equation.find("->");
  std::string operands = equation.substr(0, arrow);
  for (std::size_t at = 0; at <= operands.size();) {
    const std::size_t comma = std::min(operands.find(',', at), operands.size());
    labels.in.push_back(operands.substr(at, comma - at));
    at = comma + 1;
  }
  if (labels.in.size() != call.inputs.size()) throw Error("an equation of " + std::to_string(labels.in.size()) + " operands");
  std::size_t widest = 0;
  for (std::size_t i = 0; i < labels.in.size(); ++i) {
    const Shape& shape = call.in(i).as_real().shape;
    const bool is_open = labels.in[i].find("...") != std::string::npos;
    const std::size_t named = labels.in[i].size() - (is_open ? 3 : 0);
    if (is_open ? named > shape.size() : named != shape.size())
      throw Error("labels " + labels.in[i] + " for " + words_of(shape));
    if (is_open) widest = std::max(widest, shape.size() - named);
    labels.in[i] = without_ellipsis(labels.in[i], shape.size() - named);
  }
  std::map<char, int> times;
  for (const std::string& one : labels.in)
    for (const char label : one) ++times[label];
  if (arrow != std::string::npos) {
    labels.out = without_ellipsis(equation.substr(arrow + 2), widest);
    std::string sorted = labels.out;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end() ||
        std::ranges::any_of(sorted, [&](char label) { return !times.contains(label); }))
      throw Error("a result of labels " + labels.out);
  } else {
    for (const auto& [label, count] : times)
      if (count == 1 || label <= '9') labels.out += label;
  }
  return labels;
}

/// Each label once: of several dimensions of one label the diagonal. Extents of 1 are stretched to those of others.
Value spread(const Value& x, std::string& labels, const std::map<char, std::size_t>& extents) {
  const std::vector<std::size_t> own = strides_of(x.shape, true);
  std::string once;
  std::vector<std::size_t> strides;
  Shape shape;
  for (std::size_t d = 0; d < labels.size(); ++d) {
    const std::size_t at = once.find(labels[d]);
    if (at != std::string::npos) {
      strides[at] += own[d];
      continue;
    }
    once += labels[d];
    strides.push_back(own[d]), shape.push_back(extents.at(labels[d]));
  }
  const bool is_same = once == labels && shape == x.shape;
  labels = once;
  if (is_same) return x;
  return moved(x, shape, [&](const std::vector<std::size_t>& at) {
    return std::inner_product(at.begin(), at.end(), strides.begin(), std::size_t{0});
  });
}

/// x, of these labels, summed over those that are not in `keep`, its dimensions being in the order of `keep`; those it has not
/// get extent 1.
Value arranged(const Value& x, const std::string& labels, const std::string& keep) {
  std::vector<std::size_t> strides(keep.size(), 0), left;
  const std::vector<std::size_t> own = strides_of(x.shape);
  Shape shape(keep.size(), 1), summed;
  for (std::size_t d = 0; d < labels.size(); ++d) {
    const std::size_t at = keep.find(labels[d]);
    if (at == std::string::npos)
      left.push_back(own[d]), summed.push_back(x.shape[d]);
    else
      strides[at] = own[d], shape[at] = x.shape[d];
  }
  if (summed.empty())
    return moved(x, shape, [&](const std::vector<std::size_t>& at) {
      return std::inner_product(at.begin(), at.end(), strides.begin(), std::size_t{0});
    });
  Value out = make_like(x, shape);
  const std::size_t terms = count_of(summed);
  Places places(shape);
  for (std::size_t i = 0; i < out.count(); ++i, places.next()) {
    const std::size_t first = std::inner_product(places.at().begin(), places.at().end(), strides.begin(), std::size_t{0});
    double sum = 0;
    Places inner(summed);
    for (std::size_t k = 0; k < terms; ++k, inner.next())
      sum += x.at(first + std::inner_product(inner.at().begin(), inner.at().end(), left.begin(), std::size_t{0}));
    out.reals[i] = static_cast<float>(sum);
  }
  return out;
}

/// Two operands: labels of both and of the result count matrices, of one alone rows or columns, of both alone products.
Value contracted(const Value& a, const std::string& of_a, const Value& b, const std::string& of_b, const std::string& out,
                 int threads) {
  std::string batch, rows, columns, products;
  for (const char label : of_a) {
    const bool in_b = of_b.find(label) != std::string::npos, in_out = out.find(label) != std::string::npos;
    if (in_b)
      (in_out ? batch : products) += label;
    else if (in_out)
      rows += label;
  }
  for (const char label : of_b)
    if (of_a.find(label) == std::string::npos && out.find(label) != std::string::npos) columns += label;
  const Value x = arranged(a, of_a, batch + rows + products), y = arranged(b, of_b, batch + products + columns);
  const auto extent = [](const Value& value, std::size_t first, std::size_t count) {
    return count_of(Shape(value.shape.begin() + static_cast<std::ptrdiff_t>(first),
                          value.shape.begin() + static_cast<std::ptrdiff_t>(first + count)));
  };
  const std::size_t matrices = extent(x, 0, batch.size()), m = extent(x, batch.size(), rows.size()),
                    k = extent(x, batch.size() + rows.size(), products.size()),
                    n = extent(y, batch.size() + products.size(), columns.size());
  Value result = matmul(reshaped(x, {matrices, m, k}), reshaped(y, {matrices, k, n}), threads);
  Shape shape(x.shape.begin(), x.shape.begin() + static_cast<std::ptrdiff_t>(batch.size() + rows.size()));
  shape.insert(shape.end(), y.shape.begin() + static_cast<std::ptrdiff_t>(batch.size() + products.size()), y.shape.end());
  return arranged(reshaped(result, shape), batch + rows + columns, out);
}

std::vector<Value> einsum(const Call& call) {
  Labels labels = labels_of(call.text("equation", ""), call);
  std::map<char, std::size_t> extents;
  for (std::size_t i = 0; i < labels.in.size(); ++i)
    for (std::size_t d = 0; d < labels.in[i].size(); ++d) {
      const std::size_t extent = call.in(i).shape[d];
      std::size_t& known = extents.emplace(labels.in[i][d], extent).first->second;
      if (known == 1) known = extent;
      if (extent != known && extent != 1)
        throw Error("extents " + std::to_string(known) + " and " + std::to_string(extent) + " of label " + labels.in[i][d]);
    }
  Value product = spread(call.in(0), labels.in[0], extents);
  std::string of_product = labels.in[0];
  for (std::size_t i = 1; i < labels.in.size(); ++i) {  // from left to right
    const Value next = spread(call.in(i), labels.in[i], extents);
    std::string wanted = labels.out, kept;  // of the labels that there are
    for (std::size_t later = i + 1; later < labels.in.size(); ++later) wanted += labels.in[later];
    for (const char label : of_product + labels.in[i])
      if (wanted.find(label) != std::string::npos && kept.find(label) == std::string::npos) kept += label;
    product = contracted(product, of_product, next, labels.in[i], kept, call.threads);
    of_product = kept;
  }
  return {arranged(product, of_product, labels.out)};
}

constexpr Operator einsum_table[] = {{"Einsum", einsum}};

}  // namespace

std::span<const Operator> einsum_operators() { return einsum_table; }

}  // namespace ulpscope::studies::onnx

// SPDX-License-Identifier: Apache-2.0
// What operators are given, and which there are.
#include "studies/onnx/operators.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace ulpscope::studies::onnx {
namespace {

const std::map<std::string_view, const Operator*>& all_operators() {
  static const auto all = [] {
    std::map<std::string_view, const Operator*> by_name;
    for (const auto& some :
         {elementwise_operators(), shape_operators(), part_operators(), index_operators(), reduction_operators(),
          norm_operators(), product_operators(), einsum_operators(), image_operators(), resampling_operators(), box_operators(),
          attention_operators(), quantized_operators()})
      for (const Operator& one : some) by_name.emplace(one.name, &one);
    return by_name;
  }();
  return all;
}

}  // namespace

const Value& Call::in(std::size_t i) const {
  if (maybe(i) == nullptr) throw Error("has no input " + std::to_string(i));
  return *inputs[i];
}
std::optional<double> Call::number(std::size_t i) const {
  const Value* const given = maybe(i);
  if (given == nullptr) return std::nullopt;
  if (given->count() != 1)
    throw Error("input " + std::to_string(i) + " of " + words_of(given->shape) + ", where one number is wanted");
  return given->at(0);
}

namespace {

/// A member of an attribute, which must be there where the attribute is.
template <class T>
T member(const tensors::OnnxNode& node, std::string_view name, std::optional<T> tensors::OnnxAttribute::*of, T otherwise) {
  const tensors::OnnxAttribute* const given = node.find(name);
  if (given == nullptr) return otherwise;
  if (!(given->*of)) throw Error("attribute " + std::string(name) + " is of another type");
  return *(given->*of);
}

/// The same of a list, which may be empty.
template <class T>
std::vector<T> list(const tensors::OnnxNode& node, std::string_view name, std::vector<T> tensors::OnnxAttribute::*of,
                    std::vector<T> otherwise) {
  const tensors::OnnxAttribute* const given = node.find(name);
  if (given == nullptr) return otherwise;
  if (given->wholes.size() + given->reals.size() != (given->*of).size() || given->whole || given->real || given->text)
    throw Error("attribute " + std::string(name) + " is of another type");
  return given->*of;
}

}  // namespace

std::int64_t Call::whole(std::string_view name, std::int64_t otherwise) const {
  return member(node, name, &tensors::OnnxAttribute::whole, otherwise);
}
double Call::real(std::string_view name, double otherwise) const {
  return node.find(name) == nullptr ? otherwise : static_cast<double>(member(node, name, &tensors::OnnxAttribute::real, 0.0F));
}
std::string Call::text(std::string_view name, const std::string& otherwise) const {
  return member(node, name, &tensors::OnnxAttribute::text, otherwise);
}
std::vector<std::int64_t> Call::wholes(std::string_view name, std::vector<std::int64_t> otherwise) const {
  return list(node, name, &tensors::OnnxAttribute::wholes, std::move(otherwise));
}
std::vector<float> Call::reals(std::string_view name) const { return list(node, name, &tensors::OnnxAttribute::reals, {}); }
std::vector<std::int64_t> Call::wholes_of(std::string_view name, std::size_t i) const {
  if (!name.empty() && has(name)) return wholes(name);
  const Value* const given = maybe(i);
  if (given == nullptr) return {};
  if (given->is_real()) throw Error("input " + std::to_string(i) + " of " + given->dtype + ", where integers are wanted");
  return given->wholes;
}

std::size_t axis_of(std::int64_t axis, std::size_t rank) {
  const auto all = static_cast<std::int64_t>(rank);
  if (axis < -all || axis >= all) throw Error("axis " + std::to_string(axis) + " of " + std::to_string(rank) + " dimensions");
  return static_cast<std::size_t>(axis < 0 ? axis + all : axis);
}

std::vector<std::size_t> axes_of(const std::vector<std::int64_t>& axes, std::size_t rank) {
  std::vector<std::size_t> all;
  if (axes.empty()) {
    all.resize(rank);
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }
  for (const std::int64_t axis : axes) all.push_back(axis_of(axis, rank));
  std::ranges::sort(all);
  all.erase(std::ranges::unique(all).begin(), all.end());
  return all;
}

const Operator* find_operator(std::string_view name) {
  const auto found = all_operators().find(name);
  return found == all_operators().end() ? nullptr : found->second;
}

}  // namespace ulpscope::studies::onnx

// SPDX-License-Identifier: Apache-2.0
// Operators on the boxes of a detector.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "emu/stop.hpp"
#include "studies/onnx/operators.hpp"

namespace ulpscope::studies::onnx {
namespace {

using Kind = Value::Kind;

/// A rectangle by its least and greatest coordinates.
struct Box {
  double left, top, right, bottom;

  double area() const { return (right - left) * (bottom - top); }
};

/// `box`: two corners, rows first, or the centre with width and height.
Box box_of(std::span<const float> box, bool is_centred) {
  const double a = static_cast<double>(box[0]), b = static_cast<double>(box[1]), c = static_cast<double>(box[2]),
               d = static_cast<double>(box[3]);
  if (is_centred) return {a - c / 2, b - d / 2, a + c / 2, b + d / 2};
  return {std::min(b, d), std::min(a, c), std::max(b, d), std::max(a, c)};
}

/// Whether the boxes have more in common than this part of what they cover.
bool overlap(const Box& a, const Box& b, double threshold) {
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left),
               height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (!(width > 0 && height > 0)) return false;
  const double common = width * height;
  return static_cast<float>(common / (a.area() + b.area() - common)) > static_cast<float>(threshold);  // 7/10 is not above 0.7F
}

std::vector<Value> non_max_suppression(const Call& call) {
  const Value &boxes = call.in(0).as_real(), &scores = call.in(1).as_real();
  if (boxes.shape.size() != 3 || scores.shape.size() != 3 || boxes.shape[2] != 4 || boxes.shape[0] != scores.shape[0] ||
      boxes.shape[1] != scores.shape[2])
    throw Error("boxes of " + words_of(boxes.shape) + " with scores of " + words_of(scores.shape));
  const auto number = [&](std::size_t i, double otherwise) {
    const Value* const given = call.maybe(i);
    if (given != nullptr && given->count() > 1) throw Error("input " + std::to_string(i) + " of " + words_of(given->shape));
    return given == nullptr || given->count() == 0 ? otherwise : given->at(0);
  };
  const double most = number(2, 0), threshold = number(3, 0), least_score = number(4, 0);
  const bool has_least = call.maybe(4) != nullptr && call.maybe(4)->count() != 0;
  const bool is_centred = call.whole("center_point_box", 0) != 0;
  const std::size_t classes = scores.shape[1], count = boxes.shape[1];
  std::vector<std::int64_t> selected;
  std::vector<Box> own(count);
  std::vector<std::size_t> order, kept;
  for (std::size_t line = 0; line < scores.shape[0] * classes && count != 0; ++line) {
    const std::size_t batch = line / classes;
    for (std::size_t i = 0; i < count; ++i)
      own[i] = box_of(std::span(boxes.reals).subspan((batch * count + i) * 4, 4), is_centred);
    const auto score = [&](std::size_t i) { return scores.at(line * count + i); };
    order.resize(count), kept.clear();
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::erase_if(order, [&](std::size_t i) { return std::isnan(score(i)) || (has_least && !(score(i) > least_score)); });
    std::ranges::stable_sort(order, [&](std::size_t i, std::size_t j) { return score(i) > score(j); });
    for (const std::size_t i : order) {
      emu::stop_if_asked();
      if (!(static_cast<double>(kept.size()) < most)) break;
      if (std::ranges::any_of(kept, [&](std::size_t j) { return overlap(own[i], own[j], threshold); })) continue;
      kept.push_back(i);
      for (const std::size_t one : {batch, line % classes, i}) selected.push_back(static_cast<std::int64_t>(one));
    }
  }
  return {reshaped(row_of(selected), {selected.size() / 3, 3})};
}

constexpr Operator box_table[] = {{"NonMaxSuppression", non_max_suppression}};

}  // namespace

std::span<const Operator> box_operators() { return box_table; }

}  // namespace ulpscope::studies::onnx

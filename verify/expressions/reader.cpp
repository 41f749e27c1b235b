// SPDX-License-Identifier: Apache-2.0
// Loads what is kept, broadcast where it is smaller, and computes upon it.
#include "verify/expressions/reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace ulpscope::verify {
namespace {

/// Elements of what is kept, from place `from` on with a step of 0 or more, to lanes from `to` on.
void copy(const Kept& kept, std::uint64_t from, std::uint64_t step, std::size_t to, std::size_t count, Lanes& out) {
  if (step == 1 && !kept.numbers.empty()) {
    const float* const numbers = kept.numbers.data() + from;
    for (std::size_t i = 0; i < count; ++i) out.value[to + i] = static_cast<double>(numbers[i]);
    return;
  }
  if (step == 0 && !kept.is_exact()) {
    const Approximate one = kept.at(from);
    std::fill_n(out.value + to, count, one.value);
    std::fill_n(out.radius + to, count, one.radius);
    std::fill_n(out.error + to, count, one.error);
    std::fill_n(out.overflow + to, count, one.overflow);
    return;
  }
  if (kept.is_exact()) {
    for (std::size_t i = 0; i < count; ++i, from += step) out.value[to + i] = kept.at(from).value;
    return;
  }
  for (std::size_t i = 0; i < count; ++i, from += step) out.set(to + i, kept.at(from));
}

}  // namespace

Reader::Reader(const Evaluation& evaluation, std::size_t node)
    : evaluation_(evaluation), shape_(evaluation.formula().nodes[node].shape) {
  step_of(node);
}

std::size_t Reader::step_of(std::size_t node) {
  for (std::size_t i = 0; i < steps_.size(); ++i)
    if (steps_[i].node == node) return i;
  const Node& n = evaluation_.formula_.nodes[node];
  Step step{.node = node};
  if (n.op == Op::number) {
    step.is_filled = true;
  } else if (evaluation_.is_kept(node)) {
    step.is_whole = n.shape == shape_;
    step.steps.assign(shape_.size(), 0);
    std::uint64_t own = 1;
    for (std::size_t i = 0; i < n.shape.size(); ++i) {
      const std::uint64_t extent = n.shape[n.shape.size() - 1 - i];
      if (extent != 1) step.steps[shape_.size() - 1 - i] = own;
      own *= extent;
    }
  } else {
    for (const std::size_t operand : n.operands) step.from.push_back(step_of(operand));
  }
  steps_.push_back(std::move(step));
  lanes_.push_back(std::make_unique<Lanes>());
  if (steps_.back().is_filled) {
    const Approximate number = approximate_number(n);
    Lanes& out = *lanes_.back();
    out.exact = number.radius == 0 && number.error == 0;
    out.in_range = number.overflow == Overflow::none;
    for (std::size_t i = 0; i < Lanes::size; ++i) out.set(i, number);
  }
  return steps_.size() - 1;
}

void Reader::load(const Step& step, std::uint64_t first, std::size_t count, Lanes& out) const {
  const Kept& kept = *evaluation_.kept_[step.node];
  out.exact = kept.is_exact();
  out.in_range = out.exact || kept.overflow.empty();
  if (step.is_whole || shape_.empty()) return copy(kept, first, 1, 0, count, out);
  // Run by run along the last dimension.
  for (std::size_t done = 0; done < count;) {
    std::uint64_t rest = first + done, at = 0;
    for (std::size_t i = shape_.size(); i-- > 0;) {
      at += rest % shape_[i] * step.steps[i];
      rest /= shape_[i];
    }
    const std::uint64_t left = shape_.back() - (first + done) % shape_.back();
    const auto run = static_cast<std::size_t>(std::min<std::uint64_t>(left, count - done));
    copy(kept, at, step.steps.back(), done, run, out);
    done += run;
  }
}

const Lanes& Reader::read(std::uint64_t first, std::size_t count) {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (step.is_filled) continue;
    if (evaluation_.is_kept(step.node)) {
      load(step, first, count, *lanes_[i]);
      continue;
    }
    std::array<const Lanes*, 3> from{};
    for (std::size_t operand = 0; operand < step.from.size(); ++operand) from[operand] = lanes_[step.from[operand]].get();
    compute(evaluation_.formula_.nodes[step.node], std::span(from).first(step.from.size()), count, *lanes_[i]);
  }
  return *lanes_.back();
}

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// Operators that sum, compare or normalise along dimensions: in float64, in ascending order, rounded once.
#include <algorithm>
#include <cmath>
#include <limits>

#include "emu/math.hpp"
#include "studies/onnx/operators.hpp"

namespace ulpscope::studies::onnx {
namespace {

using Kind = Value::Kind;

/// Reduces x over its axes: `first` begins a sum, next(sum, element) goes on, last(sum, elements) ends it.
template <class Next, class Last>
std::vector<Value> reduced(const Call& call, double first, Next next, Last last) {
  const Value& x = call.in(0);
  const std::vector<std::int64_t> wanted = call.wholes_of("axes", 1);
  const bool keeps = call.whole("keepdims", 1) != 0;
  if (wanted.empty() && call.whole("noop_with_empty_axes", 0) != 0) {
    Value out = x;
    for (float& one : out.reals) one = static_cast<float>(last(next(first, static_cast<double>(one)), 1.0));
    return {out};
  }
  const std::vector<std::size_t> axes = axes_of(wanted, x.shape.size());
  Shape kept = x.shape, shape;
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    const bool goes = std::ranges::binary_search(axes, d);
    if (goes) kept[d] = 1;
    if (!goes || keeps) shape.push_back(goes ? 1 : x.shape[d]);
  }
  Value out = make_like(x, kept);
  std::vector<double> sums(out.count(), first);
  const std::vector<std::size_t> strides = strides_of(kept, true);
  Places places(x.shape);
  const std::size_t count = x.count();
  for (std::size_t i = 0; i < count; ++i, places.next()) {
    std::size_t at = 0;
    for (std::size_t d = 0; d < strides.size(); ++d) at += places.at()[d] * strides[d];
    sums[at] = next(sums[at], x.at(i));
  }
  const double each = sums.empty() ? 0 : static_cast<double>(count) / static_cast<double>(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double result = last(sums[i], each);
    if (out.is_real()) {
      out.reals[i] = static_cast<float>(result);
    } else {
      if (!(std::fabs(result) <= 0x1p53)) throw NotComputed("integers whose result is NaN or beyond 2^53");
      out.wholes[i] = static_cast<std::int64_t>(result);
    }
  }
  return {reshaped(out, shape)};
}

constexpr auto itself = [](double sum, double) { return sum; };
constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<Value> reduce_sum(const Call& call) {
  return reduced(
      call, 0, [](double s, double x) { return s + x; }, itself);
}
std::vector<Value> reduce_mean(const Call& call) {
  return reduced(
      call, 0, [](double s, double x) { return s + x; }, [](double s, double n) { return s / n; });
}
std::vector<Value> reduce_prod(const Call& call) {
  return reduced(
      call, 1, [](double s, double x) { return s * x; }, itself);
}
std::vector<Value> reduce_max(const Call& call) {
  return reduced(
      call, -infinity, [](double s, double x) { return std::isnan(s) || s > x ? s : x; }, itself);
}
std::vector<Value> reduce_min(const Call& call) {
  return reduced(
      call, infinity, [](double s, double x) { return std::isnan(s) || s < x ? s : x; }, itself);
}
std::vector<Value> reduce_l1(const Call& call) {
  return reduced(
      call, 0, [](double s, double x) { return s + std::fabs(x); }, itself);
}
std::vector<Value> reduce_l2(const Call& call) {
  return reduced(
      call, 0, [](double s, double x) { return s + x * x; }, [](double s, double) { return std::sqrt(s); });
}
std::vector<Value> reduce_sum_square(const Call& call) {
  return reduced(
      call, 0, [](double s, double x) { return s + x * x; }, itself);
}
std::vector<Value> reduce_log_sum(const Call& call) {
  return reduced(
      call, 0, [](double s, double x) { return s + x; }, [](double s, double) { return emu::log(s); });
}
/// log(exp(s) + exp(x)), however far from 0 these are.
double log_of_sum(double s, double x) {
  const double away = s == x ? 0 : -std::fabs(s - x);  // two infinities are not subtracted
  return std::max(s, x) + emu::log(1 + emu::exp(away));
}
std::vector<Value> reduce_log_sum_exp(const Call& call) { return reduced(call, -infinity, log_of_sum, itself); }

/// act(line of doubles) for each line along an axis, or along all dimensions from it on.
template <class Act>
std::vector<Value> each_line(const Value& x, std::size_t axis, bool to_the_end, Act act) {
  if (!x.is_real()) throw NotComputed("of " + x.dtype);
  Value out = make_like(x, x.shape);
  const std::size_t behind =
      count_of(Shape(x.shape.begin() + static_cast<std::ptrdiff_t>(axis) + (to_the_end ? 0 : 1), x.shape.end()));
  const std::size_t length = to_the_end ? behind : x.shape[axis], step = to_the_end ? 1 : behind;
  const std::size_t lines = length == 0 ? 0 : x.count() / length;
  std::vector<double> line(length);
  for (std::size_t i = 0; i < lines; ++i) {
    const std::size_t first = i / step * step * length + i % step;
    for (std::size_t j = 0; j < length; ++j) line[j] = static_cast<double>(x.reals[first + j * step]);
    act(line);
    for (std::size_t j = 0; j < length; ++j) out.reals[first + j * step] = static_cast<float>(line[j]);
  }
  return {out};
}

/// The dimensions of a softmax: before version 13 all from the axis on are one line.
template <class Act>
std::vector<Value> each_softmax_line(const Call& call, Act act) {
  const Value& x = call.in(0);
  const bool old = call.opset < 13;
  return each_line(x, axis_of(call.whole("axis", old ? 1 : -1), x.shape.size()), old, act);
}

std::vector<Value> softmax(const Call& call) {
  return each_softmax_line(call, [](std::vector<double>& line) {
    const double greatest = *std::ranges::max_element(line);
    double sum = 0;
    for (double& x : line) sum += x = emu::exp(x - greatest);
    for (double& x : line) x /= sum;
  });
}
std::vector<Value> log_softmax(const Call& call) {
  return each_softmax_line(call, [](std::vector<double>& line) {
    const double greatest = *std::ranges::max_element(line);
    double sum = 0;
    for (const double x : line) sum += emu::exp(x - greatest);
    const double away = greatest + emu::log(sum);
    for (double& x : line) x -= away;
  });
}
std::vector<Value> hardmax(const Call& call) {
  return each_softmax_line(call, [](std::vector<double>& line) {
    const auto best = std::ranges::max_element(line) - line.begin();
    std::ranges::fill(line, 0.0);
    line[static_cast<std::size_t>(best)] = 1;
  });
}

std::vector<Value> cumulative_sum(const Call& call) {
  const Value& x = call.in(0);
  const std::vector<std::int64_t> wanted = call.wholes_of("", 1);
  if (wanted.size() != 1) throw Error("no axis");
  const std::size_t axis = axis_of(wanted[0], x.shape.size());
  const bool exclusive = call.whole("exclusive", 0) != 0, reverse = call.whole("reverse", 0) != 0;
  const std::size_t step = strides_of(x.shape)[axis], length = x.shape[axis];
  Value out = x;
  const auto along = [&](auto& elements, auto sum) {
    for (std::size_t i = 0; length != 0 && i < elements.size() / length; ++i) {
      auto total = sum;
      for (std::size_t j = 0; j < length; ++j) {
        auto& at = elements[i / step * step * length + i % step + (reverse ? length - 1 - j : j) * step];
        using Element = std::remove_reference_t<decltype(at)>;
        const auto one = static_cast<decltype(total)>(at), before = total;
        total += one;
        at = static_cast<Element>(exclusive ? before : total);
      }
    }
  };
  out.is_real() ? along(out.reals, 0.0) : along(out.wholes, std::uint64_t{0});
  return {out};
}

constexpr Operator reduction_table[] = {{"CumSum", cumulative_sum},
                                        {"Hardmax", hardmax},
                                        {"LogSoftmax", log_softmax},
                                        {"ReduceL1", reduce_l1},
                                        {"ReduceL2", reduce_l2},
                                        {"ReduceLogSum", reduce_log_sum},
                                        {"ReduceLogSumExp", reduce_log_sum_exp},
                                        {"ReduceMax", reduce_max},
                                        {"ReduceMean", reduce_mean},
                                        {"ReduceMin", reduce_min},
                                        {"ReduceProd", reduce_prod},
                                        {"ReduceSum", reduce_sum},
                                        {"ReduceSumSquare", reduce_sum_square},
                                        {"Softmax", softmax}};

}  // namespace

std::span<const Operator> reduction_operators() { return reduction_table; }

}  // namespace ulpscope::studies::onnx

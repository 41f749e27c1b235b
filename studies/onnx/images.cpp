// SPDX-License-Identifier: Apache-2.0
// Operators on planes: pools.
#include <algorithm>
#include <cmath>
#include <limits>

#include "studies/onnx/operators.hpp"
#include "studies/onnx/windows.hpp"

namespace ulpscope::studies::onnx {
namespace {

using Kind = Value::Kind;

const Value& image_of(const Call& call) {
  const Value& x = call.in(0);
  if (!x.is_real()) throw NotComputed("of " + x.dtype);
  if (x.shape.size() < 3) throw Error("of " + words_of(x.shape));
  return x;
}
Shape plane_of(const Value& x) { return {x.shape.begin() + 2, x.shape.end()}; }

/// A value for each channel and window: function(the plane, the taps' elements, their distance in that list).
template <class Function>
std::vector<Value> pooled(const Call& call, const Windows& windows, Function function) {
  const Value& x = image_of(call);
  Shape shape{x.shape[0], x.shape[1]};
  shape.insert(shape.end(), windows.out.begin(), windows.out.end());
  Value out = make(Kind::real, shape);
  const std::size_t plane = count_of(windows.in), positions = count_of(windows.out);
  const std::vector<std::size_t> elements = windows.elements();
  for (std::size_t c = 0; c < x.shape[0] * x.shape[1]; ++c)
    for (std::size_t p = 0; p < positions; ++p)
      out.reals[c * positions + p] = static_cast<float>(function(std::span(x.reals).subspan(c * plane, plane), elements, p));
  return {out};
}

std::vector<Value> max_pool(const Call& call) {
  const Value& x = image_of(call);
  const Windows windows(call, plane_of(x), {});
  const std::size_t positions = count_of(windows.out), plane = count_of(windows.in);
  const auto first = [&](std::span<const float> elements_of, const std::vector<std::size_t>& elements, std::size_t p) {
    std::size_t greatest = nowhere;  // a NaN is greater than all
    for (std::size_t i = p; i < elements.size(); i += positions) {
      if (elements[i] == nowhere) continue;
      const float one = elements_of[elements[i]];
      if (greatest == nowhere || one > elements_of[greatest] || (std::isnan(one) && !std::isnan(elements_of[greatest])))
        greatest = elements[i];
    }
    return greatest;
  };
  std::vector<Value> outputs =
      pooled(call, windows, [&](std::span<const float> of, const std::vector<std::size_t>& elements, std::size_t p) {
        const std::size_t at = first(of, elements, p);
        return at == nowhere ? -std::numeric_limits<double>::infinity() : static_cast<double>(of[at]);
      });
  if (call.node.outputs.size() < 2 || call.node.outputs[1].empty() || call.whole("storage_order", 0) != 0) return outputs;
  Value places = make(Kind::whole, outputs.front().shape);
  const std::vector<std::size_t> elements = windows.elements();
  for (std::size_t i = 0; i < places.count(); ++i) {
    const std::size_t channel = i / positions;
    places.wholes[i] = static_cast<std::int64_t>(
        channel * plane + first(std::span(x.reals).subspan(channel * plane, plane), elements, i % positions));
  }
  outputs.push_back(places);
  return outputs;
}

std::vector<Value> average_pool(const Call& call) {
  const Windows windows(call, plane_of(image_of(call)), {});
  const std::size_t positions = count_of(windows.out);
  const bool counts_padding = call.whole("count_include_pad", 0) != 0;
  // Windows that ceil_mode adds may reach beyond the padding, where nothing is counted.
  Value taps = make(Kind::real, {positions});
  Places at(windows.out);
  for (std::size_t p = 0; p < positions; ++p, at.next()) {
    double all = 1;
    for (std::size_t d = 0; d < windows.in.size(); ++d) {
      const auto begin = static_cast<std::int64_t>(at.at()[d]) * windows.strides[d] - windows.before[d];
      std::int64_t inside = 0;
      for (std::size_t t = 0; t < windows.kernel[d]; ++t)
        inside += begin + static_cast<std::int64_t>(t) * windows.dilations[d] <
                  static_cast<std::int64_t>(windows.in[d]) + windows.after[d];
      all *= static_cast<double>(inside);
    }
    taps.reals[p] = static_cast<float>(all);
  }
  return pooled(call, windows, [&](std::span<const float> plane, const std::vector<std::size_t>& elements, std::size_t p) {
    double sum = 0, count = 0;
    for (std::size_t i = p; i < elements.size(); i += positions)
      if (elements[i] != nowhere) sum += static_cast<double>(plane[elements[i]]), ++count;
    return sum / (counts_padding ? taps.at(p) : count);
  });
}

std::vector<Value> lp_pool(const Call& call) {
  const Windows windows(call, plane_of(image_of(call)), {});
  const std::size_t positions = count_of(windows.out);
  const auto norm = static_cast<double>(call.whole("p", 2));
  return pooled(call, windows, [&](std::span<const float> plane, const std::vector<std::size_t>& elements, std::size_t p) {
    double sum = 0;
    for (std::size_t i = p; i < elements.size(); i += positions)
      if (elements[i] != nowhere) sum += power(std::fabs(static_cast<double>(plane[elements[i]])), norm);
    return power(sum, 1 / norm);
  });
}

/// One value of each channel.
template <class Function>
std::vector<Value> global_pool(const Call& call, Function function) {
  const Value& x = image_of(call);
  Shape shape(x.shape.size(), 1);
  shape[0] = x.shape[0], shape[1] = x.shape[1];
  Value out = make(Kind::real, shape);
  const std::size_t plane = count_of(plane_of(x));
  for (std::size_t c = 0; c < out.count(); ++c)
    out.reals[c] = static_cast<float>(function(std::span(x.reals).subspan(c * plane, plane)));
  return {out};
}
std::vector<Value> global_average_pool(const Call& call) {
  return global_pool(call, [](std::span<const float> plane) {
    double sum = 0;
    for (const float x : plane) sum += static_cast<double>(x);
    return sum / static_cast<double>(plane.size());
  });
}
std::vector<Value> global_max_pool(const Call& call) {
  return global_pool(call, [](std::span<const float> plane) {
    double greatest = -std::numeric_limits<double>::infinity();
    for (const float x : plane)
      if (!(greatest >= static_cast<double>(x)) && !std::isnan(greatest)) greatest = static_cast<double>(x);
    return greatest;
  });
}

constexpr Operator image_table[] = {{"AveragePool", average_pool},
                                    {"GlobalAveragePool", global_average_pool},
                                    {"GlobalMaxPool", global_max_pool},
                                    {"LpPool", lp_pool},
                                    {"MaxPool", max_pool}};

}  // namespace

std::span<const Operator> image_operators() { return image_table; }

}  // namespace ulpscope::studies::onnx

// SPDX-License-Identifier: Apache-2.0
// Reads traces, and rounds recorded gradients at a scale.
#include "training/scale/trace.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emu/bulk.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "reports/compare/csv_file.hpp"
#include "requests/numbers.hpp"
#include "tensors/parallel.hpp"

namespace ulpscope::training {
namespace {

constexpr std::size_t chunk = std::size_t{1} << 16;

std::optional<double> number_of(const std::string& word) {
  if (word == "nan" || word == "NaN") return std::nan("");
  if (word == "inf" || word == "Infinity") return HUGE_VAL;
  if (!requests::read_real(word, {}).empty()) return std::nullopt;
  return requests::real_of(word);
}

/// Where a column is; behind the last one where it is not there.
std::size_t place_of(const std::string& path, const reports::CsvFile& file, std::string_view name) {
  if (std::count(file.columns.begin(), file.columns.end(), name) > 1)
    throw Error(path + ": has several columns " + std::string(name) + "; leave one");
  return static_cast<std::size_t>(std::find(file.columns.begin(), file.columns.end(), name) - file.columns.begin());
}

/// The number of a step behind others. @throws ulpscope::Error where it does not ascend
std::uint64_t step_of(const std::string& where, const std::string& word, const std::vector<TraceStep>& before) {
  std::string number = word;
  if (!requests::read_whole(number, {}).empty()) throw Error(where + "step '" + word + "': give a whole number");
  const std::uint64_t step = std::stoull(number);
  if (!before.empty() && step <= before.back().step)
    throw Error(where + "step " + number + " is behind step " + std::to_string(before.back().step) +
                ": a trace is of one run, and its steps ascend");
  return step;
}

/// A trace without steps is none.
Trace with_steps(Trace trace, const std::string& path) {
  if (trace.steps.empty()) throw Error(path + ": holds no step");
  return trace;
}

/// A stretch of a tensor.
struct Piece {
  const tensors::Tensor* tensor;
  std::uint64_t first;
  std::size_t count;
};

std::vector<Piece> pieces_of(const TraceStep& step) {
  std::vector<Piece> pieces;
  for (const tensors::Tensor& tensor : step.gradients)
    for (std::uint64_t first = 0; first < tensor.count(); first += chunk)
      pieces.push_back({&tensor, first, static_cast<std::size_t>(std::min<std::uint64_t>(chunk, tensor.count() - first))});
  return pieces;
}

/// Calls act(elements, part) for each piece, and gives the parts in the order of the elements.
template <class Part, class Act>
std::vector<Part> in_pieces(const TraceStep& step, int threads, Act act) {
  const std::vector<Piece> pieces = pieces_of(step);
  std::vector<Part> parts(pieces.size());
  tensors::for_each_index(pieces.size(), threads, [&](std::size_t i) {
    std::vector<double> values(pieces[i].count);
    pieces[i].tensor->source->read(pieces[i].first, std::span<double>(values));
    act(values, parts[i]);
  });
  return parts;
}

struct Sums {
  ScaledGradients counts;
  std::uint64_t above = 0, elements = 0;
  double dot = 0, gradients = 0, used = 0;
};

void add_piece(const std::vector<double>& gradients, emu::Format to, const GradientScaling& how, Sums& sums) {
  std::vector<double> scaled(gradients.size()), rounded(gradients.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) scaled[i] = gradients[i] * how.scale;
  emu::round_to(to, std::span<const double>(scaled), std::span<double>(rounded), {}, {});
  const double largest = emu::max_finite(to), least_normal = emu::min_normal(to);
  const float inverse = static_cast<float>(1 / how.scale);
  ScaledGradients& counts = sums.counts;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const double g = gradients[i];
    double y = rounded[i];
    sums.above += std::fabs(scaled[i]) <= how.edge ? 0 : 1;  // NaN is above: PopART counts what is not below
    // A format without infinity and NaN has its largest number there.
    const bool is_clamped = std::fabs(y) == largest && std::fabs(scaled[i]) > largest &&
                            emu::round_to(to, scaled[i]).outcome == emu::Outcome::overflow;
    if (std::isfinite(g) && (!std::isfinite(y) || is_clamped)) {
      ++counts.overflow;
      if (how.saturating) y = std::copysign(largest, g);
    }
    counts.found_inf |= !std::isfinite(y);
    if (y != 0 && std::fabs(y) < least_normal) ++counts.subnormal;
    const double used =
        how.unscaled_in_format ? emu::round_to(to, y / how.scale).value : static_cast<double>(static_cast<float>(y) * inverse);
    if (g != 0 && (y == 0 || used == 0)) ++counts.to_zero;  // at a scale of 0 the reciprocal makes NaN of it
    sums.dot += g * used;
    sums.gradients += g * g;
    sums.used += used * used;
  }
  sums.elements += gradients.size();
}

}  // namespace

std::uint64_t Trace::elements() const {
  std::uint64_t count = 0;
  for (const TraceStep& step : steps)
    for (const tensors::Tensor& tensor : step.gradients) count += tensor.count();
  return count;
}

Trace parse_trace(const reports::CsvFile& file, const std::string& path) {
  const std::size_t found_inf = place_of(path, file, "found_inf"), amax = place_of(path, file, "amax"),
                    number = place_of(path, file, "step"), none = file.columns.size();
  if (found_inf == none && amax == none) throw Error(path + ": no column found_inf (0 or 1) or amax; one of them is needed");
  Trace trace;
  std::size_t contradictions = 0;
  for (const auto& row : file.rows) {
    const std::string where = path + ": row " + std::to_string(trace.steps.size() + 2) + ": ";
    TraceStep step{.step = number == none ? trace.steps.size() : step_of(where, row[number], trace.steps)};
    if (amax != none) {
      step.amax = number_of(row[amax]);
      if (!step.amax || *step.amax < 0)
        throw Error(where + "amax '" + row[amax] + "': give a number of at least 0, inf or nan");
    } else {
      if (row[found_inf] != "0" && row[found_inf] != "1")
        throw Error(where + "found_inf '" + row[found_inf] + "': give 0 or 1");
      step.found_inf = row[found_inf] == "1";
    }
    if (amax != none && found_inf != none && row[found_inf] == "1" && std::isfinite(*step.amax)) ++contradictions;
    trace.steps.push_back(std::move(step));
  }
  if (amax != none && found_inf != none)
    trace.remark = path + ": has amax, which decides at every scale; found_inf, of the scale at that time, is not used" +
                   (contradictions == 0 ? ""
                                        : "; it is 1 in " + std::to_string(contradictions) +
                                              (contradictions == 1 ? " row" : " rows") + " where amax is finite");
  return with_steps(std::move(trace), path);
}

Trace trace_of(std::vector<tensors::Tensor> gradients, const std::string& path) {
  std::map<std::uint64_t, TraceStep> steps;
  for (tensors::Tensor& tensor : gradients) {
    const std::size_t slash = tensor.name.find('/');
    std::string number = tensor.name.substr(0, slash);
    if (slash == std::string::npos || slash + 1 == tensor.name.size() || !requests::read_whole(number, {}).empty())
      throw Error(tensor.label + ": gradients of a step are named STEP/NAME, such as 12/layer1.weight");
    if (!tensor.dtype.format)
      throw Error(tensor.label + ": gradients are floating-point numbers; this is " + tensor.dtype.name);
    TraceStep& step = steps[std::stoull(number)];
    step.step = std::stoull(number);
    step.gradients.push_back(std::move(tensor));
  }
  Trace trace;
  for (auto& [number, step] : steps) trace.steps.push_back(std::move(step));
  return with_steps(std::move(trace), path);
}

Trace read_trace(const std::string& path) {
  return path.ends_with(".csv") ? parse_trace(reports::read_csv(path), path) : trace_of(tensors::open(path), path);
}

ScaledGradients scale_gradients(const TraceStep& step, emu::Format to, const GradientScaling& how, int threads) {
  Sums all;
  for (const Sums& part :
       in_pieces<Sums>(step, threads, [&](const auto&values, Sums&sums) { add_piece(values, to, how, sums); })) {
    all.counts.to_zero += part.counts.to_zero;
    all.counts.subnormal += part.counts.subnormal;
    all.counts.overflow += part.counts.overflow;
    all.counts.found_inf |= part.counts.found_inf;
    all.above += part.above;
    all.elements += part.elements;
    all.dot += part.dot;
    all.gradients += part.gradients;
    all.used += part.used;
  }
  all.counts.upper = all.elements == 0 ? 0 : static_cast<double>(all.above) / static_cast<double>(all.elements);
  all.counts.elements = all.elements;
  const double norms = all.gradients == all.used ? all.gradients : std::sqrt(all.gradients) * std::sqrt(all.used);
  all.counts.cosine = all.dot > norms ? 1 : all.dot / norms;  // sums of squares lose some ulp
  return all.counts;
}

GradientRange range_of(const TraceStep& step, int threads) {
  GradientRange range;
  const auto parts = in_pieces<GradientRange>(step, threads, [](const auto& values, GradientRange& part) {
    for (const double x : values) {
      const double size = std::fabs(x);
      if (!(size <= part.amax)) part.amax = std::isnan(part.amax) ? part.amax : size;
      if (size > 0 && !(part.least && *part.least <= size)) part.least = size;
    }
  });
  for (const GradientRange& part : parts) {
    if (!(part.amax <= range.amax)) range.amax = std::isnan(range.amax) ? range.amax : part.amax;
    if (part.least && !(range.least && *range.least <= *part.least)) range.least = part.least;
  }
  return range;
}

}  // namespace ulpscope::training

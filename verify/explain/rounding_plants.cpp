// SPDX-License-Identifier: Apache-2.0
// Plants roundings and counts how often they are found.
#include "verify/explain/rounding_plants.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/math.hpp"
#include "emu/names.hpp"
#include "tensors/tensor.hpp"
#include "verify/explain/plant_trials.hpp"
#include "verify/explain/planted_kernel.hpp"
#include "verify/expressions/expression.hpp"
#include "verify/expressions/rounding_points.hpp"
#include "verify/expressions/syntax.hpp"

namespace ulpscope::verify {
namespace {

constexpr std::array<emu::Format, 2> rounded_to{emu::bfloat16, emu::float16};

/// What is rounded in a kernel: of each place nothing, or a format.
class PlantedPlaces {
 public:
  PlantedPlaces(Draws& draws, std::size_t count) : formats_(count) {
    if (draws.below(4) == 0) return;  // a kernel that rounds nowhere
    const emu::Format format = rounded_to[draws.below(rounded_to.size())];
    for (auto& at : formats_)
      if (draws.below(2) == 0) at = format;
  }
  explicit PlantedPlaces(std::size_t count) : formats_(count) {}

  std::size_t roundings() const {
    return static_cast<std::size_t>(std::ranges::count_if(formats_, [](const auto& format) { return format.has_value(); }));
  }
  /// The number as it is kept at a place.
  float keep(std::size_t place, float x) const {
    return formats_[place] ? static_cast<float>(emu::round_to(*formats_[place], static_cast<double>(x), {}).value) : x;
  }
  /// The part of a formula that stands there.
  std::string say(std::size_t place, const std::string& part) const {
    return formats_[place] ? emu::format_name(*formats_[place]) + "(" + part + ")" : "(" + part + ")";
  }

 private:
  std::vector<std::optional<emu::Format>> formats_;
};

struct PlantedExtents {
  std::size_t rows, columns;
};

using KernelInputs = std::vector<std::vector<float>>;

/// A fused kernel, and its formula.
struct FusedKernel {
  const char* name;
  std::size_t places;
  std::vector<std::pair<std::string, bool>> inputs;  ///< name, and whether it has rows; else one for all rows
  std::string (*formula)(const PlantedPlaces&);
  /// A row: element j of input i at in[i][j].
  std::vector<float> (*row)(const KernelInputs& in, const PlantedPlaces&);
};

std::vector<float> swiglu_row(const KernelInputs& in, const PlantedPlaces& places) {
  std::vector<float> out;
  for (std::size_t j = 0; j < in[0].size(); ++j) {
    const float gate = in[0][j], e = static_cast<float>(emu::exp(static_cast<double>(-gate)));
    out.push_back(places.keep(0, gate / (1 + e)) * in[1][j]);
  }
  return out;
}

std::vector<float> rms_norm_row(const KernelInputs& in, const PlantedPlaces& places) {
  float squares = 0;
  for (const float x : in[0]) squares += x * x;
  const float r = places.keep(0, 1 / std::sqrt(squares / static_cast<float>(in[0].size()) + 1e-5F));
  std::vector<float> out;
  for (std::size_t j = 0; j < in[0].size(); ++j) out.push_back(places.keep(1, in[0][j] * r) * in[1][j]);
  return out;
}

std::vector<float> softmax_backward_row(const KernelInputs& in, const PlantedPlaces& places) {
  float sum = 0;
  for (std::size_t j = 0; j < in[0].size(); ++j) sum += places.keep(0, in[1][j] * in[0][j]);
  sum = places.keep(1, sum);
  std::vector<float> out;
  for (std::size_t j = 0; j < in[0].size(); ++j) out.push_back(in[0][j] * places.keep(2, in[1][j] - sum));
  return out;
}

std::vector<float> rope_row(const KernelInputs& in, const PlantedPlaces& places) {
  const std::size_t half = in[0].size() / 2;
  std::vector<float> out;
  for (std::size_t j = 0; j < in[0].size(); ++j) {
    const float other = j < half ? -in[0][j + half] : in[0][j - half];
    out.push_back(places.keep(0, in[0][j] * in[1][j]) + places.keep(1, other * in[2][j]));
  }
  return out;
}

std::vector<float> residual_row(const KernelInputs& in, const PlantedPlaces& places) {
  std::vector<float> out;
  for (std::size_t j = 0; j < in[0].size(); ++j)
    out.push_back(std::max(places.keep(1, places.keep(0, in[0][j] * in[1][j]) + in[2][j]), 0.0F) * in[2][j]);
  return out;
}

const std::vector<FusedKernel>& fused_kernels() {
  static const std::vector<FusedKernel> all{
      {"swiglu",
       1,
       {{"gate", true}, {"up", true}},
       [](const PlantedPlaces& p) { return p.say(0, "silu(gate)") + " * up"; },
       swiglu_row},
      {"rms_norm",
       2,
       {{"x", true}, {"w", false}},
       [](const PlantedPlaces& p) {
         return "r = " + p.say(0, "rsqrt(mean(x * x, axis=-1, keepdims=true) + 1e-5)") + "; " + p.say(1, "x * r") + " * w";
       },
       rms_norm_row},
      {"softmax_backward",
       3,
       {{"y", true}, {"dy", true}},
       [](const PlantedPlaces& p) {
         const std::string sum = p.say(1, "sum(" + p.say(0, "dy * y") + ", axis=-1, keepdims=true)");
         return "y * " + p.say(2, "dy - " + sum);
       },
       softmax_backward_row},
      {"rope",
       2,
       {{"x", true}, {"cos", false}, {"sin", false}},
       [](const PlantedPlaces& p) {
         return p.say(0, "x * cos") + " + " +
                p.say(1, "concat(-x[..., extent(x) / 2:], x[..., :extent(x) / 2], axis=-1) * sin");
       },
       rope_row},
      {"scaled_residual",
       2,
       {{"x", true}, {"s", false}, {"y", true}},
       [](const PlantedPlaces& p) { return "relu(" + p.say(1, p.say(0, "x * s") + " + y") + ") * y"; },
       residual_row}};
  return all;
}

/// A number of bfloat16.
float drawn_number(Draws& draws) {
  const double x = draws.unit() * 4 - 2, size = draws.below(4) == 0 ? 4 : 1;
  return static_cast<float>(emu::round_to(emu::bfloat16, x * size, {}).value);
}

/// What a kernel returns, rounded to `out`.
std::vector<float> output_of(const FusedKernel& fused, const KernelInputs& inputs, PlantedExtents extents,
                             const PlantedPlaces& places, emu::Format out) {
  std::vector<float> all;
  for (std::size_t i = 0; i < extents.rows; ++i) {
    KernelInputs of_row;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const std::size_t first = fused.inputs[k].second ? i * extents.columns : 0;
      const auto begin = inputs[k].begin() + static_cast<std::ptrdiff_t>(first);
      of_row.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(extents.columns));
    }
    for (const float x : fused.row(of_row, places))
      all.push_back(static_cast<float>(emu::round_to(out, static_cast<double>(x), {}).value));
  }
  return all;
}

enum class PointEnding : std::uint8_t { named, grouped, wrong, none };
constexpr std::size_t point_endings = 4;

PointEnding ending_of(const RoundingSearch& search, const std::string& planted, bool rounds) {
  const RoundingPoints* const found = search.found();
  if (found == nullptr) return PointEnding::none;
  if (!rounds) return PointEnding::wrong;
  if (found->formula == planted) return PointEnding::named;
  const bool among = std::ranges::any_of(search.points, [&](const RoundingPoints& points) {
    return points.formula == planted && points.beyond == 0 && points.equal == found->equal;
  });
  return among ? PointEnding::grouped : PointEnding::wrong;
}

struct PointTrial {
  std::string name;
  std::size_t roundings;
  PointEnding ending;
};

PointTrial trial_of(std::uint64_t seed, std::size_t index) {
  Draws draws(seed, index);
  for (;;) {
    const FusedKernel& fused = fused_kernels()[draws.below(fused_kernels().size())];
    const PlantedExtents extents{4 + draws.below(13), 2 * (4 + draws.below(13))};
    const emu::Format out = std::array{emu::float32, emu::bfloat16, emu::float16}[draws.below(3)];
    KernelInputs inputs;
    Expression expression{.formula = fused.formula(PlantedPlaces(fused.places)), .last = {.out = out}, .threads = 1};
    for (const auto& [name, has_rows] : fused.inputs) {
      std::vector<float>& numbers = inputs.emplace_back(has_rows ? extents.rows * extents.columns : extents.columns);
      for (float& x : numbers) x = drawn_number(draws);
      std::vector<std::uint64_t> shape{extents.columns};
      if (has_rows) shape.insert(shape.begin(), extents.rows);
      expression.inputs.emplace_back(name, Values{shape, numbers, emu::bfloat16});
    }
    const PlantedPlaces places(draws, fused.places);
    const std::vector<float> output = output_of(fused, inputs, extents, places, out);
    const bool rounds = places.roundings() != 0;
    if (rounds && output == output_of(fused, inputs, extents, PlantedPlaces(fused.places), out)) continue;  // no trace
    const tensors::Tensor tensor = tensors::from_values("y", {extents.rows, extents.columns}, output);
    const RoundingSearch search = search_rounding_points(expression, tensor, {{rounded_to[0]}, {rounded_to[1]}});
    return {fused.name, places.roundings(), ending_of(search, text_of(parse_formula(fused.formula(places))), rounds)};
  }
}

}  // namespace

reports::Table explain_roundings_table(std::size_t trials, std::uint64_t seed,
                                       const std::function<void(std::uint64_t done, std::uint64_t total)>& progress) {
  const std::vector<PointTrial> all = all_trials(trials, progress, [&](std::size_t i) { return trial_of(seed, i); });
  std::map<std::pair<std::string, std::size_t>, std::array<std::int64_t, point_endings + 1>> rows;
  for (const PointTrial& one : all) {
    auto& counts = rows[{one.name, one.roundings}];
    ++counts[0], ++counts[1 + static_cast<std::size_t>(one.ending)];
  }
  reports::Table table{"explain_roundings", {"formula", "roundings", "trials", "named", "grouped", "wrong", "none"}, {}};
  for (const auto& [key, counts] : rows) {
    std::vector<reports::Cell>& row = table.rows.emplace_back();
    row.emplace_back(key.first), row.emplace_back(reports::whole(key.second));
    row.insert(row.end(), counts.begin(), counts.end());
  }
  return table;
}

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// The curves of accumulation.csv: 8-bit inputs, accumulators in float16, and accumulators in float32 beside a chain of fused
// multiply-adds.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "emu/catalogue.hpp"
#include "emu/format.hpp"
#include "reports/columns.hpp"
#include "requests/parts.hpp"
#include "studies/accumulation/accumulation_page.hpp"

namespace ulpscope::studies {
namespace {

using reports::Columns;
using reports::Figure;
using reports::Growth;

constexpr std::size_t rounding_colour = 7;  ///< grey: no engine's

/// What one curve is of.
struct ErrorCurve {
  std::string engine, in, acc, evidence;
  std::int64_t promote = 0;

  auto key() const { return std::tie(engine, in, acc, promote); }
  bool narrow() const { return requests::parse_format(in).bits() <= 8; }
  std::string words() const {
    return engine + " on " + in + (acc == "float32" ? "" : " into " + acc) +
           (promote == 0 ? "" : ", promoted every " + std::to_string(promote)) +
           (evidence == "published" ? " (published, not checked here)" : "");
  }
};

/// The table as curves: what they are of, and their values by distribution and length.
class Curves {
 public:
  explicit Curves(const reports::Table& table) {
    const Columns columns(table);
    for (const auto& row : table.rows) {
      const double length = columns.number(row, "k");
      if (!std::isfinite(length)) continue;
      const ErrorCurve curve{columns.text(row, "engine"), columns.text(row, "in"), columns.text(row, "acc"),
                             columns.text(row, "evidence"), columns.count(row, "promote")};
      lengths_.insert(length);
      if (curve.promote != 0) promotions_.insert(curve.promote);
      const std::size_t d = reports::place_of(distributions_, columns.text(row, "distribution"));
      reports::place_of(engines_, curve.engine), reports::place_of(formats_, curve.in);
      auto at = std::find_if(curves_.begin(), curves_.end(), [&](const ErrorCurve& other) { return other.key() == curve.key(); });
      if (at == curves_.end()) at = curves_.insert(curves_.end(), curve);
      const auto index = static_cast<std::size_t>(at - curves_.begin());
      values_[{index, d, length}] = {columns.number(row, "rel_frobenius_error"),
                                     columns.number(row, "input_rel_frobenius_error")};
    }
  }

  const std::vector<ErrorCurve>& all() const { return curves_; }

  Growth empty(const std::string& y_label) const {
    Growth growth;
    growth.x.assign(lengths_.begin(), lengths_.end());
    growth.x_label = "K, the length of the sums";
    growth.y_label = y_label;
    growth.panels = distributions_;
    return growth;
  }

  Growth::Line line(std::size_t curve) const {
    const ErrorCurve& of = curves_[curve];
    return {.name = of.words(),
            .colour = place(engines_, of.engine) % rounding_colour,
            .dash = dash(of.promote),
            .marker = marker(of.in),
            .y = values(curve, [](const Values& v) { return v.error; })};
  }

  Growth::Line rounding_line(std::size_t curve) const {
    return {.name = "rounding the inputs to " + curves_[curve].in + ", for comparison",
            .colour = rounding_colour,
            .dash = Growth::Dash::dotted,
            .marker = marker(curves_[curve].in),
            .y = values(curve, [](const Values& v) { return v.rounding; })};
  }

 private:
  struct Values {
    double error = 0, rounding = 0;
  };

  static std::size_t place(const std::vector<std::string>& words, const std::string& word) {
    return static_cast<std::size_t>(std::find(words.begin(), words.end(), word) - words.begin());
  }

  /// Each interval of promotion has dashes of its own.
  Growth::Dash dash(std::int64_t promote) const {
    constexpr std::array dashes{Growth::Dash::dashed, Growth::Dash::dash_dotted, Growth::Dash::long_dashed,
                                Growth::Dash::dash_dot_dotted};
    if (promote == 0) return Growth::Dash::solid;
    const auto before = std::distance(promotions_.begin(), promotions_.find(promote));
    return dashes[static_cast<std::size_t>(before) % dashes.size()];
  }

  Growth::Marker marker(const std::string& in) const {
    constexpr std::size_t markers = static_cast<std::size_t>(Growth::Marker::cross) + 1;
    return static_cast<Growth::Marker>(place(formats_, in) % markers);
  }

  template <class Part>
  std::vector<std::vector<double>> values(std::size_t curve, Part part) const {
    std::vector<std::vector<double>> panels(distributions_.size());
    for (std::size_t d = 0; d < panels.size(); ++d)
      for (const double k : lengths_) {
        const auto at = values_.find({curve, d, k});
        panels[d].push_back(at == values_.end() ? std::nan("") : part(at->second));
      }
    return panels;
  }

  std::vector<ErrorCurve> curves_;
  std::vector<std::string> distributions_, engines_, formats_;
  std::set<double> lengths_;
  std::set<std::int64_t> promotions_;  ///< other than 0
  std::map<std::tuple<std::size_t, std::size_t, double>, Values> values_;
};

constexpr auto marks = " A colour is an engine, a marker an input format; dashes are promotion.";

/// Of a logarithmic axis: an error of 0 is on none.
bool lacks_points(const Growth& growth) {
  for (const Growth::Line& line : growth.lines)
    for (const auto& points : line.y)
      for (const double y : points)
        if (!(y > 0) || !std::isfinite(y)) return true;
  return false;
}

std::string described(const Growth& growth) {
  return growth.y_label + " of matrix products against the length of their sums: " + std::to_string(growth.lines.size()) +
         " curves for each of " + std::to_string(growth.panels.size()) + " distributions; both axes are logarithmic.";
}

void add(std::vector<Figure>& figures, Figure figure, Growth growth) {
  if (growth.lines.empty()) return;
  figure.caption += marks;
  if (lacks_points(growth)) figure.caption += " Where a mark is missing, a product is exact or not finite.";
  figure.description = described(growth);
  figure.data = std::move(growth);
  figures.push_back(std::move(figure));
}

void narrow_figure(const Curves& curves, std::vector<Figure>& figures) {
  Growth growth = curves.empty("relative Frobenius error");
  std::vector<Growth::Line> roundings;
  std::set<std::string> rounded;
  for (std::size_t i = 0; i < curves.all().size(); ++i) {
    if (!curves.all()[i].narrow()) continue;
    growth.lines.push_back(curves.line(i));
    if (rounded.insert(curves.all()[i].in).second) roundings.push_back(curves.rounding_line(i));
  }
  growth.lines.insert(growth.lines.end(), roundings.begin(), roundings.end());
  add(figures,
      {.name = "narrow_inputs",
       .title = "Inputs of 8 bits or fewer.",
       .caption =
           "Error of the accumulation, |C - exact| / |exact|. Dotted: what rounding the inputs alone did. Where a curve is "
           "above the dots, the accumulator loses more than the format.",
       .description = {},
       .data = {}},
      std::move(growth));
}

void float16_figure(const Curves& curves, std::vector<Figure>& figures) {
  Growth growth = curves.empty("relative Frobenius error");
  for (std::size_t i = 0; i < curves.all().size(); ++i)
    if (!curves.all()[i].narrow() && curves.all()[i].acc == "float16") growth.lines.push_back(curves.line(i));
  add(figures,
      {.name = "float16_accumulators",
       .title = "Accumulators in float16.",
       .caption = "Error of the accumulation, |C - exact| / |exact|.",
       .description = {},
       .data = {}},
      std::move(growth));
}

/// Divides by the curve of `fma`, if there is one: the errors of float32 accumulators differ by little else.
void float32_figure(const Curves& curves, std::vector<Figure>& figures) {
  std::optional<std::size_t> fma;
  std::vector<std::size_t> of_figure;
  for (std::size_t i = 0; i < curves.all().size(); ++i) {
    const ErrorCurve& curve = curves.all()[i];
    if (curve.narrow() || curve.acc == "float16") continue;
    of_figure.push_back(i);
    if (curve.engine == "fma" && curve.promote == 0 && !fma) fma = i;
  }
  const bool relative = fma && of_figure.size() > 1;
  Growth growth = curves.empty(relative ? "error / error of fma" : "relative Frobenius error");
  for (const std::size_t i : of_figure) {
    Growth::Line line = curves.line(i);
    if (relative) {
      const Growth::Line reference = curves.line(*fma);
      for (std::size_t d = 0; d < line.y.size(); ++d)
        for (std::size_t k = 0; k < line.y[d].size(); ++k) line.y[d][k] /= reference.y[d][k];
    }
    growth.lines.push_back(std::move(line));
  }
  add(figures,
      {.name = "float32_accumulators",
       .title = "Inputs of more than 8 bits into float32.",
       .caption = relative ? "Their errors lie close together: drawn is the error over that of " + curves.all()[*fma].words() +
                                 " for the same distribution and K. Below 1 is better than a chain of fused multiply-adds."
                           : "Error of the accumulation, |C - exact| / |exact|.",
       .description = {},
       .data = {}},
      std::move(growth));
}

}  // namespace

std::vector<Figure> accumulation_figures(const reports::Table& table) {
  const Curves curves(table);
  std::vector<Figure> figures;
  narrow_figure(curves, figures);
  float16_figure(curves, figures);
  float32_figure(curves, figures);
  return figures;
}

}  // namespace ulpscope::studies

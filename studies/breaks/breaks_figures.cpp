// SPDX-License-Identifier: Apache-2.0
// The study's question as figures: a strip over scales for each function and format, and how much of each sum is reached.
#include <algorithm>
#include <cmath>

#include "reports/columns.hpp"
#include "studies/breaks/breaks.hpp"
#include "studies/census/sweep.hpp"

namespace ulpscope::studies {
namespace {

using reports::Columns;
using reports::Figure;
using reports::Ranges;
using reports::Tone;
using Row = std::vector<reports::Cell>;

constexpr std::string_view shown_rounding = "nearest_even", by_chance = "stochastic";

Tone tone_of(const std::string& outcome) {
  if (outcome == name_of(ScaleOutcome::right)) return Tone::normal;
  if (outcome == name_of(ScaleOutcome::zero)) return Tone::becomes_zero;
  return outcome == name_of(ScaleOutcome::nonfinite) ? Tone::overflow : Tone::subnormal;
}

std::string words_of(const std::string& outcome) {
  if (outcome == name_of(ScaleOutcome::right)) return "right";
  if (outcome == name_of(ScaleOutcome::zero)) return "all results are zero";
  return outcome == name_of(ScaleOutcome::nonfinite) ? "results are infinite or NaN" : "results are wrong";
}

/// Points of one curve, which come by scale, as spans of one outcome and one cause.
void add_points(Ranges::Row& row, const Columns& columns, const std::vector<const Row*>& points, double step) {
  for (std::size_t first = 0; first < points.size();) {
    const std::string outcome = columns.text(*points[first], "outcome"), cause = columns.text(*points[first], "cause");
    std::size_t last = first;
    while (last + 1 < points.size() && columns.text(*points[last + 1], "outcome") == outcome &&
           columns.text(*points[last + 1], "cause") == cause)
      ++last;
    const double from = columns.number(*points[first], "log2_scale"), to = columns.number(*points[last], "log2_scale");
    const std::string why = cause == name_of(ScaleCause::inputs)       ? ": the format does not hold the inputs"
                            : cause == name_of(ScaleCause::result)     ? ": the format does not hold them"
                            : cause == name_of(ScaleCause::arithmetic) ? ": the arithmetic between breaks"
                                                                       : "";
    row.spans.push_back({from - step / 2, to + step / 2, tone_of(outcome),
                         row.name + " from 2^" + digits(from, 4) + " to 2^" + digits(to, 4) + ": " + words_of(outcome) + why});
    first = last + 1;
  }
}

Figure scales_figure(const reports::Table& curves) {
  const Columns columns(curves);
  Ranges ranges{.axis = Ranges::Axis::linear,
                .x_label = "log2 of the scale of the inputs",
                .panels = {},
                .lines = {},
                .legend = {{Tone::normal, "right: at least one significant bit"},
                           {Tone::subnormal, "wrong: no significant bit is right"},
                           {Tone::becomes_zero, "all results are zero"},
                           {Tone::overflow, "results are infinite or NaN"},
                           {Ranges::Thin{}, "right with operations in float32"}}};
  double step = 1;
  for (std::size_t first = 0; first < curves.rows.size();) {
    const auto of = [&](const Row& row) {
      return std::vector<std::string>{columns.text(row, "function"), columns.text(row, "format"),
                                      columns.text(row, "arithmetic"), columns.text(row, "rounding")};
    };
    const std::vector<std::string> curve = of(curves.rows[first]);
    std::vector<const Row*> points;
    for (; first < curves.rows.size() && of(curves.rows[first]) == curve; ++first) points.push_back(&curves.rows[first]);
    if (curve[3] != shown_rounding) continue;
    if (points.size() > 1) step = columns.number(*points[1], "log2_scale") - columns.number(*points[0], "log2_scale");
    Ranges::Row& row = reports::row_named(reports::panel_named(ranges, curve[1]), curve[0]);
    if (curve[1] == curve[2]) {
      add_points(row, columns, points, step);
      continue;
    }
    Ranges::Row wide{.name = row.name + " with operations in " + curve[2], .spans = {}, .dots = {}};
    add_points(wide, columns, points, step);
    for (Ranges::Span& span : wide.spans)
      if (span.tone == Tone::normal) span.height = Ranges::Span::Height::thin, row.spans.push_back(std::move(span));
  }
  return {
      .name = "scales",
      .title = "Where functions break.",
      .caption =
          "Inputs are normal numbers times 2^k; every operation is rounded to nearest even in the format. The thin line is "
          "where the function is right if only inputs and results are in the format: what lies between is the arithmetic's.",
      .description = "For each format and function the scales at which it is right, wrong, zero, or not finite.",
      .data = std::move(ranges)};
}

Figure sums_figure(const reports::Table& sums) {
  const Columns columns(sums);
  Ranges ranges{.axis = Ranges::Axis::linear,
                .x_label = "1 - error / sum of the magnitudes of all terms",
                .panels = {},
                .lines = {{1, "exact"}},
                .legend = {{std::size_t{0}, std::string(shown_rounding)},
                           {std::size_t{1}, std::string(by_chance) + ", by the root mean square of its runs' errors"}}};
  std::size_t overflowing = 0;
  for (const Row& row : sums.rows) {
    const std::string rounding = columns.text(row, "rounding");
    if (rounding != shown_rounding && rounding != by_chance) continue;
    if (!std::isfinite(columns.number(row, "rel_error"))) ++overflowing;
    const double reached = 1 - columns.number(row, "rel_error"), stops = columns.number(row, "stops_at");
    const std::string terms = digits(columns.number(row, "terms"), 10), format = columns.text(row, "format");
    std::string title = columns.text(row, "sum") + " of " + terms + " terms in " + format + ", " + rounding + ": " +
                        (rounding == by_chance ? "mean " : "") + digits(columns.number(row, "value"), 4) + ", exact " +
                        digits(columns.number(row, "exact"), 4);
    if (rounding == shown_rounding && stops > 0) title += ", does not change after term " + digits(stops, 10);
    reports::row_named(reports::panel_named(ranges, format), columns.text(row, "sum") + " " + terms)
        .dots.push_back({reached, rounding == shown_rounding ? std::size_t{0} : std::size_t{1}, title});
  }
  return {
      .name = "sums",
      .title = "What stops growing.",
      .caption =
          "How near a sum comes to its exact value, for the size of its terms: 1 is exact, 0 is nothing of a sum of positive "
          "terms. Terms of dot_normal have both signs and nearly cancel: near 1 the sum can still be of the wrong sign. A sum "
          "to nearest even stops where its terms are below half a spacing; stochastic rounding goes on. The number is that of "
          "the terms." +
          (overflowing == 0 ? std::string() : " Sums that overflow have no dot: " + std::to_string(overflowing) + "."),
      .description =
          "One minus the error of each sum, over the sum of the magnitudes of its terms, in each format, to nearest "
          "even and under stochastic rounding.",
      .data = std::move(ranges)};
}

}  // namespace

std::vector<Figure> breaks_figures(const std::vector<reports::Table>& tables) {
  return {scales_figure(tables.at(1)), sums_figure(tables.at(3))};
}

}  // namespace ulpscope::studies

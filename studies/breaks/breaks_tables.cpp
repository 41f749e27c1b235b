// SPDX-License-Identifier: Apache-2.0
// The rows of the study's four tables.
#include "emu/names.hpp"
#include "studies/breaks/breaks.hpp"

namespace ulpscope::studies {
namespace {

using reports::Cell;
using reports::Table;

using reports::whole;
Cell word(std::string_view name) { return std::string(name); }

std::vector<Cell> names_of(const CurveOf& of) {
  return {word(of.function->name), emu::format_name(of.format), emu::format_name(of.arithmetic),
          word(emu::name_of(of.options.rounding)), word(emu::name_of(of.options.policy))};
}

void append(std::vector<Cell>& row, std::vector<Cell> cells) { row.insert(row.end(), cells.begin(), cells.end()); }

/// How a curve goes on beyond one end of its right points; nothing at the end of the scales.
std::vector<Cell> beyond(const ScalePoint* point) {
  if (point == nullptr) return {"", ""};
  return {word(name_of(point->outcome)), word(name_of(point->cause))};
}

Table windows_table(const std::vector<Curve>& curves) {
  Table table{
      "breaks",
      {"function", "format", "arithmetic", "rounding", "policy", "inputs", "outputs", "scales", "scales_held", "scales_right",
       "right_from_log2", "right_to_log2", "outcome_below", "cause_below", "outcome_above", "cause_above"},
      {}};
  for (const Curve& curve : curves) {
    const Curve::Window window = curve.window();
    std::vector<Cell> row = names_of(curve.of);
    append(row, {whole(curve.inputs), whole(curve.outputs), whole(curve.points.size()), whole(curve.scales_held()),
                 whole(curve.scales_right())});
    append(row, {window.right.empty() ? Cell() : std::int64_t{window.right.front().log2_scale},
                 window.right.empty() ? Cell() : std::int64_t{window.right.back().log2_scale}});
    append(row, beyond(window.below));
    append(row, beyond(window.above));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table curves_table(const std::vector<Curve>& curves) {
  Table table{"curves",
              {"function", "format", "arithmetic", "rounding", "policy", "log2_scale", "inputs_overflow", "inputs_to_zero",
               "nonfinite", "to_zero", "rel_frobenius_error", "once_rel_frobenius_error", "outcome", "cause"},
              {}};
  for (const Curve& curve : curves)
    for (const ScalePoint& point : curve.points) {
      std::vector<Cell> row = names_of(curve.of);
      append(row, {std::int64_t{point.log2_scale}, whole(point.inputs_overflow), whole(point.inputs_to_zero),
                   whole(point.nonfinite), whole(point.to_zero), point.rel_frobenius_error, point.once_rel_frobenius_error,
                   word(name_of(point.outcome)), word(name_of(point.cause))});
      table.rows.push_back(std::move(row));
    }
  return table;
}

Table limits_table(const BreaksResult& result) {
  Table table{"limits", {"what", "format", "rounding", "policy", "value"}, {}};
  for (const LimitRow& row : result.limits)
    table.rows.push_back({row.what, emu::format_name(row.format), word(emu::name_of(row.rounding)),
                          word(emu::name_of(result.policy)), row.value});
  return table;
}

Table sums_table(const BreaksResult& result) {
  Table table{
      "sums", {"sum", "format", "rounding", "policy", "terms", "value", "deviation", "exact", "rel_error", "stops_at"}, {}};
  for (const SumRow& row : result.sums)
    table.rows.push_back({row.name, emu::format_name(row.format), word(emu::name_of(row.rounding)),
                          word(emu::name_of(result.policy)), whole(row.terms), row.value, row.deviation, row.exact,
                          row.rel_error, whole(row.stops_at)});
  return table;
}

}  // namespace

std::vector<Table> breaks_tables(const BreaksResult& result) {
  return {windows_table(result.curves), curves_table(result.curves), limits_table(result), sums_table(result)};
}

}  // namespace ulpscope::studies

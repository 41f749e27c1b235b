// SPDX-License-Identifier: Apache-2.0
// The heat map of tensors by formats: a group for each layer.
#include <algorithm>
#include <array>
#include <utility>

#include "emu/names.hpp"
#include "studies/census/judged_tensors.hpp"

namespace ulpscope::studies {
namespace {

using emu::Outcome;
using reports::HeatMap;
using Shade = HeatMap::Shade;

/// `e4m3fn` of float8_e4m3fn: a column's head. The whole name is said in every cell's tooltip.
std::string short_format(emu::Format format) {
  const std::string name = emu::format_name(format);
  const std::size_t at = name.find('_');
  return name.starts_with("float") && at != std::string::npos ? name.substr(at + 1) : name;
}

/// Two digits, for a cell of the heat map; the part is not 0.
std::string short_percent(double share) {
  if (share < 0.001) return "<0.001%";
  return share == 100 ? "100%" : share > 99 ? ">99%" : digits(share, share < 0.1 ? 1 : 2) + "%";
}

Shade shade_of(const Judged& judged) {
  switch (judged.fate) {
    case TensorFate::fits: return Shade::good;
    case TensorFate::mended: return Shade::mended;
    case TensorFate::few_bits: return Shade::reduced;
    case TensorFate::lossy: break;
  }
  const double percent = lost_percent(judged.sums(), judged.row->format);
  return percent < 1 ? Shade::slight : percent < 10 ? Shade::marked : Shade::severe;
}

HeatMap::Cell cell_of(const JudgedTensors& tensors, std::size_t tensor, const Judged& judged) {
  const ErrorSums& sums = judged.sums();
  HeatMap::Cell cell{.shade = shade_of(judged), .text = {}, .title = tensors.sentence(tensor, judged)};
  switch (judged.fate) {
    case TensorFate::fits: cell.text = "fits"; break;
    case TensorFate::mended: cell.text = power_of_two_words(judged.best->log2_scale); break;
    case TensorFate::few_bits: cell.text = short_percent(percent_of(sums, Outcome::subnormal)); break;
    case TensorFate::lossy: cell.text = short_percent(lost_percent(sums, judged.row->format)); break;
  }
  return cell;
}

void add_legend(HeatMap& map, const JudgedTensors& tensors) {
  const std::array entries{HeatMap::Entry{Shade::good, tensors.words_of(TensorFate::fits)},
                           HeatMap::Entry{Shade::mended, tensors.words_of(TensorFate::mended)},
                           HeatMap::Entry{Shade::reduced, tensors.words_of(TensorFate::few_bits)},
                           HeatMap::Entry{Shade::slight, tensors.words_of(TensorFate::lossy) + ": less than 1%"},
                           HeatMap::Entry{Shade::marked, tensors.words_of(TensorFate::lossy) + ": less than 10%"},
                           HeatMap::Entry{Shade::severe, tensors.words_of(TensorFate::lossy) + ": 10% or more"}};
  for (const HeatMap::Entry& entry : entries)
    for (const HeatMap::Group& group : map.groups)
      if (std::any_of(group.rows.begin(), group.rows.end(), [&](const HeatMap::Row& row) {
            return std::any_of(row.cells.begin(), row.cells.end(), [&](const auto& c) { return c.shade == entry.shade; });
          })) {
        map.legend.push_back(entry);
        break;
      }
}

}  // namespace

reports::Figure heat_map_of(const JudgedTensors& tensors, const std::string& description) {
  HeatMap map;
  for (const Judged& judged : tensors.judged().front()) map.columns.push_back(short_format(judged.row->format));
  for (std::size_t i = 0; i < tensors.results().size(); ++i) {
    const NameParts& parts = tensors.parts(i);
    const std::string group = parts.layer.empty() ? parts.file : parts.layer;
    const std::string title = parts.file + (parts.layer.empty() ? "" : ":" + parts.layer);
    auto at = std::find_if(map.groups.begin(), map.groups.end(), [&](const HeatMap::Group& g) { return g.title == title; });
    if (at == map.groups.end()) at = map.groups.insert(at, {group, title, {}});
    HeatMap::Row row{.name = parts.leaf, .title = tensors.results()[i].tensor.label, .link = id_of_section(i), .cells = {}};
    for (const Judged& judged : tensors.judged()[i]) row.cells.push_back(cell_of(tensors, i, judged));
    at->rows.push_back(std::move(row));
  }
  add_legend(map, tensors);
  return {
      .name = "heat_map",
      .title = "Tensors by formats.",
      .caption = tensors.swept()
                     ? "A power of two is the scale that mends a tensor; a percentage is what is lost at the best scale "
                       "or, where nothing is, what is subnormal there. The name leads to the tensor."
                     : "A percentage is what is lost or, where nothing is, what is subnormal. The name leads to the tensor.",
      .description = description,
      .data = std::move(map)};
}

}  // namespace ulpscope::studies

// SPDX-License-Identifier: Apache-2.0
// From results to the page's parts, from its top down.
#include "studies/census/census_page.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "emu/names.hpp"
#include "studies/census/census_figures.hpp"

namespace ulpscope::studies {
namespace {

using emu::Outcome;
using reports::Finding;
using reports::HeatMap;
using reports::Section;
using reports::Severity;
using Shade = HeatMap::Shade;

constexpr std::size_t few_tensors = 4;       // they are shown open
constexpr std::size_t most_with_files = 20;  // tensors whose figures are written as files of their own

std::string id_of(std::size_t tensor) { return "tensor-" + std::to_string(tensor + 1); }
std::string power(int k) { return "2^" + std::to_string(k); }

std::uint64_t lost(const ErrorSums& sums) { return sums.of(Outcome::overflow) + sums.of(Outcome::to_zero); }

/// `e4m3fn` of float8_e4m3fn: a column's head. The whole name is said in every cell's tooltip.
std::string short_format(emu::Format format) {
  const std::string name = emu::format_name(format);
  const std::size_t at = name.find('_');
  return name.starts_with("float") && at != std::string::npos ? name.substr(at + 1) : name;
}

/// Two digits, for a cell of the heat map.
std::string short_percent(std::uint64_t part, std::uint64_t whole) {
  const double share = 100 * static_cast<double>(part) / static_cast<double>(whole);
  if (share < 0.001) return "<0.001%";
  return part == whole ? "100%" : share > 99 ? ">99%" : digits(share, 2) + "%";
}

/// All that the page shows, with each tensor judged once.
class CensusPage {
 public:
  CensusPage(const std::vector<TensorResults>& results, const CensusPageConfig& config) : results_(results), config_(config) {
    for (const TensorResults& each : results) {
      judged_.push_back(judge(each.census, each.sweep));
      parts_.push_back(parts_of(each.tensor));
      swept_ |= !each.sweep.empty();
    }
  }

  reports::Page page() const {
    reports::Page page{.title = "Precision report",
                       .settings = "rounding " + std::string(emu::name_of(config_.options.rounding)) + ", policy " +
                                   std::string(emu::name_of(config_.options.policy)) + ", scale " + config_.scaling.word,
                       .command = {},
                       .blocks = {reports::Prose{{lead()}}},
                       .sections = {}};
    if (results_.size() > 1) page.blocks.emplace_back(by_format());
    if (!results_.empty()) page.blocks.emplace_back(map());
    for (const Fate fate : {Fate::mended, Fate::few_bits, Fate::lossy})
      if (Section section = list_of(fate); !section.blocks.empty()) page.sections.push_back(std::move(section));
    for (Section& section : tensors()) page.sections.push_back(std::move(section));
    return page;
  }

 private:
  struct Count {
    std::size_t of_fate[4] = {};
    std::size_t all = 0;
  };

  std::string words_of(Fate fate) const {
    const std::string at = config_.scaling.rule == ScaleRule::none ? "scale 1" : "scale " + config_.scaling.word;
    switch (fate) {
      case Fate::fits: return "fits at " + at;
      case Fate::mended: return "bad at scale 1, mended by a scale 2^k";
      case Fate::few_bits: return "nothing is lost, but much is subnormal";
      case Fate::lossy: break;
    }
    return swept_ ? "stays lossy at every scale" : "lossy at " + at;
  }

  Count count(std::size_t format) const {
    Count count;
    for (const auto& of_tensor : judged_)
      if (format < of_tensor.size()) ++count.of_fate[static_cast<std::size_t>(of_tensor[format].fate)], ++count.all;
    return count;
  }

  std::size_t formats() const { return judged_.empty() ? 0 : judged_.front().size(); }

  std::string lead() const {
    Count all;
    for (std::size_t f = 0; f < formats(); ++f) {
      const Count of_format = count(f);
      for (std::size_t i = 0; i < 4; ++i) all.of_fate[i] += of_format.of_fate[i];
      all.all += of_format.all;
    }
    std::string text = std::to_string(results_.size()) + (results_.size() == 1 ? " tensor" : " tensors") + " in " +
                       std::to_string(formats()) + (formats() == 1 ? " format" : " formats");
    const std::string at = config_.scaling.rule == ScaleRule::none ? "scale 1" : "scale " + config_.scaling.word;
    const auto said = [&](Fate fate, bool one) -> std::string {
      switch (fate) {
        case Fate::fits: return (one ? "fits at " : "fit at ") + at;
        case Fate::mended:
          return one ? "is bad at scale 1 and mended by a scale 2^k" : "are bad at scale 1 and mended by a scale 2^k";
        case Fate::few_bits:
          return one ? "loses nothing, but much of it is subnormal" : "lose nothing, but much of them is subnormal";
        case Fate::lossy: break;
      }
      if (!swept_) return (one ? "is lossy at " : "are lossy at ") + at;
      return one ? "stays lossy at every scale" : "stay lossy at every scale";
    };
    std::vector<std::string> parts;
    for (const Fate fate : {Fate::lossy, Fate::mended, Fate::few_bits, Fate::fits})
      if (const std::size_t n = all.of_fate[static_cast<std::size_t>(fate)]; n != 0)
        parts.push_back((n == all.all && n > 1 ? "all" : std::to_string(n)) + " " + said(fate, n == 1));
    if (all.all > 1) text += ": of " + std::to_string(all.all) + " pairs";
    for (std::size_t i = 0; i < parts.size(); ++i)
      text += (i == 0 ? (all.all > 1 ? ", " : ": ") : i + 1 == parts.size() ? " and " : ", ") + parts[i];
    return text + ".";
  }

  reports::Table by_format() const {
    reports::Table table{"formats", {"format"}, {}};
    constexpr std::array fates{Fate::fits, Fate::mended, Fate::few_bits, Fate::lossy};
    std::vector<Fate> present;
    for (const Fate fate : fates) {
      const auto is_fate = [&](const Judged& j) { return j.fate == fate; };
      if (std::any_of(judged_.begin(), judged_.end(),
                      [&](const auto& of_tensor) { return std::any_of(of_tensor.begin(), of_tensor.end(), is_fate); }))
        present.push_back(fate);
    }
    for (const Fate fate : present) table.columns.push_back(words_of(fate));
    for (std::size_t f = 0; f < formats(); ++f) {
      const Count of_format = count(f);
      std::vector<reports::Cell> row{emu::format_name(judged_.front()[f].row->format)};
      for (const Fate fate : present)
        row.emplace_back(static_cast<std::int64_t>(of_format.of_fate[static_cast<std::size_t>(fate)]));
      table.rows.push_back(std::move(row));
    }
    return table;
  }

  static Shade shade_of(const Judged& judged) {
    switch (judged.fate) {
      case Fate::fits: return Shade::good;
      case Fate::mended: return Shade::mended;
      case Fate::few_bits: return Shade::reduced;
      case Fate::lossy: break;
    }
    const ErrorSums& sums = judged.sums();
    const double percent = percent_of(sums, Outcome::overflow) + percent_of(sums, Outcome::to_zero);
    return percent < 1 ? Shade::slight : percent < 10 ? Shade::marked : Shade::severe;
  }

  HeatMap::Cell cell(std::size_t tensor, const Judged& judged) const {
    const ErrorSums& sums = judged.sums();
    HeatMap::Cell cell{.shade = shade_of(judged), .text = {}, .title = sentence(tensor, judged)};
    switch (judged.fate) {
      case Fate::fits: cell.text = "fits"; break;
      case Fate::mended: cell.text = power(judged.best->log2_scale); break;
      case Fate::few_bits: cell.text = short_percent(sums.of(Outcome::subnormal), sums.count()); break;
      case Fate::lossy: cell.text = short_percent(lost(sums), sums.count()); break;
    }
    return cell;
  }

  /// What the format does as given, and what the best scale changes.
  std::string sentence(std::size_t tensor, const Judged& judged) const {
    std::string text = finding_of(*judged.row, config_.scaling, parts_[tensor].leaf).sentence;
    if (judged.fate == Fate::fits || judged.best == nullptr) return text;
    const ErrorSums& sums = judged.best->sums;
    if (judged.best->log2_scale == 0) return text + " No scale tried loses less.";
    text += " At the best scale, " + power(judged.best->log2_scale) + ", ";
    if (lost(sums) != 0) return text + percent(lost(sums), sums.count()) + " is lost.";
    text += "nothing is lost";
    return text + (sums.of(Outcome::subnormal) == 0
                       ? "."
                       : ", " + percent(sums.of(Outcome::subnormal), sums.count()) + " is subnormal.");
  }

  reports::Figure map() const {
    HeatMap map;
    for (const Judged& judged : judged_.front()) map.columns.push_back(short_format(judged.row->format));
    for (std::size_t i = 0; i < results_.size(); ++i) {
      const NameParts& parts = parts_[i];
      const std::string group = parts.layer.empty() ? parts.file : parts.layer;
      const std::string title = parts.file + (parts.layer.empty() ? "" : ":" + parts.layer);
      auto at = std::find_if(map.groups.begin(), map.groups.end(), [&](const HeatMap::Group& g) { return g.title == title; });
      if (at == map.groups.end()) at = map.groups.insert(at, {group, title, {}});
      HeatMap::Row row{.name = parts.leaf, .title = results_[i].tensor.label, .link = id_of(i), .cells = {}};
      for (const Judged& judged : judged_[i]) row.cells.push_back(cell(i, judged));
      at->rows.push_back(std::move(row));
    }
    add_legend(map);
    return {.name = "heat_map",
            .title = "Tensors by formats.",
            .caption = swept_
                           ? "A power of two is the scale that mends a tensor; a percentage is what is lost at the best scale. "
                             "The name leads to the tensor."
                           : "A percentage is what is lost, or subnormal. The name leads to the tensor.",
            .description = lead(),
            .data = std::move(map)};
  }

  void add_legend(HeatMap& map) const {
    const std::array entries{HeatMap::Entry{Shade::good, words_of(Fate::fits)},
                             HeatMap::Entry{Shade::mended, words_of(Fate::mended)},
                             HeatMap::Entry{Shade::reduced, words_of(Fate::few_bits)},
                             HeatMap::Entry{Shade::slight, words_of(Fate::lossy) + ": less than 1%"},
                             HeatMap::Entry{Shade::marked, words_of(Fate::lossy) + ": less than 10%"},
                             HeatMap::Entry{Shade::severe, words_of(Fate::lossy) + ": 10% or more"}};
    for (const HeatMap::Entry& entry : entries)
      for (const HeatMap::Group& group : map.groups)
        if (std::any_of(group.rows.begin(), group.rows.end(), [&](const HeatMap::Row& row) {
              return std::any_of(row.cells.begin(), row.cells.end(), [&](const auto& c) { return c.shade == entry.shade; });
            })) {
          map.legend.push_back(entry);
          break;
        }
  }

  /// A table of all pairs of this fate; no blocks where there are none.
  Section list_of(Fate fate) const {
    reports::Table table{"pairs", {"tensor", "format", "lost as given, %"}, {}};
    if (swept_) table.columns.insert(table.columns.end(), {"best scale", "lost there, %", "subnormal there, %"});
    if (!swept_) table.columns.emplace_back("subnormal, %");
    const auto share = [](const ErrorSums& sums) {
      return percent_of(sums, Outcome::overflow) + percent_of(sums, Outcome::to_zero);
    };
    for (std::size_t i = 0; i < results_.size(); ++i)
      for (const Judged& judged : judged_[i]) {
        if (judged.fate != fate) continue;
        std::vector<reports::Cell> row{results_[i].tensor.label, emu::format_name(judged.row->format), share(judged.row->sums)};
        if (swept_) {
          row.emplace_back(judged.best == nullptr ? "" : power(judged.best->log2_scale));
          row.emplace_back(share(judged.sums()));
        }
        row.emplace_back(percent_of(judged.sums(), Outcome::subnormal));
        table.rows.push_back(std::move(row));
      }
    if (table.rows.empty()) return {};
    constexpr std::array ids{"fits", "mended", "few-bits", "lossy"};
    std::string title = words_of(fate);
    title.front() = static_cast<char>(title.front() - 'a' + 'A');
    return {.id = ids[static_cast<std::size_t>(fate)],
            .title = title,
            .note = std::to_string(table.rows.size()) + (table.rows.size() == 1 ? " pair" : " pairs"),
            .fold = Section::Fold::closed,
            .blocks = {std::move(table)}};
  }

  Section section(std::size_t i) const {
    const TensorResults& found = results_[i];
    Section section{.id = id_of(i),
                    .title = parts_[i].leaf,
                    .fold = results_.size() > few_tensors ? Section::Fold::closed : Section::Fold::none};
    std::vector<Finding> findings;
    for (const Judged& judged : judged_[i]) {
      Finding finding = finding_of(*judged.row, config_.scaling, parts_[i].leaf);
      finding.sentence = sentence(i, judged);
      findings.push_back(std::move(finding));
    }
    std::stable_sort(findings.begin(), findings.end(),
                     [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
    section.mark = findings.empty() ? Severity::good : findings.front().severity;
    const bool with_files = results_.size() <= most_with_files;
    section.blocks = {reports::Prose{{found.tensor.label + ": " + facts_of(found)}}, reports::FindingList{std::move(findings)},
                      histogram_of(found, with_files ? id_of(i) + "_exponents" : std::string())};
    if (!found.sweep.empty()) section.blocks.emplace_back(window_of(found, with_files ? id_of(i) + "_scales" : std::string()));
    section.blocks.emplace_back(census_table(found.census, config_.scaling, config_.options));
    return section;
  }

  /// A section for each file, in it one for each layer, in these the tensors.
  std::vector<Section> tensors() const {
    std::vector<Section> files;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      const NameParts& parts = parts_[i];
      Section& file = named(files, parts.file, "file-", Section::Fold::none);
      std::vector<Section>& within =
          parts.layer.empty() ? file.sections
                              : named(file.sections, parts.layer, file.id + "-layer-", Section::Fold::closed).sections;
      within.push_back(section(i));
    }
    for (Section& file : files)
      for (Section& layer : file.sections) summarize(layer);
    return files;
  }

  static Section& named(std::vector<Section>& sections, const std::string& title, const std::string& id, Section::Fold fold) {
    const auto at = std::find_if(sections.begin(), sections.end(), [&](const Section& s) { return s.title == title; });
    if (at != sections.end()) return *at;
    sections.push_back({.id = id + std::to_string(sections.size() + 1), .title = title, .fold = fold});
    return sections.back();
  }

  /// Beside a layer's name: how many of its tensors are how bad.
  static void summarize(Section& layer) {
    if (layer.sections.empty()) return;
    std::array<std::size_t, 3> counts{};
    for (const Section& tensor : layer.sections) ++counts[static_cast<std::size_t>(*tensor.mark)];
    for (const Severity severity : {Severity::bad, Severity::warning, Severity::good})
      if (const std::size_t n = counts[static_cast<std::size_t>(severity)]; n != 0)
        layer.note += (layer.note.empty() ? "" : ", ") + std::to_string(n) + " " + name_of(severity);
  }

  const std::vector<TensorResults>& results_;
  const CensusPageConfig& config_;
  std::vector<std::vector<Judged>> judged_;  ///< by tensor
  std::vector<NameParts> parts_;
  bool swept_ = false;
};

}  // namespace

NameParts parts_of(const tensors::Tensor& tensor) {
  if (tensor.name.empty() || !tensor.label.ends_with(":" + tensor.name)) return {"Other inputs", "", tensor.label};
  NameParts parts{
      .file = tensor.label.substr(0, tensor.label.size() - tensor.name.size() - 1), .layer = {}, .leaf = tensor.name};
  constexpr std::string_view separators = "./", digits = "0123456789";
  for (auto at = tensor.name.find_first_of(separators); at != std::string::npos;
       at = tensor.name.find_first_of(separators, at + 1)) {
    if (at == 0 || digits.find(tensor.name[at - 1]) == std::string_view::npos || at + 1 == tensor.name.size()) continue;
    parts.layer = tensor.name.substr(0, at);
    parts.leaf = tensor.name.substr(at + 1);
    break;
  }
  return parts;
}

std::vector<Finding> census_findings(const std::vector<TensorResults>& results, const Scaling& scaling) {
  std::vector<Finding> findings;
  for (const TensorResults& each : results) {
    const std::vector<Advice> advice = advise(each.sweep);
    for (const Judged& judged : judge(each.census, each.sweep)) {
      findings.push_back(finding_of(*judged.row, scaling, each.tensor.label));
      const auto of_format =
          std::find_if(advice.begin(), advice.end(), [&](const Advice& a) { return a.format == judged.row->format; });
      if (judged.fate != Fate::fits && of_format != advice.end()) findings.push_back(finding_of(each.tensor.label, *of_format));
    }
  }
  return findings;
}

reports::Page census_page(const std::vector<TensorResults>& results, const CensusPageConfig& config) {
  return CensusPage(results, config).page();
}

}  // namespace ulpscope::studies

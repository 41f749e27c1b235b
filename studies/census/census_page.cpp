// SPDX-License-Identifier: Apache-2.0
// From results to the page's parts, from its top down.
#include "studies/census/census_page.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "emu/names.hpp"
#include "studies/census/census_figures.hpp"
#include "studies/census/judged_tensors.hpp"
#include "studies/census/node_causes.hpp"

namespace ulpscope::studies {
namespace {

using emu::Outcome;
using reports::Finding;
using reports::Section;
using reports::Severity;

constexpr std::size_t few_tensors = 4;       // they are shown open
constexpr std::size_t most_with_files = 20;  // tensors whose figures are written as files of their own

/// All that the page shows.
class CensusPage {
 public:
  CensusPage(const JudgedTensors& shown, const FateCounts& counts, const JudgedTensors& groups)
      : tensors_(shown),
        results_(shown.results()),
        judged_(shown.judged()),
        config_(shown.config()),
        counts_(counts),
        groups_(groups) {}

  reports::Page page() const {
    reports::Page page{.title = "Precision report",
                       .settings = "rounding " + std::string(emu::name_of(config_.options.rounding)) + ", policy " +
                                   std::string(emu::name_of(config_.options.policy)) + ", scale " + config_.scaling.word,
                       .command = {},
                       .blocks = {reports::Prose{{lead()}}},
                       .sections = {}};
    if (counts_.tensors > 1) page.blocks.emplace_back(by_format());
    if (results_.size() < counts_.tensors)
      page.blocks.emplace_back(reports::Prose{{"This page shows the " + std::to_string(results_.size()) +
                                               " tensors that lose most; census.csv and findings.csv have all " +
                                               std::to_string(counts_.tensors) + "."}});
    if (!results_.empty()) page.blocks.emplace_back(heat_map_of(tensors_, lead()));
    for (const TensorFate fate : {TensorFate::mended, TensorFate::few_bits, TensorFate::lossy})
      if (Section section = list_of(fate); !section.blocks.empty()) page.sections.push_back(std::move(section));
    if (Section all = groups(); !all.sections.empty()) page.sections.push_back(std::move(all));
    for (Section& section : tensors()) page.sections.push_back(std::move(section));
    return page;
  }

 private:
  std::string lead() const {
    const std::size_t formats = counts_.formats.size(), pairs = counts_.tensors * formats;
    std::string text = std::to_string(counts_.tensors) + (counts_.tensors == 1 ? " tensor" : " tensors") + " in " +
                       std::to_string(formats) + (formats == 1 ? " format" : " formats");
    const std::string at = tensors_.scale_words();
    const auto said = [&](TensorFate fate, bool one) -> std::string {
      switch (fate) {
        case TensorFate::fits: return (one ? "fits at " : "fit at ") + at;
        case TensorFate::mended:
          return one ? "is bad at scale 1 and mended by a scale 2^k" : "are bad at scale 1 and mended by a scale 2^k";
        case TensorFate::few_bits:
          return one ? "loses nothing, but much of it is subnormal" : "lose nothing, but much of them is subnormal";
        case TensorFate::lossy: break;
      }
      if (!tensors_.swept()) return (one ? "is lossy at " : "are lossy at ") + at;
      return one ? "stays lossy at every scale tried" : "stay lossy at every scale tried";
    };
    std::vector<std::string> parts;
    for (const TensorFate fate : {TensorFate::lossy, TensorFate::mended, TensorFate::few_bits, TensorFate::fits})
      if (const std::size_t n = counts_.of(fate); n != 0)
        parts.push_back((n == pairs && n > 1 ? "all" : std::to_string(n)) + " " + said(fate, n == 1));
    if (pairs > 1) text += ": of " + std::to_string(pairs) + " pairs";
    for (std::size_t i = 0; i < parts.size(); ++i) text += (i > 0 ? "; " : pairs > 1 ? ", " : ": ") + parts[i];
    return text + ".";
  }

  reports::Table by_format() const {
    reports::Table table{"formats", {"format"}, {}};
    constexpr std::array fates{TensorFate::fits, TensorFate::mended, TensorFate::few_bits, TensorFate::lossy};
    std::vector<TensorFate> present;
    for (const TensorFate fate : fates)
      if (counts_.of(fate) != 0) present.push_back(fate);
    for (const TensorFate fate : present) table.columns.push_back(tensors_.words_of(fate));
    for (const FateCounts::OfFormat& of_format : counts_.formats) {
      std::vector<reports::Cell> row{emu::format_name(of_format.format)};
      for (const TensorFate fate : present) row.push_back(reports::whole(of_format.of_fate[static_cast<std::size_t>(fate)]));
      table.rows.push_back(std::move(row));
    }
    return table;
  }

  /// A table of the pairs of this fate; no blocks where there are none.
  Section list_of(TensorFate fate) const {
    reports::Table table{"pairs", {"tensor", "format", "lost as given, %"}, {}};
    if (tensors_.swept()) table.columns.insert(table.columns.end(), {"best scale", "lost there, %", "subnormal there, %"});
    if (!tensors_.swept()) table.columns.emplace_back("subnormal, %");
    if (config_.nodes) table.columns.emplace_back("given by");
    for (std::size_t i = 0; i < results_.size(); ++i)
      for (const Judged& judged : judged_[i]) {
        if (judged.fate != fate) continue;
        std::vector<reports::Cell> row{results_[i].tensor.label, emu::format_name(judged.row->format),
                                       lost_percent(judged.row->sums, judged.row->format)};
        if (tensors_.swept()) {
          row.emplace_back(judged.best == nullptr ? "" : power_of_two_words(judged.best->log2_scale));
          row.emplace_back(lost_percent(judged.sums(), judged.row->format));
        }
        row.emplace_back(percent_of(judged.sums(), Outcome::subnormal));
        if (config_.nodes) {
          const auto node = config_.nodes->find(results_[i].tensor.label);
          row.emplace_back(node == config_.nodes->end() ? std::string() : node_words(node->second));
        }
        table.rows.push_back(std::move(row));
      }
    if (table.rows.empty()) return {};
    constexpr std::array ids{"fits", "mended", "few-bits", "lossy"};
    std::string title = tensors_.words_of(fate);
    title.front() = static_cast<char>(title.front() - 'a' + 'A');
    const std::size_t all = counts_.of(fate);
    std::string note = std::to_string(all) + (all == 1 ? " pair" : " pairs");
    if (table.rows.size() < all) note += ", " + std::to_string(table.rows.size()) + " of them shown";
    return {.id = ids[static_cast<std::size_t>(fate)],
            .title = title,
            .note = std::move(note),
            .fold = Section::Fold::closed,
            .blocks = {std::move(table)}};
  }

  /// Of one of the tensors, or of the groups.
  Section section(const JudgedTensors& of, std::size_t i, const std::string& id) const {
    const TensorResults& found = of.results()[i];
    Section section{.id = id,
                    .title = of.parts(i).leaf,
                    .fold = of.results().size() > few_tensors ? Section::Fold::closed : Section::Fold::none};
    std::vector<Finding> findings;
    for (const Judged& judged : of.judged()[i]) {
      Finding finding = finding_of(*judged.row, config_.scaling, of.parts(i).leaf);
      finding.sentence = of.sentence(i, judged);
      findings.push_back(std::move(finding));
    }
    std::stable_sort(findings.begin(), findings.end(),
                     [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
    section.mark = findings.empty() ? Severity::good : findings.front().severity;
    const bool with_files = of.results().size() <= most_with_files;
    section.blocks.emplace_back(reports::Prose{{found.tensor.label + ": " + facts_of(found)}});
    section.blocks.emplace_back(reports::FindingList{std::move(findings)});
    section.blocks.emplace_back(histogram_of(found, with_files ? id + "_exponents" : std::string()));
    if (!found.sweep.empty()) section.blocks.emplace_back(window_of(found, with_files ? id + "_scales" : std::string()));
    section.blocks.emplace_back(census_table(found.census, config_.scaling, config_.options, config_.nodes.get()));
    return section;
  }

  Section groups() const {
    Section all{.id = "groups", .title = "Groups", .fold = Section::Fold::closed};
    for (std::size_t i = 0; i < groups_.results().size(); ++i)
      all.sections.push_back(section(groups_, i, "group-" + std::to_string(i + 1)));
    return all;
  }

  /// A section for each file, in it one for each layer, in these the tensors.
  std::vector<Section> tensors() const {
    std::vector<Section> files;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      const NameParts& parts = tensors_.parts(i);
      Section& file = named(files, parts.file, "file-", Section::Fold::none);
      std::vector<Section>& within =
          parts.layer.empty() ? file.sections
                              : named(file.sections, parts.layer, file.id + "-layer-", Section::Fold::closed).sections;
      within.push_back(section(tensors_, i, id_of_section(i)));
    }
    for (Section& file : files)
      for (Section& layer : file.sections) summarize(layer);
    return files;
  }

  static Section& named(std::vector<Section>& sections, const std::string& title, const std::string& id, Section::Fold fold) {
    const auto at =
        std::find_if(sections.begin(), sections.end(), [&](const Section& s) { return s.title == title && !s.mark; });
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

  const JudgedTensors& tensors_;
  const std::vector<TensorResults>& results_;
  const std::vector<std::vector<Judged>>& judged_;
  const CensusPageConfig& config_;
  const FateCounts& counts_;
  const JudgedTensors& groups_;
};

}  // namespace

reports::Page census_page(const JudgedTensors& shown, const FateCounts& counts, const JudgedTensors& groups) {
  return CensusPage(shown, counts, groups).page();
}

reports::Page census_page(const std::vector<TensorResults>& results, const CensusPageConfig& config) {
  const JudgedTensors judged(results, config);
  FateCounts counts;
  for (const std::vector<Judged>& of_tensor : judged.judged()) counts.add(of_tensor);
  return census_page(judged, counts, JudgedTensors({}, config));
}

}  // namespace ulpscope::studies

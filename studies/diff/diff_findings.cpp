// SPDX-License-Identifier: Apache-2.0
// Sentences of counts, and shares of elements in columns of ulps.
#include "studies/diff/diff_findings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "emu/names.hpp"
#include "reports/columns.hpp"
#include "studies/census/sweep.hpp"

namespace ulpscope::studies {
namespace {

using reports::Finding;
using reports::HeatMap;
using reports::Severity;

constexpr std::size_t most_rows = 40;  // of the figure

std::string counted(std::uint64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// `3 of 10 elements differ`
std::string differing_of(const DiffResult& r) {
  return r.equal == r.count ? "all " + counted(r.count, "element") + " are equal"
                            : std::to_string(r.count - r.equal) + " of " + counted(r.count, "element") +
                                  (r.count - r.equal == 1 ? " differs" : " differ");
}

/// What is said of the worst tensor, or of the only one.
std::string sentence_of(const DiffResult& r) {
  std::string text = r.output + " beside " + r.reference + ": " + differing_of(r);
  if (r.worst.empty()) return text + ".";
  const DiffElement& worst = r.worst.front();
  const std::string unit = r.are_integers ? "" : " ulp of " + emu::format_name(r.format);
  if (std::isfinite(worst.error_ulp)) text += ", by up to " + digits(std::fabs(worst.error_ulp)) + unit;
  text += ", the worst at " + place_text(worst.index, r.shape);
  if (r.nonfinite_unlike != 0)
    text += "; in " + std::to_string(r.nonfinite_unlike) + " of them an infinity or a NaN is another number";
  if (std::isfinite(r.sqnr_db)) text += "; " + digits(r.sqnr_db, 3) + " dB";
  return text + ".";
}

/// Elements of a row that are off by so much; of integers an ulp is 1.
struct Band {
  const char* name;
  HeatMap::Shade shade;
  const char* words;
};
constexpr std::array bands{
    Band{"equal", HeatMap::Shade::good, "equal"},        Band{"<= 1", HeatMap::Shade::reduced, "up to 1 ulp off"},
    Band{"<= 2", HeatMap::Shade::mended, "up to 2"},     Band{"<= 10", HeatMap::Shade::slight, "up to 10"},
    Band{"<= 100", HeatMap::Shade::marked, "up to 100"}, Band{"more", HeatMap::Shade::severe, "more, infinite or NaN"}};

std::array<double, bands.size()> counts_of(const reports::Columns& columns, const std::vector<reports::Cell>& row) {
  const double differing = columns.number(row, "differing"), beyond_1 = columns.number(row, "beyond_1_ulp"),
               beyond_2 = columns.number(row, "beyond_2_ulp"), beyond_10 = columns.number(row, "beyond_10_ulp"),
               beyond_100 = columns.number(row, "beyond_100_ulp");
  return {columns.number(row, "equal"), differing - beyond_1,   beyond_1 - beyond_2,
          beyond_2 - beyond_10,         beyond_10 - beyond_100, beyond_100};
}

/// A share in few letters: what is not all or nothing never reads so.
std::string percent_of_share(double share) {
  const double percents = 100 * share;
  if (share == 1) return "100";
  if (percents < 0.1) return "<0.1";
  if (percents > 99.9) return ">99.9";
  return digits(percents, percents < 1 ? 1 : percents < 10 ? 2 : 3);
}

}  // namespace

std::vector<Finding> diff_findings(const CheckpointDiff& result, const std::string& tolerance) {
  const Tolerance allowed = parse_tolerance(tolerance);
  const std::vector<DiffResult>& all = result.differences;
  const auto beyond = std::ranges::count_if(all, [&](const DiffResult& r) { return r.fails(allowed); });
  const auto differing = std::ranges::count_if(all, [](const DiffResult& r) { return r.equal != r.count; });
  const std::string rule = tolerance.empty() ? "chosen: nothing may differ" : "chosen: --tolerance " + tolerance;
  const auto severity = [](bool fails) { return fails ? Severity::bad : Severity::good; };
  std::vector<Finding> findings;
  if (all.size() > 1) {
    std::string sentence = differing == 0
                               ? "All " + std::to_string(all.size()) + " tensors are equal."
                               : std::to_string(differing) + " of " + std::to_string(all.size()) +
                                     (differing == 1 ? " tensors differs" : " tensors differ") + (tolerance.empty() ? "." : "");
    if (differing != 0 && !tolerance.empty())
      sentence += beyond == 0 ? ", none beyond " + tolerance + "."
                              : ", " + std::to_string(beyond) + " of them beyond " + tolerance + ".";
    findings.push_back({.what = "tensors",
                        .where = "all tensors",
                        .value = reports::whole(static_cast<std::uint64_t>(beyond)),
                        .threshold = reports::whole(0),
                        .source = rule,
                        .severity = severity(beyond != 0),
                        .sentence = std::move(sentence)});
  }
  if (!all.empty() && (all.size() == 1 || differing != 0)) {
    const DiffResult& worst = all.front();
    findings.push_back({.what = "differing",
                        .where = worst.reference,
                        .value = reports::whole(worst.count - worst.equal),
                        .threshold = tolerance.empty() ? reports::whole(0) : reports::Cell(""),
                        .source = rule,
                        .severity = severity(worst.fails(allowed)),
                        .sentence = sentence_of(worst)});
  }
  if (!result.unmatched.empty())
    findings.push_back({.what = "unmatched",
                        .where = "all tensors",
                        .value = reports::whole(result.unmatched.size()),
                        .threshold = reports::whole(0),
                        .source = "chosen: both have the same names and shapes",
                        .severity = Severity::bad,
                        .sentence = counted(result.unmatched.size(), "tensor") +
                                    (result.unmatched.size() == 1 ? " is" : " are") +
                                    " missing, added, renamed or of another shape."});
  return findings;
}

std::vector<reports::Figure> diff_figures(const reports::Table& table) {
  const reports::Columns columns(table);
  HeatMap map{.columns = {}, .legend = {}, .groups = {}};
  for (const Band& band : bands) {
    map.columns.emplace_back(band.name);
    map.legend.push_back({band.shade, band.words});
  }
  HeatMap::Group group;
  for (std::size_t i = 0; i < std::min(table.rows.size(), most_rows); ++i) {
    const std::vector<reports::Cell>& row = table.rows[i];
    const std::string tensor = columns.text(row, "ref");
    const double count = columns.number(row, "count");
    HeatMap::Row line{.name = tensor.substr(tensor.find_last_of("/:") + 1), .title = tensor, .link = {}, .cells = {}};
    const std::array<double, bands.size()> counts = counts_of(columns, row);
    for (std::size_t band = 0; band < bands.size(); ++band) {
      HeatMap::Cell& cell = line.cells.emplace_back();
      cell.title = tensor + ", " + bands[band].words + ": " + digits(counts[band], 15) + " of " + digits(count, 15);
      if (counts[band] > 0) cell.shade = bands[band].shade, cell.text = percent_of_share(counts[band] / count);
    }
    group.rows.push_back(std::move(line));
  }
  if (group.rows.empty()) return {};
  map.groups = {std::move(group)};
  std::string caption = "Of each tensor, the percentage of its elements.";
  if (table.rows.size() > most_rows) caption += " The first " + std::to_string(most_rows) + " tensors of the table.";
  return {
      {.name = "ulps",
       .title = "By how many units in the last place elements are off",
       .caption = std::move(caption),
       .description = "A row for each tensor; a column for elements that are equal, up to 1, 2, 10 and 100 ulp off, and more.",
       .data = std::move(map)}};
}

}  // namespace ulpscope::studies

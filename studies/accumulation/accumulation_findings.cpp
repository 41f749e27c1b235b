// SPDX-License-Identifier: Apache-2.0
// What is seen in the rows of the accumulation study: numbers, and sentences made of them.
#include <algorithm>
#include <cmath>
#include <optional>

#include "emu/catalogue.hpp"
#include "emu/names.hpp"
#include "studies/accumulation/accumulation_grid.hpp"
#include "studies/accumulation/accumulation_page.hpp"
#include "studies/census/sweep.hpp"

namespace ulpscope::studies {
namespace {

using reports::Finding;
using reports::Severity;

constexpr int narrow_bits = 8;

/// Two significant digits, or a whole number.
std::string number(double value) {
  return value >= 100 && std::isfinite(value) ? std::to_string(std::llround(value)) : digits(value, 2);
}

std::string listed(const std::vector<std::string>& parts) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) out += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return out;
}

/// A number for each distribution of which there is one.
struct ByDistribution {
  std::vector<std::pair<std::string, double>> values;

  bool empty() const { return values.empty(); }
  /// `0.066 (uniform:0,1), ...`
  std::string words() const {
    std::vector<std::string> parts;
    for (const auto& [distribution, value] : values) parts.push_back(number(value) + " (" + distribution + ")");
    return listed(parts);
  }
  const std::pair<std::string, double>& most() const {
    return *std::max_element(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  }
  const std::pair<std::string, double>& least() const {
    return *std::min_element(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  }
};

template <class Value>
ByDistribution by_distribution(const AccumulationGrid& grid, Value value) {
  ByDistribution out;
  for (std::size_t d = 0; d < grid.config().distributions.size(); ++d)
    if (const double v = value(d); !std::isnan(v)) out.values.emplace_back(grid.config().distributions[d], v);
  return out;
}

std::string k_text(const AccumulationGrid& grid) { return "K = " + std::to_string(grid.config().lengths.back()); }
std::string at_longest(const AccumulationGrid& grid) { return "At " + k_text(grid); }

std::optional<std::size_t> find(const AccumulationGrid& grid, const Accumulation& wanted) {
  const auto& all = grid.config().accumulations;
  const auto at = std::find(all.begin(), all.end(), wanted);
  return at == all.end() ? std::nullopt : std::optional(static_cast<std::size_t>(at - all.begin()));
}

/// Where an engine loses more than the rounding of its inputs did: `from K = 512 on with uniform:0,1`, `at every K with ...`.
std::string beyond_rounding(const AccumulationGrid& grid, std::size_t accumulation) {
  std::vector<std::string> parts;
  for (std::size_t k = 0; k < grid.config().lengths.size(); ++k) {
    std::vector<std::string> here;
    for (std::size_t d = 0; d < grid.config().distributions.size(); ++d) {
      const auto loses = [&](std::size_t at) {
        return grid.at(accumulation, d, at).errors.frobenius > grid.at(accumulation, d, at).errors.rounding;
      };
      bool from_here_on = k == 0 || !loses(k - 1);
      for (std::size_t later = k; later < grid.config().lengths.size(); ++later) from_here_on = from_here_on && loses(later);
      if (from_here_on) here.push_back(grid.config().distributions[d]);
    }
    const std::string from = k == 0 ? "at every K" : "from K = " + std::to_string(grid.config().lengths[k]) + " on";
    if (!here.empty()) parts.push_back(from + " with " + listed(here));
  }
  return listed(parts);
}

/// 8-bit engines beside the rounding of their inputs, the worst first.
void beside_rounding(const AccumulationGrid& grid, std::vector<Finding>& findings) {
  std::vector<Finding> own;
  for (std::size_t i = 0; i < grid.config().accumulations.size(); ++i) {
    const Accumulation& by = grid.config().accumulations[i];
    if (by.in.bits() > narrow_bits || by.promote != 0) continue;
    const auto quotients = by_distribution(grid, [&](std::size_t d) {
      const AccumulationErrors& e = grid.longest(i, d).errors;
      return e.rounding > 0 && e.nonfinite == 0 ? e.frobenius / e.rounding : std::nan("");
    });
    if (quotients.empty()) continue;
    const auto errors = by_distribution(grid, [&](std::size_t d) { return grid.longest(i, d).errors.frobenius; });
    const std::string where = beyond_rounding(grid, i);
    std::string sentence = at_longest(grid) + " " + words_of(by) + " errs by " + errors.words() + " of the product";
    sentence += where.empty() ? ", less than rounding the inputs did at every K."
                              : ": more than rounding the inputs did " + where + ".";
    own.push_back({.what = "error_over_input_rounding",
                   .where = words_of(by) + ", " + quotients.most().first + ", " + k_text(grid),
                   .value = quotients.most().second,
                   .threshold = 1.0,
                   .source = "derived: above 1 the accumulation errs by more than the rounding of its inputs",
                   .severity = where.empty() ? Severity::good : Severity::bad,
                   .sentence = sentence});
  }
  std::stable_sort(own.begin(), own.end(),
                   [](const Finding& a, const Finding& b) { return std::get<double>(a.value) > std::get<double>(b.value); });
  findings.insert(findings.end(), own.begin(), own.end());
}

/// Beside every promoted accumulation the one that is not.
void promotion(const AccumulationGrid& grid, std::vector<Finding>& findings) {
  for (std::size_t i = 0; i < grid.config().accumulations.size(); ++i) {
    Accumulation plain = grid.config().accumulations[i];
    if (plain.promote == 0) continue;
    plain.promote = 0;
    const auto without = find(grid, plain);
    if (!without) continue;
    const auto quotients = by_distribution(
        grid, [&](std::size_t d) { return grid.longest(*without, d).errors.frobenius / grid.longest(i, d).errors.frobenius; });
    if (quotients.empty()) continue;
    findings.push_back(
        {.what = "promotion_divides_error_by",
         .where = words_of(grid.config().accumulations[i]) + ", " + quotients.least().first + ", " + k_text(grid),
         .value = quotients.least().second,
         .threshold = 1.0,
         .source = "derived: below 1 promotion makes the error larger",
         .severity = quotients.least().second < 1 ? Severity::warning : Severity::good,
         .sentence = at_longest(grid) + " promotion every " + std::to_string(grid.config().accumulations[i].promote) +
                     " divides the error of " + words_of(plain) + " by " + quotients.words() + "."});
  }
}

void overflow(const AccumulationGrid& grid, std::vector<Finding>& findings) {
  for (std::size_t i = 0; i < grid.config().accumulations.size(); ++i)
    for (std::size_t d = 0; d < grid.config().distributions.size(); ++d)
      for (std::size_t k = 0; k < grid.config().lengths.size(); ++k) {
        const AccumulationRow& row = grid.at(i, d, k);
        if (row.errors.nonfinite == 0) continue;
        findings.push_back(
            {.what = "nonfinite",
             .where = words_of(row.accumulation) + ", " + row.distribution + ", K = " + std::to_string(row.length),
             .value = static_cast<std::int64_t>(row.errors.nonfinite),
             .threshold = std::int64_t{0},
             .source = "definition: the exact outputs are finite",
             .severity = Severity::bad,
             .sentence = "Outputs of " + words_of(row.accumulation) + " with " + row.distribution +
                         " are not finite from K = " + std::to_string(row.length) + " on."});
        break;
      }
}

void worst(const AccumulationGrid& grid, std::vector<Finding>& findings) {
  const AccumulationRow* row = nullptr;
  std::size_t nonfinite = 0;
  for (std::size_t i = 0; i < grid.config().accumulations.size(); ++i)
    for (std::size_t d = 0; d < grid.config().distributions.size(); ++d) {
      const AccumulationRow& candidate = grid.longest(i, d);
      nonfinite += candidate.errors.nonfinite != 0 ? 1 : 0;
      if (candidate.errors.nonfinite != 0) continue;
      if (row == nullptr || candidate.errors.frobenius > row->errors.frobenius) row = &candidate;
    }
  if (row == nullptr) return;
  const std::string where = words_of(row->accumulation) + ", " + row->distribution;
  const std::size_t products = grid.config().accumulations.size() * grid.config().distributions.size();
  const std::string of_finite = nonfinite == 0 ? "" : " of the products that are finite";
  const std::string others =
      nonfinite == 0 ? "" : "; " + std::to_string(nonfinite) + " of " + std::to_string(products) + " are not";
  findings.push_back({.what = "largest_rel_frobenius_error",
                      .where = where + ", " + k_text(grid),
                      .value = row->errors.frobenius,
                      .threshold = "",
                      .source = "",
                      .severity = nonfinite == 0 ? Severity::good : Severity::warning,
                      .sentence = at_longest(grid) + " the largest relative Frobenius error" + of_finite + " is " +
                                  number(row->errors.frobenius) + ": " + where + others + "."});
}

/// How many accumulations err to one side, of those that err.
void bias(const AccumulationGrid& grid, std::vector<Finding>& findings) {
  constexpr double all_of_it = 0.99;
  std::vector<std::string> parts;
  std::int64_t most = 0;
  std::string where;
  for (std::size_t d = 0; d < grid.config().distributions.size(); ++d) {
    std::int64_t one_sided = 0;
    for (std::size_t i = 0; i < grid.config().accumulations.size(); ++i) {
      const auto& e = grid.longest(i, d).errors;
      one_sided += e.nonfinite == 0 && -e.mean_signed_rel > all_of_it * e.mean_rel ? 1 : 0;
    }
    if (one_sided > most) most = one_sided, where = grid.config().distributions[d];
    if (one_sided > 0)
      parts.push_back(std::to_string(one_sided) + " of " + std::to_string(grid.config().accumulations.size()) + " with " +
                      grid.config().distributions[d]);
  }
  if (parts.empty()) return;
  findings.push_back({.what = "one_sided_accumulations",
                      .where = where + ", " + k_text(grid),
                      .value = most,
                      .threshold = std::int64_t{0},
                      .source = "chosen: the mean signed relative error is 99% of the mean relative error or more",
                      .severity = Severity::warning,
                      .sentence = at_longest(grid) + " the error is a bias for " + listed(parts) +
                                  ": outputs are too small, and the mean signed relative error is 99% of the mean relative "
                                  "error or more."});
}

void bounds(const AccumulationGrid& grid, std::vector<Finding>& findings) {
  std::size_t bounded = 0, beyond = 0;
  double nearest = 0;
  std::string where;
  for (const AccumulationRow& row : grid.rows()) {
    if (std::isnan(row.errors.bound) || row.errors.nonfinite != 0) continue;
    ++bounded;
    const double share = row.errors.componentwise / row.errors.bound;
    if (share > nearest)
      nearest = share, where = words_of(row.accumulation) + ", " + row.distribution + ", K = " + std::to_string(row.length);
    beyond += row.errors.componentwise > row.errors.bound ? 1 : 0;
  }
  if (bounded == 0) return;
  findings.push_back({.what = "error_over_bound",
                      .where = where,
                      .value = nearest,
                      .threshold = 1.0,
                      .source = "derived: emu/engine_bound.hpp",
                      .severity = beyond == 0 ? Severity::good : Severity::bad,
                      .sentence = "A bound on |C - exact| / (|A||B|) is derived for " + std::to_string(bounded) + " of " +
                                  std::to_string(grid.rows().size()) + " products; " +
                                  (beyond == 0 ? "none exceeds" : std::to_string(beyond) + " exceed") +
                                  " it, and the nearest comes to " + number(nearest) + " of it."});
}

/// The one published number that such a study is asked about.
void deepseek(const AccumulationGrid& grid, std::vector<Finding>& findings) {
  constexpr double published = 0.02;
  const auto& lengths = grid.config().lengths;
  const auto k = std::find(lengths.begin(), lengths.end(), std::size_t{4096});
  const auto hopper = find(grid, find_accumulation("sm_90", emu::e4m3, emu::float32, 0));
  if (k == lengths.end() || !hopper) return;
  const auto row = [&](std::size_t d) -> const AccumulationRow& {
    return grid.at(*hopper, d, static_cast<std::size_t>(k - lengths.begin()));
  };
  const auto largest = by_distribution(grid, [&](std::size_t d) { return row(d).errors.max_rel; });
  if (largest.empty()) return;
  findings.push_back(
      {.what = "max_rel_error",
       .where = "sm_90 on float8_e4m3fn, " + largest.most().first + ", K = 4096",
       .value = largest.most().second,
       .threshold = published,
       .source = "arXiv 2412.19437, 3.3.2: nearly 2% with K = 4096",
       .severity = largest.most().second > published ? Severity::warning : Severity::good,
       .sentence =
           "DeepSeek-V3 (arXiv 2412.19437, 3.3.2) reports a maximum relative error of nearly 2% for fp8 products with K = "
           "4096, "
           "without the distribution or the number of outputs. Here the maximum over " +
           std::to_string(row(0).elements) + " outputs of sm_90 on float8_e4m3fn is " + largest.words() +
           ", the relative Frobenius error " +
           by_distribution(grid, [&](std::size_t d) { return row(d).errors.frobenius; }).words() +
           ". With operands of both signs the maximum is set by the outputs nearest to 0 and grows with their number."});
}

}  // namespace

std::string words_of(const Accumulation& accumulation) {
  std::string words = accumulation.name + " on " + emu::format_name(accumulation.in);
  if (accumulation.engine.accumulator != emu::float32) words += " into " + emu::format_name(accumulation.engine.accumulator);
  if (accumulation.promote != 0) words += ", promoted every " + std::to_string(accumulation.promote);
  return words;
}

std::vector<Finding> accumulation_findings(const std::vector<AccumulationRow>& rows, const AccumulationConfig& config) {
  const AccumulationGrid grid(rows, config);
  std::vector<Finding> findings;
  beside_rounding(grid, findings);
  promotion(grid, findings);
  deepseek(grid, findings);
  overflow(grid, findings);
  worst(grid, findings);
  bias(grid, findings);
  bounds(grid, findings);
  return findings;
}

}  // namespace ulpscope::studies

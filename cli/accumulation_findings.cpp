// SPDX-License-Identifier: Apache-2.0
// What is seen in the rows of the accumulation study, as sentences made of their numbers.
#include <algorithm>
#include <cmath>
#include <optional>

#include "cli/accumulation_page.hpp"
#include "emu/catalogue.hpp"
#include "studies/census/sweep.hpp"

namespace ulpscope::cli {
namespace {

using studies::Accumulation;
using studies::AccumulationRow;

/// Two significant digits, or a whole number.
std::string number(double value) {
  return value >= 100 && std::isfinite(value) ? std::to_string(std::llround(value)) : studies::digits(value, 2);
}

std::string listed(const std::vector<std::string>& parts) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) out += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return out;
}

/// `0.066 (uniform:0,1), ...`: one number for each distribution of which there is one; nothing if there is none.
template <class Value>
std::string by_distribution(const AccumulationGrid& grid, Value value) {
  std::vector<std::string> parts;
  for (std::size_t d = 0; d < grid.config().distributions.size(); ++d)
    if (const double v = value(d); !std::isnan(v)) parts.push_back(number(v) + " (" + grid.config().distributions[d] + ")");
  return listed(parts);
}

std::string at_longest(const AccumulationGrid& grid) { return "At K = " + std::to_string(grid.config().lengths.back()); }

std::optional<std::size_t> find(const AccumulationGrid& grid, const Accumulation& wanted) {
  const auto& all = grid.config().accumulations;
  const auto at = std::find(all.begin(), all.end(), wanted);
  return at == all.end() ? std::nullopt : std::optional(static_cast<std::size_t>(at - all.begin()));
}

std::string worst(const AccumulationGrid& grid) {
  const AccumulationRow* row = nullptr;
  for (std::size_t i = 0; i < grid.config().accumulations.size(); ++i)
    for (std::size_t d = 0; d < grid.config().distributions.size(); ++d) {
      const AccumulationRow& candidate = grid.longest(i, d);
      if (candidate.errors.nonfinite != 0) continue;
      if (row == nullptr || candidate.errors.frobenius > row->errors.frobenius) row = &candidate;
    }
  if (row == nullptr) return at_longest(grid) + " no product is finite.";
  return at_longest(grid) + " the largest relative Frobenius error is " + number(row->errors.frobenius) + ": " +
         words_of(row->accumulation) + ", " + row->distribution + ".";
}

/// Beside every promoted accumulation the one that is not.
void promotion(const AccumulationGrid& grid, std::vector<std::string>& sentences) {
  for (std::size_t i = 0; i < grid.config().accumulations.size(); ++i) {
    Accumulation plain = grid.config().accumulations[i];
    if (plain.promote == 0) continue;
    plain.promote = 0;
    const auto without = find(grid, plain);
    if (!without) continue;
    const std::string quotients = by_distribution(
        grid, [&](std::size_t d) { return grid.longest(*without, d).errors.frobenius / grid.longest(i, d).errors.frobenius; });
    if (!quotients.empty())
      sentences.push_back(at_longest(grid) + " promotion every " + std::to_string(grid.config().accumulations[i].promote) +
                          " divides the error of " + words_of(plain) + " by " + quotients + ".");
  }
}

/// Where an 8-bit engine loses more than the rounding of its inputs did: `from K = 512 on with uniform:0,1`.
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
    if (!here.empty()) parts.push_back("from K = " + std::to_string(grid.config().lengths[k]) + " on with " + listed(here));
  }
  return listed(parts);
}

void beside_rounding(const AccumulationGrid& grid, std::vector<std::string>& sentences) {
  constexpr int narrow_bits = 8;
  for (std::size_t i = 0; i < grid.config().accumulations.size(); ++i) {
    const Accumulation& by = grid.config().accumulations[i];
    const std::string where = by.in.bits() > narrow_bits ? "" : beyond_rounding(grid, i);
    if (!where.empty())
      sentences.push_back("Accumulation on " + words_of(by) + " loses more than rounding the inputs did " + where + ".");
  }
}

/// How many accumulations err to one side, of those that err.
void bias(const AccumulationGrid& grid, std::vector<std::string>& sentences) {
  constexpr double all_of_it = 0.99;
  std::vector<std::string> parts;
  for (std::size_t d = 0; d < grid.config().distributions.size(); ++d) {
    std::size_t one_sided = 0;
    for (std::size_t i = 0; i < grid.config().accumulations.size(); ++i) {
      const auto& e = grid.longest(i, d).errors;
      one_sided += e.nonfinite == 0 && -e.mean_signed_rel > all_of_it * e.mean_rel ? 1 : 0;
    }
    if (one_sided > 0)
      parts.push_back(std::to_string(one_sided) + " of " + std::to_string(grid.config().accumulations.size()) + " with " +
                      grid.config().distributions[d]);
  }
  if (!parts.empty())
    sentences.push_back(
        at_longest(grid) + " the error is a bias for " + listed(parts) +
        ": outputs are too small, and the mean signed relative error is 99% of the mean relative error or more.");
}

std::string bounds(const AccumulationGrid& grid) {
  std::size_t bounded = 0, beyond = 0;
  double nearest = 0;
  for (const AccumulationRow& row : grid.rows()) {
    if (std::isnan(row.errors.bound) || row.errors.nonfinite != 0) continue;
    ++bounded;
    nearest = std::max(nearest, row.errors.componentwise / row.errors.bound);
    beyond += row.errors.componentwise > row.errors.bound ? 1 : 0;
  }
  return "A bound on |C - exact| / (|A||B|) is derived for " + std::to_string(bounded) + " of " +
         std::to_string(grid.rows().size()) + " products; " +
         (beyond == 0 ? "none exceeds" : std::to_string(beyond) + " exceed") + " it" +
         (bounded == 0 ? "." : ", and the nearest comes to " + number(nearest) + " of it.");
}

void overflow(const AccumulationGrid& grid, std::vector<std::string>& sentences) {
  for (std::size_t i = 0; i < grid.config().accumulations.size(); ++i)
    for (std::size_t d = 0; d < grid.config().distributions.size(); ++d)
      for (std::size_t k = 0; k < grid.config().lengths.size(); ++k) {
        const AccumulationRow& row = grid.at(i, d, k);
        if (row.errors.nonfinite == 0) continue;
        sentences.push_back("Outputs of " + words_of(row.accumulation) + " with " + row.distribution +
                            " are not finite from K = " + std::to_string(row.length) + " on.");
        break;
      }
}

/// The one published number that such a study is asked about.
void deepseek(const AccumulationGrid& grid, std::vector<std::string>& sentences) {
  const auto& lengths = grid.config().lengths;
  const auto k = std::find(lengths.begin(), lengths.end(), std::size_t{4096});
  const auto hopper = find(grid, studies::find_accumulation("sm_90", emu::e4m3, emu::float32, 0));
  if (k == lengths.end() || !hopper) return;
  const auto row = [&](std::size_t d) -> const AccumulationRow& {
    return grid.at(*hopper, d, static_cast<std::size_t>(k - lengths.begin()));
  };
  sentences.push_back(
      "DeepSeek-V3 (arXiv 2412.19437, 3.3.2) reports a maximum relative error of nearly 2% for fp8 products with K = 4096, "
      "without the distribution or the number of outputs. Here the maximum over " +
      std::to_string(row(0).elements) + " outputs of sm_90 on float8_e4m3fn is " +
      by_distribution(grid, [&](std::size_t d) { return row(d).errors.max_rel; }) + ", the relative Frobenius error " +
      by_distribution(grid, [&](std::size_t d) { return row(d).errors.frobenius; }) +
      ". With operands of both signs the maximum is set by the outputs nearest to 0 and grows with their number.");
}

}  // namespace

std::vector<std::string> accumulation_findings(const AccumulationGrid& grid) {
  std::vector<std::string> sentences{worst(grid)};
  promotion(grid, sentences);
  beside_rounding(grid, sentences);
  bias(grid, sentences);
  overflow(grid, sentences);
  sentences.push_back(bounds(grid));
  deepseek(grid, sentences);
  return sentences;
}

}  // namespace ulpscope::cli

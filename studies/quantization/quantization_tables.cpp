// SPDX-License-Identifier: Apache-2.0
// What the measurements say: the ranking as a table, a recommendation for each tensor with its reason, the answer in a
// sentence.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>

#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "studies/census/sweep.hpp"
#include "studies/quantization/quantization.hpp"

namespace ulpscope::studies {
namespace {

using reports::Table;

std::string number(double x) { return digits(x, 3); }

/// `rel_error_p50`, `rel_error_p99_9`
std::string quantile_column(double q) {
  std::string name = "rel_error_p" + digits(100 * q, 4);
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

Table ranking(const std::vector<Quantized>& rows) {
  std::array<std::string, told_quantiles.size()> quantile_columns;
  std::ranges::transform(told_quantiles, quantile_columns.begin(), quantile_column);
  Table table{"quantization", {}, {}};
  for (const Quantized& row : rows) {
    std::vector<reports::NamedCell> cells{{"tensor", row.tensor},
                                          {"element_bits", std::int64_t{row.format.bits()}},
                                          {"rank", std::int64_t{row.rank}},
                                          {"format", emu::format_name(row.format)},
                                          {"scale", row.scaling.word},
                                          {"bits_per_element", row.bits_per_element},
                                          {"count", reports::whole(row.count)},
                                          {"to_zero", reports::whole(row.to_zero)},
                                          {"overflow", reports::whole(row.overflow)},
                                          {"sqnr_db", row.sqnr_db}};
    for (std::size_t i = 0; i < quantile_columns.size(); ++i)
      cells.emplace_back(quantile_columns[i], static_cast<double>(row.relative_errors[i]));
    cells.emplace_back("max_rel_error", row.max_relative_error);
    table.add(cells);
  }
  return table;
}

/// The rows of each tensor.
std::vector<std::vector<Quantized>> by_tensor(const std::vector<Quantized>& rows) {
  std::vector<std::vector<Quantized>> all;
  for (const Quantized& row : rows) {
    if (all.empty() || all.back().front().tensor != row.tensor) all.emplace_back();
    all.back().push_back(row);
  }
  return all;
}

/// The row of most decibels among those that `counts`; null where there is none.
template <class Counts>
const Quantized* best(const std::vector<Quantized>& rows, Counts counts) {
  const Quantized* found = nullptr;
  for (const Quantized& row : rows)
    if (counts(row) && (found == nullptr || row.sqnr_db > found->sqnr_db)) found = &row;
  return found;
}

std::string share_lost(const Quantized& row) {
  if (row.overflow != 0)
    return number(100.0 * static_cast<double>(row.overflow) / static_cast<double>(row.count)) + "% overflow";
  return number(100.0 * static_cast<double>(row.to_zero) / static_cast<double>(row.count)) + "% become zero";
}

/// `2% overflow and 50% become zero`, behind `before`, where any do: of a choice, whose decibels hide that where a few elements
/// are far larger.
std::string losses_of(const Quantized& choice, const std::string& before) {
  const auto share = [&](std::uint64_t part) { return percent(part, choice.count); };
  std::string words;
  if (choice.overflow != 0) words = share(choice.overflow) + " overflow";
  if (choice.to_zero != 0) words += (words.empty() ? "" : " and ") + share(choice.to_zero) + " become zero";
  return words.empty() ? words : before + words;
}

/// `; left out are such as float8_e4m3fn, none (8 bits, 31.9 dB): they would lose its infinities or NaN`, of those that count
/// the one of most decibels.
template <class Counts>
std::string nearest_left_out(const std::vector<LeftOut>& left_out, Counts counts) {
  const LeftOut* found = nullptr;
  for (const LeftOut& each : left_out)
    if (counts(each.row) && (found == nullptr || each.row.sqnr_db > found->row.sqnr_db)) found = &each;
  if (found == nullptr) return {};
  return "; left out are such as " + name_of(found->row) + " (" + number(found->row.bits_per_element) + " bits, " +
         number(found->row.sqnr_db) + " dB): " + found->why;
}

/// What speaks for the choice: nothing with fewer bits does, and what its format does without a scale.
std::string comparison_of(const std::vector<Quantized>& rows, const Quantized& choice, const Requirement& wanted,
                          const std::vector<LeftOut>& left_out) {
  const auto is_narrower = [&](const Quantized& row) { return row.bits_per_element < choice.bits_per_element; };
  const Quantized* const narrower = best(rows, is_narrower);
  const std::string others = nearest_left_out(left_out, [&](const Quantized& row) {
    return is_narrower(row) && (narrower == nullptr || row.sqnr_db > narrower->sqnr_db);
  });
  std::string reason;
  reason = narrower == nullptr ? std::string("the fewest bits ") + (others.empty() ? "asked for" : "that are left") +
                                     " reach " + number(wanted.sqnr_db) + " dB"
                               : "with fewer bits " + name_of(*narrower) + " comes nearest: " + number(narrower->sqnr_db) +
                                     " dB" + (narrower->sqnr_db >= wanted.sqnr_db ? ", " + share_lost(*narrower) : "");
  reason += others;
  if (choice.scaling.rule == ScaleRule::none) return reason;
  for (const Quantized& row : rows)
    if (row.format == choice.format && row.scaling.rule == ScaleRule::none)
      reason += "; without a scale " + (row.overflow + row.to_zero == 0 ? number(row.sqnr_db) + " dB"
                                                                        : share_lost(row) + ", " + number(row.sqnr_db) + " dB");
  return reason;
}

std::string reason_of(const std::vector<Quantized>& rows, const Quantized& choice, bool reaches, const Requirement& wanted,
                      const std::vector<LeftOut>& left_out) {
  if (choice.count == 0) return "it has no elements";
  if (reaches) return comparison_of(rows, choice, wanted, left_out) + losses_of(choice, "; as stored ");
  return "none " + wanted.words() + "; the nearest is " + name_of(choice) + ", " + number(choice.sqnr_db) + " dB" +
         losses_of(choice, ", in which ") +
         nearest_left_out(left_out, [&](const Quantized& row) { return row.sqnr_db > choice.sqnr_db; });
}

reports::Finding finding_of(const Recommendation& recommendation, double wanted) {
  const Quantized& choice = recommendation.choice;
  return {.what = "sqnr_db",
          .where = choice.tensor + ", " + name_of(choice),
          .value = choice.sqnr_db,
          .threshold = wanted,
          .source =
              "asked for; by default 30: two operands of 30 dB change a product by sqrt(2e-3) of its norm, as DeepGEMM, "
              "tests/test_fp8_fp4.py, allows fp8 (1 - 2<x,y>/(<x,x> + <y,y>) < 1e-3)",
          .severity = recommendation.reaches ? reports::Severity::good : reports::Severity::warning,
          .sentence = choice.tensor + ": store it as " + name_of(choice) + " (" + number(choice.bits_per_element) +
                      " bits an element, " + number(choice.sqnr_db) + " dB): " + recommendation.reason + "."};
}

/// `At 8 bits float8_e4m3fn, row ranks first in 3 of 4 tensors; ...`
std::string answer_of(const std::vector<Quantized>& rows) {
  std::map<int, std::map<std::string, int>, std::greater<>> firsts;
  std::map<int, int> tensors;
  for (const Quantized& row : rows)
    if (row.rank == 1 && row.finite != 0) ++firsts[row.format.bits()][name_of(row)], ++tensors[row.format.bits()];
  std::string answer;
  for (const auto& [bits, of_bits] : firsts) {
    const auto most =
        std::max_element(of_bits.begin(), of_bits.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    answer += std::string(answer.empty() ? "At " : "; at ") + std::to_string(bits) + " bits " + most->first +
              " ranks first in " + std::to_string(most->second) + " of " + std::to_string(tensors[bits]) +
              (tensors[bits] == 1 ? " tensor" : " tensors");
  }
  return answer.empty() ? "Nothing is ranked." : answer + ".";
}

}  // namespace

std::string name_of(const Quantized& row) { return emu::format_name(row.format) + ", " + row.scaling.word; }

std::string Requirement::words() const {
  return "reaches " + number(sqnr_db) + " dB" + (lost_share < 1 ? " with at most " + number(100 * lost_share) + "% lost" : "");
}

Recommendation recommend(const std::vector<Quantized>& rows, const Requirement& requirement,
                         const std::vector<LeftOut>& left_out) {
  const Quantized* choice = nullptr;
  for (const Quantized& row : rows) {
    if (!requirement.holds(row)) continue;
    const bool better = choice == nullptr || row.bits_per_element < choice->bits_per_element ||
                        (row.bits_per_element == choice->bits_per_element && row.sqnr_db > choice->sqnr_db);
    if (better) choice = &row;
  }
  const bool reaches = choice != nullptr;
  if (!reaches) choice = best(rows, [](const Quantized&) { return true; });
  return {.choice = *choice, .reaches = reaches, .reason = reason_of(rows, *choice, reaches, requirement, left_out)};
}

StudyResult run(const QuantizationRequest& request, const Progress& progress) {
  const std::vector<Quantized> rows = quantize(request, progress);
  StudyResult result{.tables = {ranking(rows)}, .remarks = {answer_of(rows)}};
  Table table{"recommendations", {"tensor", "sqnr_db_wanted", "format", "scale", "bits_per_element", "sqnr_db", "reason"}, {}};
  for (const std::vector<Quantized>& of_tensor : by_tensor(rows)) {
    if (of_tensor.front().finite == 0) {
      result.remarks.push_back(of_tensor.front().tensor + " has no finite number");
      continue;
    }
    std::vector<Quantized> kept;
    std::vector<LeftOut> others;
    for (const Quantized& row : of_tensor)
      if (std::string why = objection_to(row); why.empty())
        kept.push_back(row);
      else
        others.push_back({row, std::move(why)});
    if (kept.empty()) {
      const Quantized& first = of_tensor.front();
      result.remarks.push_back(first.tensor + ": none of these formats keeps it: " + objection_to(first));
      continue;
    }
    const Recommendation recommendation = recommend(kept, {.sqnr_db = request.sqnr_db}, others);
    const Quantized& choice = recommendation.choice;
    table.rows.push_back({choice.tensor, request.sqnr_db, emu::format_name(choice.format), choice.scaling.word,
                          choice.bits_per_element, choice.sqnr_db, recommendation.reason});
    result.findings.push_back(finding_of(recommendation, request.sqnr_db));
  }
  result.tables.push_back(std::move(table));
  if (const std::string line = left_out(request); !line.empty()) result.remarks.push_back(line);
  return result;
}

}  // namespace ulpscope::studies

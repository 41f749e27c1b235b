// SPDX-License-Identifier: Apache-2.0
// A census with a job for each format and scale.
#include "studies/census/sweep.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>
#include <utility>

#include "emu/bits.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"

namespace ulpscope::studies {
namespace {

constexpr int widest_exponent = 500;  // 2^k and its inverse stay far inside the range of a double

std::optional<int> parse_int(std::string_view word) {
  if (word.starts_with('+')) word.remove_prefix(1);
  int value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

}  // namespace

std::vector<int> ScaleRange::exponents() const {
  std::vector<int> out;
  for (int k = low; k <= high; k += step) out.push_back(k);
  return out;
}

ScaleRange parse_scale_range(std::string_view word) {
  const auto refuse = [&](const char* why) {
    return Error("--log2-scale '" + std::string(word) + "': " + why + "; LO:HI[:STEP] in whole numbers, e.g. -10:24");
  };
  std::vector<int> numbers;
  for (std::string_view rest = word;;) {
    const std::size_t colon = rest.find(':');
    const auto number = parse_int(rest.substr(0, colon));
    if (!number) throw refuse("not of the form");
    numbers.push_back(*number);
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  if (numbers.size() < 2 || numbers.size() > 3) throw refuse("not of the form");
  const ScaleRange range{numbers[0], numbers[1], numbers.size() == 3 ? numbers[2] : 1};
  if (range.step < 1) throw refuse("STEP is not positive");
  if (range.low > range.high) throw refuse("LO is above HI");
  if (range.low < -widest_exponent || range.high > widest_exponent) throw refuse("scales beyond 2^-500 ... 2^500");
  return range;
}

std::vector<Job> sweep_jobs(const tensors::Tensor& tensor, const ScaleRange& range, const CensusConfig& config) {
  std::vector<Job> jobs;
  for (const emu::Format format : config.formats)
    for (const int k : range.exponents()) {
      const Scaling scaling{.rule = k == 0 ? ScaleRule::none : ScaleRule::number, .number = emu::power_of_two(k), .word = {}};
      jobs.push_back({format, ScaleMap(scaling, format, tensor)});
    }
  return jobs;
}

std::vector<SweepRow> sweep(const tensors::Tensor& tensor, const ScaleRange& range, const CensusConfig& config) {
  const std::vector<ErrorSums> sums = run_jobs(tensor, sweep_jobs(tensor, range, config), config);
  std::vector<SweepRow> rows;
  for (const emu::Format format : config.formats)
    for (const int k : range.exponents()) rows.push_back({tensor.label, format, k, sums[rows.size()]});
  return rows;
}

reports::Table sweep_table(const std::vector<SweepRow>& rows, const emu::RoundingOptions& options) {
  reports::Table table{"sweep", {"tensor", "format", "rounding", "policy", "log2_scale"}, {}};
  for (const std::string& column : statistic_columns()) table.columns.push_back(column);
  for (const SweepRow& row : rows) {
    std::vector<reports::Cell> cells{row.tensor, emu::format_name(row.format), std::string(emu::name_of(options.rounding)),
                                     std::string(emu::name_of(options.policy)), std::int64_t{row.log2_scale}};
    for (reports::Cell& cell : statistic_cells(row.sums)) cells.push_back(std::move(cell));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace ulpscope::studies

// SPDX-License-Identifier: Apache-2.0
// Shares chunks among threads and chooses, job by job, exact sums or element by element.
#include "studies/census/census.hpp"

#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "emu/catalogue.hpp"
#include "emu/names.hpp"
#include "studies/census/binade_pass.hpp"
#include "studies/census/exact_totals.hpp"
#include "studies/census/round_and_count.hpp"
#include "tensors/parallel.hpp"

namespace ulpscope::studies {
namespace {

constexpr std::uint64_t chunk_elements = 1 << 16;  // sums are formed per chunk: changing this changes last bits
constexpr std::uint64_t chunks_in_flight = 64;     // bounds memory; changes nothing else

/// Calls partial(first, size) for every chunk, in parallel, and merge(result) in the order of the chunks.
template <class Partial, class Merge>
void for_each_chunk(std::uint64_t count, const CensusConfig& config, Partial partial, Merge merge) {
  const std::uint64_t chunks = (count + chunk_elements - 1) / chunk_elements;
  for (std::uint64_t batch = 0; batch < chunks; batch += chunks_in_flight) {
    const std::uint64_t batch_end = std::min(chunks, batch + chunks_in_flight);
    using Result = decltype(partial(std::uint64_t{0}, std::size_t{0}));
    std::vector<Result> results(static_cast<std::size_t>(batch_end - batch));
    tensors::for_each_index(results.size(), config.threads, [&](std::size_t i) {
      const std::uint64_t first = (batch + i) * chunk_elements;
      const auto size = static_cast<std::size_t>(std::min(chunk_elements, count - first));
      results[i] = partial(first, size);
    });
    for (const Result& result : results) merge(result);
    if (config.progress) config.progress(std::min(count, batch_end * chunk_elements));
  }
}

template <class Float>
std::vector<Float> read_chunk(const tensors::Tensor& tensor, std::uint64_t first, std::size_t size) {
  std::vector<Float> values(size);
  tensor.source->read(first, std::span(values));
  return values;
}

template <class Float>
std::vector<ErrorSums> run_in_order(const tensors::Tensor& tensor, const std::vector<Job>& jobs, const CensusConfig& config) {
  std::vector<ErrorSums> totals(jobs.size());
  for_each_chunk(
      tensor.count(), config,
      [&](std::uint64_t first, std::size_t size) {
        const std::vector<Float> values = read_chunk<Float>(tensor, first, size);
        std::vector<ErrorSums> sums(jobs.size());
        for (std::size_t j = 0; j < jobs.size(); ++j)
          sums[j] = round_and_count<Float>(std::span<const Float>(values), first, jobs[j].format, jobs[j].scales, tensor.dtype,
                                           config.options, config.seed);
        return sums;
      },
      [&](const std::vector<ErrorSums>& sums) {
        for (std::size_t j = 0; j < jobs.size(); ++j) totals[j].merge(sums[j]);
      });
  return totals;
}

/// The job as one whose sums can be exact.
std::optional<ScaledFormat> as_scaled_format(const tensors::Tensor& tensor, const Job& job, const CensusConfig& config) {
  if (config.options.rounding == emu::Rounding::stochastic || !tensor.dtype.fits_float()) return std::nullopt;
  if (job.format.fraction_bits > Binade::fraction_bits && job.format != emu::float64) return std::nullopt;
  const std::optional<int> k = job.scales.log2_uniform();
  return k ? std::optional(ScaledFormat{job.format, *k}) : std::nullopt;
}

std::vector<ErrorSums> run_exactly(const tensors::Tensor& tensor, const std::vector<ScaledFormat>& formats,
                                   const CensusConfig& config) {
  BinadeQuestion question{formats, config.options};
  if (config.options.subnormals_are_zero && tensor.dtype.format) question.input_least = tensor.dtype.format->min_exponent();
  tbb::enumerable_thread_specific<BinadePass> passes([&] { return BinadePass(question); });
  for_each_chunk(
      tensor.count(), config,
      [&](std::uint64_t first, std::size_t size) {
        std::span<const float> values = tensor.source->floats(first, size);
        std::vector<float> read;
        if (values.empty()) values = read = read_chunk<float>(tensor, first, size);
        passes.local().add(values, first);
        return 0;
      },
      [](int) {});
  tensor.source->check();
  BinadePass total(question);
  for (BinadePass& pass : passes) {
    pass.finish();
    total.merge(pass);
  }
  std::vector<ErrorSums> sums;
  for (const ScaledFormat& format : formats) sums.push_back(exact_totals(total, question, format));
  return sums;
}

}  // namespace

std::vector<ErrorSums> run_jobs(const tensors::Tensor& tensor, const std::vector<Job>& jobs, const CensusConfig& config) {
  std::vector<ScaledFormat> exact;
  std::vector<Job> others;
  std::vector<bool> is_exact;
  for (const Job& job : jobs) {
    const std::optional<ScaledFormat> format = as_scaled_format(tensor, job, config);
    is_exact.push_back(format.has_value());
    if (format)
      exact.push_back(*format);
    else
      others.push_back(job);
  }
  std::vector<ErrorSums> exact_sums, other_sums, sums;
  if (!exact.empty()) exact_sums = run_exactly(tensor, exact, config);
  if (!others.empty())
    other_sums =
        tensor.dtype.fits_float() ? run_in_order<float>(tensor, others, config) : run_in_order<double>(tensor, others, config);
  auto next_exact = exact_sums.begin(), next_other = other_sums.begin();
  for (const bool of_exact : is_exact) sums.push_back(of_exact ? *next_exact++ : *next_other++);
  return sums;
}

ExponentCounts count_exponents(const tensors::Tensor& tensor, const CensusConfig& config) {
  ExponentCounts total;
  for_each_chunk(
      tensor.count(), config,
      [&](std::uint64_t first, std::size_t size) {
        ExponentCounts part;
        for (const double x : read_chunk<double>(tensor, first, size)) {
          if (std::isnan(x))
            ++part.nan;
          else if (std::isinf(x))
            ++part.infinite;
          else if (x == 0)
            ++part.zeros;
          else
            ++part.counts[static_cast<std::size_t>(std::ilogb(x) - ExponentCounts::least)];
        }
        return part;
      },
      [&](const ExponentCounts& part) {
        for (std::size_t i = 0; i < part.counts.size(); ++i) total.counts[i] += part.counts[i];
        total.zeros += part.zeros;
        total.infinite += part.infinite;
        total.nan += part.nan;
      });
  return total;
}

std::vector<CensusRow> census(const tensors::Tensor& tensor, const Scaling& scaling, const CensusConfig& config) {
  std::vector<Job> jobs;
  for (const emu::Format format : config.formats) jobs.push_back({format, ScaleMap(scaling, format, tensor)});
  const std::vector<ErrorSums> sums = run_jobs(tensor, jobs, config);
  std::vector<CensusRow> rows;
  for (std::size_t j = 0; j < jobs.size(); ++j) rows.push_back({tensor.label, jobs[j].format, sums[j]});
  return rows;
}

std::vector<std::string> statistic_columns() {
  std::vector<std::string> columns{"count"};
  for (int i = 0; i < emu::outcome_count; ++i) columns.emplace_back(emu::name_of(static_cast<emu::Outcome>(i)));
  for (const char* name :
       {"max_abs_error", "mean_abs_error", "rms_error", "mean_signed_error", "max_rel_error", "mean_rel_error", "max_ulp_error",
        "sqnr_db", "sqnr_saturating_db", "max_abs_input", "min_abs_input"})
    columns.emplace_back(name);
  return columns;
}

std::vector<reports::Cell> statistic_cells(const ErrorSums& sums) {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const std::uint64_t finite = sums.finite();
  const auto over = [&](std::uint64_t n, bool lost, double value) { return n == 0 ? nan : lost ? inf : value; };
  const bool lost = sums.lost != 0;
  const double n = static_cast<double>(finite), n_nonzero = static_cast<double>(sums.nonzero);

  std::vector<reports::Cell> cells{static_cast<std::int64_t>(sums.count())};
  for (const std::uint64_t count : sums.counts) cells.emplace_back(static_cast<std::int64_t>(count));
  cells.emplace_back(over(finite, lost, sums.max_abs));
  cells.emplace_back(over(finite, lost, sums.sum_abs / n));
  cells.emplace_back(over(finite, lost, finite == 0 ? nan : root_mean(sums.error, finite)));
  cells.emplace_back(over(finite, lost, sums.sum_signed / n));
  cells.emplace_back(over(sums.nonzero, lost, sums.max_rel));
  cells.emplace_back(over(sums.nonzero, lost, sums.sum_rel / n_nonzero));
  cells.emplace_back(over(finite, lost, sums.max_ulp));
  cells.emplace_back(finite == 0 ? nan : lost ? -inf : decibels(sums.input, sums.error));
  cells.emplace_back(finite == 0 ? nan : sums.lost_when_saturating != 0 ? -inf : decibels(sums.input, sums.saturating_error));
  cells.emplace_back(finite == 0 ? nan : sums.largest.magnitude);
  cells.emplace_back(sums.nonzero == 0 ? nan : sums.smallest.magnitude);
  return cells;
}

reports::Table census_table(const std::vector<CensusRow>& rows, const Scaling& scaling, const emu::RoundingOptions& options) {
  reports::Table table{"census", {"tensor", "format", "rounding", "policy", "scale"}, {}};
  for (const std::string& column : statistic_columns()) table.columns.push_back(column);
  for (const CensusRow& row : rows) {
    std::vector<reports::Cell> cells{row.tensor, emu::format_name(row.format), std::string(emu::name_of(options.rounding)),
                                     std::string(emu::name_of(options.policy)), scaling.word};
    for (reports::Cell& cell : statistic_cells(row.sums)) cells.push_back(std::move(cell));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace ulpscope::studies

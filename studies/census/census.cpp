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
#include "tensors/chunk.hpp"
#include "tensors/parallel.hpp"

namespace ulpscope::studies {
namespace {

constexpr std::uint64_t chunks_in_flight = 64;     // bounds memory; changes nothing else

/// Calls partial(first, size) for every chunk of a part, in parallel, and merge(result) in the order of the chunks.
template <class Partial, class Merge>
void for_each_chunk(const ElementRange& part, const CensusConfig& config, Partial partial, Merge merge) {
  const std::uint64_t chunks = (part.count + chunk_elements - 1) / chunk_elements;
  for (std::uint64_t batch = 0; batch < chunks; batch += chunks_in_flight) {
    const std::uint64_t batch_end = std::min(chunks, batch + chunks_in_flight);
    using Result = decltype(partial(std::uint64_t{0}, std::size_t{0}));
    std::vector<Result> results(static_cast<std::size_t>(batch_end - batch));
    tensors::for_each_index(results.size(), config.threads, [&](std::size_t i) {
      const std::uint64_t done = (batch + i) * chunk_elements;
      results[i] = partial(part.first + done, static_cast<std::size_t>(std::min(chunk_elements, part.count - done)));
    });
    for (Result& result : results) merge(std::move(result));
    if (config.progress) config.progress(std::min(part.count, batch_end * chunk_elements));
  }
}

template <class Float>
std::vector<PartialSums> run_in_order(const tensors::Tensor& tensor, const std::vector<Job>& jobs, const CensusConfig& config,
                                      const ElementRange& part) {
  std::vector<PartialSums> totals(jobs.size());
  std::uint64_t chunk = part.first / chunk_elements;
  for_each_chunk(
      part, config,
      [&](std::uint64_t first, std::size_t size) {
        const tensors::Chunk<Float> read(tensor, first, size);
        std::vector<ErrorSums> sums(jobs.size());
        for (std::size_t j = 0; j < jobs.size(); ++j)
          sums[j] =
              round_and_count(read.values(), first, jobs[j].format, jobs[j].scales, tensor.dtype, config.options, config.seed);
        return sums;
      },
      [&](const std::vector<ErrorSums>& sums) {
        for (std::size_t j = 0; j < jobs.size(); ++j) totals[j].add({chunk, 0, sums[j]});
        ++chunk;
      });
  tensor.source->check();
  return totals;
}

/// The job as one whose sums can be exact.
std::optional<ScaledFormat> as_scaled_format(const tensors::Tensor& tensor, const Job& job, const CensusConfig& config) {
  if (config.options.rounding == emu::Rounding::stochastic || !tensor.dtype.fits_float()) return std::nullopt;
  if (job.format.fraction_bits > Binade::fraction_bits && job.format != emu::float64) return std::nullopt;
  if (!has_exact_totals(job.format)) return std::nullopt;
  const std::optional<int> k = job.scales.log2_uniform();
  return k ? std::optional(ScaledFormat{job.format, *k}) : std::nullopt;
}

std::vector<PartialSums> run_exactly(const tensors::Tensor& tensor, const std::vector<ScaledFormat>& formats,
                                     const CensusConfig& config, const ElementRange& part) {
  BinadeQuestion question{formats, config.options};
  if (config.options.subnormals_are_zero && tensor.dtype.format) question.input_least = tensor.dtype.format->min_exponent();
  tbb::enumerable_thread_specific<BinadePass> passes([&] { return BinadePass(question); });
  for_each_chunk(
      part, config,
      [&](std::uint64_t first, std::size_t size) {
        passes.local().add(tensors::Chunk<float>(tensor, first, size).values(), first);
        return 0;
      },
      [](int) {});
  tensor.source->check();
  BinadePass total(question);
  for (BinadePass& pass : passes) {
    pass.finish();
    total.merge(pass);
  }
  std::vector<PartialSums> sums;
  for (const ScaledFormat& format : formats) sums.emplace_back(exact_totals(total, question, format));
  return sums;
}

}  // namespace

std::vector<PartialSums> run_jobs(const tensors::Tensor& tensor, const std::vector<Job>& jobs, const CensusConfig& config,
                                  const ElementRange& part) {
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
  std::vector<PartialSums> exact_sums, other_sums, sums;
  if (!exact.empty()) exact_sums = run_exactly(tensor, exact, config, part);
  if (!others.empty())
    other_sums = tensor.dtype.fits_float() ? run_in_order<float>(tensor, others, config, part)
                                           : run_in_order<double>(tensor, others, config, part);
  auto next_exact = exact_sums.begin(), next_other = other_sums.begin();
  for (const bool of_exact : is_exact) sums.push_back(of_exact ? *next_exact++ : *next_other++);
  return sums;
}

std::vector<ErrorSums> run_jobs(const tensors::Tensor& tensor, const std::vector<Job>& jobs, const CensusConfig& config) {
  std::vector<ErrorSums> sums;
  for (const PartialSums& of_job : run_jobs(tensor, jobs, config, {0, tensor.count()})) sums.push_back(of_job.finish());
  return sums;
}

ScaledSums run_scaled(const tensors::Tensor& tensor, const Scaling& scaling, const CensusConfig& config,
                      const ElementRange& part) {
  const std::uint64_t held = elements_of_blocks(scaling.rule, tensor, config.most_blocks);
  const std::uint64_t piece =
      held >= part.count ? part.count : std::max(held / chunk_elements, std::uint64_t{1}) * chunk_elements;
  Scaling known = scaling;
  if (piece < part.count && has_tensor_scale(scaling.rule) && !known.shared_amax)
    known.shared_amax = amax_of(tensor, {}, config.threads);
  ScaledSums all{std::vector<PartialSums>(config.formats.size()), {}};
  CensusConfig told = config;
  std::uint64_t done = 0;
  do {
    const std::uint64_t size = std::min(piece, part.count - done);
    const ElementRange here{part.first + done, size};
    std::vector<Job> jobs;
    for (const emu::Format format : config.formats)
      jobs.push_back({format, ScaleMap(known, format, tensor, config.threads, here)});
    if (config.progress) told.progress = [&](std::uint64_t of_piece) { config.progress(done + of_piece); };
    const std::vector<PartialSums> sums = run_jobs(tensor, jobs, told, here);
    for (std::size_t j = 0; j < jobs.size(); ++j) all.sums[j].merge(sums[j]);
    if (done == 0)
      for (const Job& job : jobs) all.tensor_scales.push_back(job.scales.of_tensor(scaling.rule));
    done += size;
  } while (done < part.count);
  return all;
}

ExponentCounts count_exponents(const tensors::Tensor& tensor, const CensusConfig& config) {
  return count_exponents(tensor, config, {0, tensor.count()});
}

void ExponentCounts::merge(const ExponentCounts& other) {
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
  zeros += other.zeros;
  infinite += other.infinite;
  nan += other.nan;
}

reports::Table exponent_table(const std::string& tensor, const ExponentCounts& counts) {
  reports::Table table{"exponents", {"tensor", "exponent", "count"}, {}};
  for (std::size_t i = 0; i < counts.counts.size(); ++i)
    if (counts.counts[i] != 0)
      table.rows.push_back({tensor, static_cast<std::int64_t>(i) + ExponentCounts::least, reports::whole(counts.counts[i])});
  return table;
}

ExponentCounts count_exponents(const tensors::Tensor& tensor, const CensusConfig& config, const ElementRange& part) {
  ExponentCounts total;
  for_each_chunk(
      part, config,
      [&](std::uint64_t first, std::size_t size) {
        ExponentCounts found;
        const tensors::Chunk<double> read(tensor, first, size);
        for (const double x : read.values()) {
          if (std::isnan(x))
            ++found.nan;
          else if (std::isinf(x))
            ++found.infinite;
          else if (x == 0)
            ++found.zeros;
          else
            ++found.counts[static_cast<std::size_t>(std::ilogb(x) - ExponentCounts::least)];
        }
        return found;
      },
      [&](const ExponentCounts& counts) { total.merge(counts); });
  return total;
}

std::vector<CensusRow> census(const tensors::Tensor& tensor, const Scaling& scaling, const CensusConfig& config) {
  const std::vector<PartialSums> sums = run_scaled(tensor, scaling, config, {0, tensor.count()}).sums;
  std::vector<CensusRow> rows;
  for (std::size_t j = 0; j < sums.size(); ++j) rows.push_back({tensor.label, config.formats[j], sums[j].finish()});
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
  const double n_nonzero = static_cast<double>(sums.nonzero);

  std::vector<reports::Cell> cells{static_cast<std::int64_t>(sums.count())};
  for (const std::uint64_t count : sums.counts) cells.emplace_back(static_cast<std::int64_t>(count));
  cells.emplace_back(over(finite, lost, sums.max_abs));
  cells.emplace_back(over(finite, lost, sums.large_abs.mean(sums.sum_abs, finite)));
  cells.emplace_back(over(finite, lost, finite == 0 ? nan : root_mean(sums.error, finite)));
  cells.emplace_back(over(finite, lost, sums.large_signed.mean(sums.sum_signed, finite)));
  cells.emplace_back(over(sums.nonzero, lost, sums.max_rel));
  cells.emplace_back(over(sums.nonzero, lost, sums.sum_rel / n_nonzero));
  cells.emplace_back(over(finite, lost, sums.max_ulp));
  cells.emplace_back(finite == 0 ? nan : lost ? -inf : decibels(sums.input, sums.error));
  cells.emplace_back(finite == 0 ? nan : sums.lost_when_saturating != 0 ? -inf : decibels(sums.input, sums.saturating_error));
  cells.emplace_back(finite == 0 ? nan : sums.largest.magnitude);
  cells.emplace_back(sums.nonzero == 0 ? nan : sums.smallest.magnitude);
  return cells;
}

reports::Table census_table(const std::vector<CensusRow>& rows, const Scaling& scaling, const emu::RoundingOptions& options,
                            const ValueNodes* nodes) {
  reports::Table table{"census", {"tensor", "format", "rounding", "policy", "scale"}, {}};
  for (const std::string& column : statistic_columns()) table.columns.push_back(column);
  if (nodes != nullptr) table.columns.insert(table.columns.end(), {"operator", "node"});
  for (const CensusRow& row : rows) {
    std::vector<reports::Cell> cells{row.tensor, emu::format_name(row.format), std::string(emu::name_of(options.rounding)),
                                     std::string(emu::name_of(options.policy)), scaling.word};
    for (reports::Cell& cell : statistic_cells(row.sums)) cells.push_back(std::move(cell));
    if (nodes != nullptr) {
      const auto found = nodes->find(row.tensor);
      const ValueNode node = found == nodes->end() ? ValueNode{} : found->second;
      cells.insert(cells.end(), {node.op, node.name});
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace ulpscope::studies

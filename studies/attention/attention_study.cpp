// SPDX-License-Identifier: Apache-2.0
// The study: its fields, its parts in threads, tables and sentences.
#include <algorithm>
#include <array>
#include <functional>
#include <mutex>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "studies/attention/attention.hpp"
#include "studies/census/sweep.hpp"
#include "tensors/parallel.hpp"

namespace ulpscope::studies {
namespace {

using reports::Table;

constexpr std::array key_orders{KeyOrder::drawn, KeyOrder::descending, KeyOrder::ascending};
constexpr std::array degrees{0, 3, 4, 5};

std::string name_of(Granularity granularity) {
  switch (granularity) {
    case Granularity::none: return "none";
    case Granularity::tensor: return "tensor";
    case Granularity::token: return "token";
    case Granularity::channel: return "channel";
  }
  return {};
}

std::string name_of(KeyOrder order) {
  return order == KeyOrder::drawn ? "drawn" : order == KeyOrder::descending ? "descending" : "ascending";
}

std::int64_t whole(std::uint64_t n) { return static_cast<std::int64_t>(n); }
struct Measured {
  std::vector<CacheRow> caches;
  std::vector<ProbabilityRow> probabilities;
  std::vector<Exp2Row> powers;
};

Measured measured(const AttentionStudyRequest& request, const Progress& progress) {
  const std::vector<emu::Format> formats = request.formats.formats();
  for (const emu::Format format : formats)
    if (!format.is_signed()) throw Error("--to " + emu::format_name(format) + ": has no sign; caches need one");
  const AttentionProblem normal = draw_attention(request, false), outliers = draw_attention(request, true);
  std::vector<std::vector<CacheRow>> caches(2 * formats.size());
  Measured out;
  out.probabilities.resize(request.probability_scale.size() * key_orders.size());
  out.powers.resize(degrees.size());
  std::vector<std::function<void()>> parts;
  for (std::size_t i = 0; i < caches.size(); ++i)
    parts.emplace_back([&, i] {
      const bool plain = i < formats.size();
      caches[i] = cache_rows(plain ? normal : outliers, plain ? "normal" : "outliers", formats[i % formats.size()]);
    });
  for (std::size_t i = 0; i < out.probabilities.size(); ++i)
    parts.emplace_back([&, i] {
      const auto scale = static_cast<double>(request.probability_scale[i / key_orders.size()]);
      out.probabilities[i] = probability_row(outliers, scale, key_orders[i % key_orders.size()], request.block);
    });
  for (std::size_t i = 0; i < degrees.size(); ++i) parts.emplace_back([&, i] { out.powers[i] = exp2_row(normal, degrees[i]); });
  std::uint64_t done = 0;
  std::mutex one_at_a_time;
  tensors::for_each_index(parts.size(), request.threads, [&](std::size_t i) {
    parts[i]();
    if (!progress) return;
    const std::lock_guard lock(one_at_a_time);
    progress(++done, parts.size());
  });
  for (const auto& rows : caches) out.caches.insert(out.caches.end(), rows.begin(), rows.end());
  return out;
}

std::vector<Table> tables_of(const Measured& measured) {
  Table caches{"attention", {"keys", "part", "format", "granularity", "rel_frobenius_error", "mean_total_variation"}, {}};
  for (const CacheRow& row : measured.caches)
    caches.rows.push_back(
        {row.keys, row.part, emu::format_name(row.format), name_of(row.granularity), row.error, row.total_variation});
  Table probabilities{"probabilities", {"scale", "order", "count", "to_zero", "lost_weight", "rel_frobenius_error"}, {}};
  Table distances{"distances", {"scale", "order", "log2_distance", "count", "to_zero"}, {}};
  for (const ProbabilityRow& row : measured.probabilities) {
    std::uint64_t count = 0, to_zero = 0;
    for (std::size_t d = 0; d < row.count.size(); ++d) {
      count += row.count[d], to_zero += row.to_zero[d];
      distances.rows.push_back({row.scale, name_of(row.order), whole(d), whole(row.count[d]), whole(row.to_zero[d])});
    }
    probabilities.rows.push_back({row.scale, name_of(row.order), whole(count), whole(to_zero), row.lost_weight, row.error});
  }
  Table powers{"exp2", {"degree", "max_rel_error", "max_rel_error_bf16", "differing_bf16", "rel_frobenius_error"}, {}};
  for (const Exp2Row& row : measured.powers)
    powers.rows.push_back({std::int64_t{row.degree}, row.max_rel_error, row.max_rel_error_bf16, row.differing_bf16, row.error});
  return {caches, probabilities, distances, powers};
}

/// The row that says what most errors are held to: half of the fp8 limit of a product, on outputs.
constexpr double notable = 0.05;
constexpr const char* notable_source = "chosen: a twentieth of the output's norm";

reports::Severity severity_of(double error) {
  return error <= notable       ? reports::Severity::good
         : error <= 4 * notable ? reports::Severity::warning
                                : reports::Severity::bad;
}

/// For each format and kind of keys, the best granularity of the whole cache and what the others cost.
std::vector<reports::Finding> cache_findings(const std::vector<CacheRow>& rows) {
  std::vector<reports::Finding> all;
  for (std::size_t first = 0; first < rows.size();) {
    std::size_t end = first;
    std::vector<const CacheRow*> both;
    for (; end < rows.size() && rows[end].keys == rows[first].keys && rows[end].format == rows[first].format; ++end)
      if (rows[end].part == "both") both.push_back(&rows[end]);
    const CacheRow& best =
        **std::min_element(both.begin(), both.end(), [](const CacheRow* a, const CacheRow* b) { return a->error < b->error; });
    std::string others;
    for (const CacheRow* const row : both)
      if (row != &best) others += (others.empty() ? "" : ", ") + name_of(row->granularity) + " " + percent(row->error);
    const std::string format = emu::format_name(best.format);
    all.push_back({.what = "rel_frobenius_error",
                   .where = "cache in " + format + ", a scale for each " + name_of(best.granularity) + ", keys " + best.keys,
                   .value = best.error,
                   .threshold = notable,
                   .source = notable_source,
                   .severity = severity_of(best.error),
                   .sentence = "A cache in " + format + " with keys that are " +
                               (best.keys == "normal" ? "normal" : "normal with large channels") + " is best with " +
                               (best.granularity == Granularity::none ? std::string("no scale")
                                                                      : "a scale for each " + name_of(best.granularity)) +
                               ": outputs change by " + percent(best.error) + " (" + others + ")."});
    first = end;
  }
  return all;
}

reports::Finding probability_finding(const ProbabilityRow& row) {
  std::uint64_t count = 0, to_zero = 0;
  std::size_t nearest = ProbabilityRow::distances;
  for (std::size_t d = 0; d < row.count.size(); ++d) {
    count += row.count[d], to_zero += row.to_zero[d];
    if (row.to_zero[d] != 0) nearest = std::min(nearest, d);
  }
  const std::string where = "scale " + digits(row.scale, 6) + ", keys " + name_of(row.order);
  const double share = static_cast<double>(to_zero) / static_cast<double>(count);
  return {.what = "lost_weight",
          .where = "probabilities in e4m3, " + where,
          .value = row.lost_weight,
          .threshold = notable,
          .source = notable_source,
          .severity = severity_of(row.lost_weight),
          .sentence =
              "Probabilities in e4m3, " + where + ": " + percent(share) + " become 0" +
              (to_zero == 0 ? std::string() : ", none of them above 2^-" + std::to_string(nearest) + " of the largest") +
              ", with them " + percent(row.lost_weight) + " of all probability; outputs change by " + percent(row.error) + "."};
}

reports::Finding exp2_finding(const std::vector<Exp2Row>& rows, const Exp2Row& row) {
  return {.what = "rel_frobenius_error",
          .where = "2^x by a polynomial of degree " + std::to_string(row.degree),
          .value = row.error,
          .threshold = 2 * rows.front().error,
          .source = "derived: twice that of 2^x rounded to float32, probabilities being rounded to bfloat16",
          .severity = row.error <= 2 * rows.front().error ? reports::Severity::good : reports::Severity::warning,
          .sentence = "2^x by a polynomial of degree " + std::to_string(row.degree) + " errs by " +
                      digits(row.max_rel_error, 3) + " at most, after rounding to bfloat16 by " +
                      digits(row.max_rel_error_bf16, 3) + " (2^x itself " + digits(rows.front().max_rel_error_bf16, 3) + "); " +
                      percent(row.differing_bf16) + " of the rounded numbers differ, and outputs change by " +
                      percent(row.error) + " (" + percent(rows.front().error) + ")."};
}

}  // namespace

void AttentionStudyRequest::describe(requests::Fields& fields) {
  fields.add("queries", queries, "of one head").whole({1, 1 << 16}).shown();
  fields.add("keys", keys, "and values of one head").whole({1, 1 << 20}).shown();
  fields.add("head", head, "channels of a query, key and value").whole({1, 4096}).shown();
  fields.add("block", block, "keys of a step of online softmax").whole({1, 1 << 20}).shown();
  fields.add("outliers", outliers, "channels of keys that are larger than others").whole({0, 4096}).shown();
  fields.add("outlier_factor", outlier_factor, "by which they are (KIVI, arXiv 2402.02750, section 3)")
      .real({.least = 0})
      .shown();
  formats.describe(fields);
  fields.add("probability_scale", probability_scale, "factors of probabilities before they are rounded to e4m3")
      .whole({1, 1 << 20})
      .as_commas()
      .as_value("S,...")
      .shown();
  requests::describe_seed(fields, seed, "key of queries; keys and values are drawn under the next");
  requests::describe_threads(fields, threads);
}

StudyResult run(const AttentionStudyRequest& request, const Progress& progress) {
  const Measured rows = measured(request, progress);
  StudyResult result{.tables = tables_of(rows), .findings = cache_findings(rows.caches)};
  for (const ProbabilityRow& row : rows.probabilities) result.findings.push_back(probability_finding(row));
  for (const Exp2Row& row : rows.powers)
    if (row.degree != 0) result.findings.push_back(exp2_finding(rows.powers, row));
  return result;
}

Work work_of(const AttentionStudyRequest& request) {
  const std::uint64_t products = request.queries * request.keys * request.head;
  const std::uint64_t caches = 2 * request.formats.formats().size() * 4, others = request.probability_scale.size() * 3 + 4;
  return {.operations = products * (5 * caches + 3 * others), .rows = 3 * caches + others};
}

}  // namespace ulpscope::studies

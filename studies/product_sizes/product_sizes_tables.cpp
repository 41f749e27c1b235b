// SPDX-License-Identifier: Apache-2.0
// The table, and what it says: whose error is the larger, the engine's or that of the operands' rounding, from which size on.
#include <algorithm>

#include "emu/names.hpp"
#include "studies/census/sweep.hpp"
#include "studies/product_sizes/product_sizes.hpp"

namespace ulpscope::studies {
namespace {

using reports::Table;

Table table_of(const std::vector<ProductSize>& rows) {
  Table table{"product_sizes", {}, {}};
  for (const ProductSize& row : rows)
    table.add({{"distribution", row.distribution},
               {"in", emu::format_name(row.by.in)},
               {"engine", row.by.name},
               {"evidence", row.by.evidence},
               {"n", reports::whole(row.n)},
               {"outputs", reports::whole(row.outputs)},
               {"nonfinite", reports::whole(row.nonfinite)},
               {"rel_frobenius_error", row.error},
               {"input_rel_frobenius_error", row.of_inputs},
               {"engine_rel_frobenius_error", row.of_engine},
               {"engine_mean_signed_rel_error", row.mean_signed},
               {"float32_rel_frobenius_error", row.of_float32}});
  return table;
}

/// The sizes of one distribution, format and engine.
reports::Finding finding_of(const std::vector<ProductSize>& sizes) {
  const ProductSize &first = sizes.front(), &last = sizes.back();
  const auto passes =
      std::find_if(sizes.begin(), sizes.end(), [](const ProductSize& row) { return row.of_engine > row.of_inputs; });
  const std::string who = emu::format_name(last.by.in) + " on " + last.by.name + ", " + last.distribution;
  std::string sentence = who + ": " + percent(first.error) + " at N = " + std::to_string(first.n) + ", " + percent(last.error) +
                         " at N = " + std::to_string(last.n) + " (the engine alone " + percent(last.of_engine) +
                         ", the operands' rounding alone " + percent(last.of_inputs) + ")";
  sentence += passes == sizes.end() ? "; the operands' rounding is the larger at every N"
                                    : "; from N = " + std::to_string(passes->n) + " on the engine's is the larger";
  return {.what = "engine_share_over_input_share",
          .where = who + ", N = " + std::to_string(last.n),
          .value = last.of_engine / last.of_inputs,
          .threshold = 1.0,
          .source = "derived: above 1 the engine loses more than the rounding of the operands",
          .severity = passes == sizes.end() ? reports::Severity::good : reports::Severity::warning,
          .sentence = sentence + "."};
}

}  // namespace

StudyResult run(const ProductSizesRequest& request, const Progress& progress) {
  const std::vector<ProductSize> rows = measure(request, progress);
  StudyResult result{.tables = {table_of(rows)}};
  const std::size_t sizes = request.n.size();
  for (std::size_t first = 0; first + sizes <= rows.size() && sizes != 0; first += sizes) {
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(first);
    result.findings.push_back(finding_of({begin, begin + static_cast<std::ptrdiff_t>(sizes)}));
  }
  std::stable_partition(result.findings.begin(), result.findings.end(),
                        [](const reports::Finding& finding) { return finding.severity != reports::Severity::good; });
  const auto engines = std::count_if(result.findings.begin(), result.findings.end(), [](const reports::Finding& finding) {
    return finding.severity != reports::Severity::good;
  });
  result.remarks = {"The operands' rounding decides the error in " +
                    std::to_string(result.findings.size() - static_cast<std::size_t>(engines)) + " of " +
                    std::to_string(result.findings.size()) + " cases of a format, an engine and a distribution, at every N."};
  return result;
}

}  // namespace ulpscope::studies

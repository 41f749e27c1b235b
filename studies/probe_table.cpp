// SPDX-License-Identifier: Apache-2.0
#include "studies/probe_table.hpp"

#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/tasks.hpp"
#include "gpu/emulated/emulated_unit.hpp"
#include "studies/probe.hpp"

namespace ulpscope::studies {
namespace {

std::string scales_of(const gpu::Operation& operation) {
  if (operation.scale_products == 0) return "none";
  return emu::format_name(operation.scale_format) + ":" + std::to_string(operation.scale_products);
}

/// The findings on the engine that the operation names; none where it names none.
std::vector<Finding> model_findings(const gpu::Operation& o, const ProbeOptions& options) {
  if (o.engine.empty()) return {};
  const emu::Engine engine = emu::parse_engine(o.engine, {o.a, o.b, o.accumulator, o.scales, o.scale_format});
  return probe(gpu::EmulatedUnit(o.engine, {{o, engine}}), o, options).findings;
}

/// What the emulator gives says nothing of hardware whose code nobody has seen.
void forget_nan_code(const gpu::Operation& o, std::vector<Finding>& findings) {
  if (emu::knows_nan_code(o.engine)) return;
  for (Finding& finding : findings)
    if (finding.feature == "nan_code")
      finding = {finding.feature, "unknown", "the emulator gives " + finding.result + "; of the hardware none is published"};
}

std::string result_in(const std::vector<Finding>& findings, const std::string& feature) {
  for (const Finding& finding : findings)
    if (finding.feature == feature) return finding.result;
  return findings.empty() ? "no model" : "not asked";
}

using Rows = std::vector<std::vector<reports::Cell>>;

Rows rows_of(const gpu::Unit& unit, const gpu::Operation& o, std::uint64_t seed, ProbeModel model) {
  std::vector<Finding> findings, claimed;
  try {
    findings = probe(unit, o, {.seed = seed}).findings;
    if (model == ProbeModel::beside) claimed = model_findings(o, {.seed = seed});
    forget_nan_code(o, model == ProbeModel::beside ? claimed : findings);
  } catch (const Error& error) {
    findings = {{"failure", error.what(), ""}};
  }
  Rows rows;
  for (Finding& finding : findings) {
    rows.push_back({unit.name(), emu::format_name(o.a), emu::format_name(o.b), emu::format_name(o.accumulator), scales_of(o),
                    finding.feature, finding.result, std::move(finding.evidence)});
    if (model == ProbeModel::beside)
      for (const std::string& cell : {o.instruction, o.engine, result_in(claimed, finding.feature)})
        rows.back().push_back(cell);
  }
  return rows;
}

}  // namespace

reports::Table probe_table(const gpu::Unit& unit, std::span<const gpu::Operation> operations, std::uint64_t seed,
                           ProbeModel model, const std::function<void(std::uint64_t done, std::uint64_t total)>& progress) {
  reports::Table table{"probe", {"engine", "a", "b", "accumulator", "scales", "feature", "result", "evidence"}, {}};
  if (model == ProbeModel::beside) table.columns.insert(table.columns.end(), {"instruction", "model_engine", "model"});
  std::vector<Rows> rows(operations.size());
  std::mutex telling;
  std::uint64_t done = 0;
  emu::detail::for_each_task(operations.size(), 0, [&](std::size_t i) {
    rows[i] = rows_of(unit, operations[i], seed, model);
    const std::lock_guard lock(telling);
    if (progress) progress(++done, operations.size());
  });
  for (Rows& some : rows) std::move(some.begin(), some.end(), std::back_inserter(table.rows));
  return table;
}

}  // namespace ulpscope::studies

// SPDX-License-Identifier: Apache-2.0
// Probes each operation, and puts the model's answers beside the unit's.
#include "studies/probe/probe_table.hpp"

#include <mutex>
#include <utility>
#include <vector>

#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/tasks.hpp"
#include "gpu/emulated/emulated_unit.hpp"
#include "studies/probe/probe.hpp"

namespace ulpscope::studies {
namespace {

std::string scales_of(const gpu::Operation& operation) {
  if (operation.scale_products == 0) return "none";
  return emu::format_name(operation.scale_format) + ":" + std::to_string(operation.scale_products);
}

/// The findings on the engine that the operation names; none where it names none. The emulated unit has a clock alone.
std::vector<Finding> model_findings(const gpu::Operation& o, const ProbeOptions& options, const Deadline& deadline) {
  if (o.engine.empty()) return {};
  const emu::Engine engine = emu::parse_engine(o.engine, {o.a, o.b, o.accumulator, o.scales, o.scale_format});
  const gpu::EmulatedUnit unit(o.engine, {{o, engine}});
  DeviceWork work(deadline);
  return probe(WorkedUnit(unit, work, 0), o, options).findings;
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

/// The probes of all operations, side by side.
class ProbeStudy {
 public:
  ProbeStudy(const gpu::Unit& unit, std::span<const gpu::Operation> operations, std::uint64_t seed, ProbeModel model,
             const ProbeWork& options)
      : unit_(unit),
        operations_(operations),
        seed_(seed),
        model_(model),
        options_(options),
        work_(options.deadline, options.usable, options.log),
        rows_(operations.size()) {}

  void take(std::size_t i) {
    work_.piece(
        i, operations_[i].instruction, [&] { return ask(i); },
        [&](const std::string& reason) {
          const char* const feature = reason == process_ended ? "failure" : "not checked";
          keep(i, reason.empty() ? Rows{} : rows_of(i, {{feature, reason, ""}}, {}));
        });
  }

  reports::Table table() const {
    reports::Table table{"probe", {"engine", "a", "b", "accumulator", "scales", "feature", "result", "evidence"}, {}};
    if (model_ == ProbeModel::beside) table.columns.insert(table.columns.end(), {"instruction", "model_engine", "model"});
    const std::lock_guard lock(keeping_);
    for (const Rows& some : rows_) table.rows.insert(table.rows.end(), some.begin(), some.end());
    return table;
  }

 private:
  /// False where the device failed.
  bool ask(std::size_t i) {
    const gpu::Operation& o = operations_[i];
    std::vector<Finding> findings, claimed;
    bool good = true;
    try {
      findings = probe(WorkedUnit(unit_, work_, i), o, {.seed = seed_}).findings;
      if (model_ == ProbeModel::beside) claimed = model_findings(o, {.seed = seed_}, options_.deadline);
      forget_nan_code(o, model_ == ProbeModel::beside ? claimed : findings);
    } catch (const TimeRanOut& error) {
      findings = {{"not checked", error.what(), ""}};
    } catch (const Error& error) {
      findings = {{"failure", error.what(), ""}};
      good = false;
    }
    keep(i, rows_of(i, std::move(findings), claimed));
    return good;
  }

  /// Rows are told before the log has the end of their piece: another one may take the process with it right behind that.
  void keep(std::size_t i, Rows rows) {
    {
      const std::lock_guard lock(keeping_);
      rows_[i] = std::move(rows);
    }
    const std::lock_guard lock(telling_);
    if (options_.so_far) options_.so_far(table());
  }

  Rows rows_of(std::size_t i, std::vector<Finding> findings, const std::vector<Finding>& claimed) const {
    const gpu::Operation& o = operations_[i];
    Rows rows;
    for (Finding& finding : findings) {
      rows.push_back({unit_.name(), emu::format_name(o.a), emu::format_name(o.b), emu::format_name(o.accumulator), scales_of(o),
                      finding.feature, finding.result, std::move(finding.evidence)});
      if (model_ == ProbeModel::beside)
        for (const std::string& cell : {o.instruction, o.engine, result_in(claimed, finding.feature)})
          rows.back().push_back(cell);
    }
    return rows;
  }

  const gpu::Unit& unit_;
  std::span<const gpu::Operation> operations_;
  std::uint64_t seed_;
  ProbeModel model_;
  const ProbeWork& options_;
  DeviceWork work_;
  mutable std::mutex keeping_;
  std::mutex telling_;
  std::vector<Rows> rows_;
};

}  // namespace

reports::Table probe_table(const gpu::Unit& unit, std::span<const gpu::Operation> operations, std::uint64_t seed,
                           ProbeModel model, const std::function<void(std::uint64_t done, std::uint64_t total)>& progress,
                           const ProbeWork& work) {
  ProbeStudy study(unit, operations, seed, model, work);
  std::mutex telling;
  std::uint64_t done = 0;
  emu::for_each_task(operations.size(), 0, [&](std::size_t i) {
    study.take(i);
    const std::lock_guard lock(telling);
    ++done;
    if (progress) progress(done, operations.size());
  });
  return study.table();
}

}  // namespace ulpscope::studies

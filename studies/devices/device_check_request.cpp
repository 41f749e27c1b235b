// SPDX-License-Identifier: Apache-2.0
// From a request to devices and what a check of them found.
#include "studies/devices/device_check_request.hpp"

#include <algorithm>
#include <iterator>

#include "emu/engines.hpp"
#include "requests/parts.hpp"
#include "studies/devices/device_check.hpp"

namespace ulpscope::studies {
namespace {

DeviceCheckOptions options_of(const DeviceCheckRequest& request) {
  DeviceCheckOptions options;
  options.seed = request.seed;
  options.instruction = request.instruction;
  options.engine = request.model;
  options.threads = request.threads;
  if (request.tests) {
    options.device_tests = *request.tests;
    options.tests = std::min(*request.tests, options.tests);
  }
  return options;
}

std::vector<reports::Finding> findings_of(const std::vector<DeviceRow>& rows) {
  std::vector<reports::Finding> findings;
  for (const DeviceRow& row : rows) {
    if (row.holds()) continue;
    const std::string where = row.device + " " + row.instruction;
    findings.push_back({.what = row.failure.empty() ? "mismatches" : "failure",
                        .where = where,
                        .value = static_cast<std::int64_t>(row.mismatches),
                        .threshold = std::int64_t{0},
                        .source = "the engine " + row.engine + " claims the device's bits",
                        .severity = reports::Severity::bad,
                        .sentence = row.failure.empty()
                                        ? where + " differs from " + row.engine + " in " + std::to_string(row.mismatches) +
                                              " of " + std::to_string(row.tests) + " tests."
                                        : where + " gave no results: " + row.failure});
  }
  return findings;
}

StudyOutcome outcome_of(const std::vector<DeviceRow>& rows) {
  switch (verdict_of(rows)) {
    case DeviceVerdict::holds: return StudyOutcome::done;
    case DeviceVerdict::violated: return StudyOutcome::failed;
    case DeviceVerdict::vacuous: break;
  }
  return StudyOutcome::vacuous;
}

}  // namespace

gpu::DeviceSearch devices_named(const std::string& id) {
  if (id.empty()) return gpu::find_devices();
  gpu::DeviceSearch search;
  search.devices.push_back(gpu::open_device(id));
  return search;
}

void require_engine(const std::string& words) {
  const auto names = emu::engine_names();
  if (words.empty() || std::find(names.begin(), names.end(), words) != names.end()) return;
  emu::parse_engine(words, {emu::float16, emu::float16});
}

StudyResult result_of(const std::vector<DeviceRow>& rows, const std::string& name) {
  DeviceTables tables = tables_of(rows, name);
  return {.tables = {std::move(tables.table)},
          .findings = findings_of(rows),
          .remarks = std::move(tables.remarks),
          .outcome = outcome_of(rows)};
}

StudyResult run(const DeviceCheckRequest& request, const Progress& progress) {
  require_engine(request.model);
  DeviceCheckOptions options = options_of(request);
  options.progress = progress;
  const gpu::DeviceSearch search = devices_named(request.device);
  std::vector<DeviceRow> rows;
  for (const gpu::Device& device : search.devices) {
    if (request.tests && device.emulator == nullptr) options.tests = *request.tests;
    auto own = check_device(device, options);
    std::move(own.begin(), own.end(), std::back_inserter(rows));
  }
  StudyResult result = result_of(rows, "devices_check");
  result.remarks.insert(result.remarks.begin(), search.remarks.begin(), search.remarks.end());
  return result;
}

Work work_of(const DeviceCheckRequest& request) {
  std::uint64_t operations = 0;
  for (const gpu::Device& device : devices_named(request.device).devices) {
    if (device.unit == nullptr) continue;
    for (const gpu::Operation& operation : device.unit->operations())
      operations += operation.instruction.find(request.instruction) != std::string::npos ? 1 : 0;
  }
  return {.operations = operations * options_of(request).tests, .rows = 2 * operations};
}

void DeviceCheckRequest::describe(requests::Fields& fields) {
  fields.add("device", device, "one device; all real ones by default").as_value("D");
  fields
      .add("tests", tests,
           "inner products of each instruction; 100000 by default, 10000000 where the device compares by itself")
      .whole({1, requests::most_elements});
  requests::describe_seed(fields, seed, "of the operands");
  fields.add("instruction", instruction, "only instructions that have this in their name").as_value("TEXT");
  fields.add("model", model, "compare inner products with this engine instead").as_value("E");
  requests::describe_threads(fields, threads);
}

}  // namespace ulpscope::studies

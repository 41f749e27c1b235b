// SPDX-License-Identifier: Apache-2.0
#include "cli/devices_program/phases.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "emu/error.hpp"
#include "gpu/device.hpp"
#include "gpu/recording.hpp"
#include "reports/render.hpp"
#include "studies/devices/device_check.hpp"
#include "studies/devices/device_cost.hpp"
#include "studies/devices/device_list.hpp"
#include "studies/devices/device_record.hpp"
#include "studies/devices/library_products.hpp"
#include "studies/probe_table.hpp"

namespace ulpscope::cli {
namespace {

void write(const reports::Table& table, const std::string& path) {
  const std::string csv = reports::to_csv(table);
  if (path.empty()) {
    std::fputs(csv.c_str(), stdout);
    return;
  }
  std::ofstream out(path, std::ios::binary);
  out << csv << std::flush;
  if (!out) throw Error(path + ": cannot be written");
}

/// The last line of a phase.
void conclude(const std::string& words) { std::fprintf(stderr, "%s\n", words.c_str()); }

std::string counted(std::uint64_t count, const char* noun) { return std::to_string(count) + " " + noun; }

std::size_t column(const reports::Table& table, const char* name) {
  return static_cast<std::size_t>(std::find(table.columns.begin(), table.columns.end(), name) - table.columns.begin());
}

int list(const DevicesOptions& options) {
  const gpu::Device device = gpu::open_device(options.device);
  const reports::Table table = studies::device_list({&device, 1});
  write(table, options.output);
  const gpu::DeviceDescription& d = device.description;
  conclude(d.id + ", " + d.name + ", " + d.architecture + ", driver " + d.driver + ", toolkit " + d.toolkit + ": " +
           counted(table.rows.size(), "operations"));
  return done;
}

/// Rows as a table, their remarks as lines, and the exit code.
int report(const std::vector<studies::DeviceRow>& rows, const char* name, const DevicesOptions& options) {
  const studies::DeviceTables tables = studies::tables_of(rows, name);
  write(tables.table, options.output);
  for (const std::string& line : tables.remarks) std::fprintf(stderr, "%s\n", line.c_str());
  std::uint64_t tests = 0, mismatches = 0, failures = 0, not_checked = 0;
  for (const studies::DeviceRow& row : rows) {
    tests += row.tests;
    mismatches += row.mismatches;
    failures += row.failure.empty() ? 0 : 1;
    not_checked += row.not_checked.empty() ? 0 : 1;
  }
  conclude(counted(rows.size(), "rows, ") + counted(tests, "tests, ") + counted(mismatches, "mismatches, ") +
           counted(failures, "failures, ") + counted(not_checked, "not checked"));
  switch (studies::verdict_of(rows)) {
    case studies::DeviceVerdict::holds: return done;
    case studies::DeviceVerdict::violated: return check_failed;
    case studies::DeviceVerdict::vacuous: break;
  }
  return vacuous;
}

int check(const DevicesOptions& options) {
  studies::DeviceCheckOptions check;
  constexpr std::uint64_t on_the_device = 100'000'000;
  check.device_tests = options.tests > 0 ? options.tests : on_the_device;
  if (options.tests > 0) check.tests = std::min(check.tests, options.tests);
  check.seed = options.seed;
  check.instruction = options.instruction;
  check.seconds = options.seconds;
  return report(studies::check_device(gpu::open_device(options.device), check), "check", options);
}

int record(const DevicesOptions& options) {
  studies::DeviceRecordOptions record;
  record.seed = options.seed;
  record.instruction = options.instruction;
  if (options.tests > 0) record.tests = std::min(record.tests, options.tests);
  const studies::RecordedDevice recorded = studies::record_device(gpu::open_device(options.device), record);
  for (const std::string& line : recorded.remarks) std::fprintf(stderr, "%s\n", line.c_str());
  if (options.output.empty()) throw Error("record: give -o FILE");
  gpu::write_recording(options.output, recorded.recording);
  conclude(counted(recorded.recording.products.size(), "sets of inner products, ") +
           counted(recorded.recording.elements.size(), "of elements, ") + counted(recorded.remarks.size(), "failures"));
  return recorded.remarks.empty() ? done : check_failed;
}

int probe(const DevicesOptions& options) {
  const gpu::Device device = gpu::open_device(options.device);
  if (device.unit == nullptr) throw Error(options.device + " multiplies no matrices");
  std::vector<gpu::Operation> operations = device.unit->operations();
  std::erase_if(operations, [&](const auto& o) { return o.instruction.find(options.instruction) == std::string::npos; });
  const reports::Table table = studies::probe_table(*device.unit, operations, options.seed, studies::ProbeModel::beside);
  write(table, options.output);
  const std::size_t result = column(table, "result"), model = column(table, "model");
  const auto differing = static_cast<std::size_t>(
      std::count_if(table.rows.begin(), table.rows.end(), [&](const auto& row) { return row[result] != row[model]; }));
  conclude(counted(operations.size(), "operations, ") + counted(table.rows.size(), "features, ") +
           counted(differing, "not as the model has them"));
  return done;
}

/// The libraries' calls, those of the narrowest operands first.
std::vector<std::pair<const gpu::Library*, gpu::LibraryCall>> calls_of(
    const std::vector<std::shared_ptr<const gpu::Library>>& libraries) {
  std::vector<std::pair<const gpu::Library*, gpu::LibraryCall>> calls;
  for (const auto& library : libraries)
    for (gpu::LibraryCall& call : library->calls()) calls.emplace_back(library.get(), std::move(call));
  std::stable_sort(calls.begin(), calls.end(),
                   [](const auto& x, const auto& y) { return x.second.a.bits() < y.second.a.bits(); });
  return calls;
}

void append(reports::Table& all, reports::Table table) {
  if (all.columns.empty()) all = {table.name, table.columns, {}};
  std::move(table.rows.begin(), table.rows.end(), std::back_inserter(all.rows));
}

std::size_t rows_with(const reports::Table& table, const char* name, const std::string& word) {
  const std::size_t at = column(table, name);
  return static_cast<std::size_t>(
      std::count_if(table.rows.begin(), table.rows.end(), [&](const auto& row) { return row[at] == reports::Cell(word); }));
}

int without_libraries(const gpu::Device& device) {
  conclude(device.description.id + " has no library of matrix products");
  return vacuous;
}

int products(const DevicesOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const gpu::Device device = gpu::open_device(options.device);
  if (!device.libraries) return without_libraries(device);
  const auto libraries = device.libraries();
  const auto calls = calls_of(libraries);
  studies::LibraryProductsConfig config;
  config.engine = device.description.architecture;
  config.shapes = studies::library_product_shapes(device);
  config.seed = options.seed;
  config.emulator = device.emulator.get();
  reports::Table all;
  std::size_t done_calls = 0;
  for (const auto& [library, call] : calls) {
    append(all, studies::library_products(*library, call, config));
    write(all, options.output);  // what is there is not lost when time runs out
    ++done_calls;
    if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(options.seconds)) break;
  }
  conclude(std::to_string(done_calls) + " of " + counted(calls.size(), "calls, ") + counted(all.rows.size(), "products, ") +
           counted(rows_with(all, "explained", "yes"), "predicted to the bit, ") +
           counted(rows_with(all, "explained", "no"), "not"));
  return done;
}

int cost(const DevicesOptions& options) {
  const gpu::Device device = gpu::open_device(options.device);
  if (!device.libraries) return without_libraries(device);
  studies::DeviceCostConfig config;
  config.seed = options.seed;
  if (device.description.id.starts_with("emulated:")) config.shapes = studies::library_product_shapes(device);
  reports::Table all;
  for (const auto& library : device.libraries()) {
    append(all, studies::device_cost(*library, config));
    write(all, options.output);
  }
  conclude(counted(all.rows.size(), "products measured"));
  return done;
}

constexpr std::array all_phases{
    Phase{"list", "devices.csv", 0.05, "what the device has", list},
    Phase{"check", "check.csv", 0.45, "every operation beside its model, bit by bit", check},
    Phase{"record", "device.recording", 0.05, "operands and results, to replay anywhere", record},
    Phase{"probe", "probe.csv", 0.2, "the features of every instruction beside those of its model", probe},
    Phase{"cost", "cost.csv", 0.1, "what a product costs and loses in each format", cost},
    Phase{"products", "products.csv", 0.15, "which model predicts each algorithm of the libraries, bit for bit", products},
};

}  // namespace

std::span<const Phase> phases() { return all_phases; }

}  // namespace ulpscope::cli

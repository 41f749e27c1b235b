// SPDX-License-Identifier: Apache-2.0
// One function for each phase: what it asks of the device and what it writes.
#include "cli/devices_program/phases.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "cli/commands.hpp"
#include "cli/devices_program/phase_output.hpp"
#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "gpu/device.hpp"
#include "gpu/recording.hpp"
#include "studies/devices/device_check.hpp"
#include "studies/devices/device_emulation.hpp"
#include "studies/devices/device_interpreter.hpp"
#include "studies/devices/device_list.hpp"
#include "studies/devices/device_record.hpp"
#include "studies/probe/probe_table.hpp"

namespace ulpscope::cli {
namespace {

int list(const DevicesOptions& options) {
  const gpu::Device device = gpu::open_device(options.device);
  const reports::Table table = studies::device_list({&device, 1});
  write_table(table, options);
  const gpu::DeviceDescription& d = device.description;
  conclude(d.id + ", " + d.name + ", " + d.architecture + ", driver " + d.driver + ", toolkit " + d.toolkit + ": " +
           counted(table.rows.size(), "operations"));
  return done;
}

/// Rows as a table, their remarks as lines, and the exit code.
int report(const std::vector<studies::DeviceRow>& rows, const char* name, const DevicesOptions& options) {
  const studies::DeviceTables tables = studies::tables_of(rows, name);
  write_table(tables.table, options);
  for (const std::string& line : tables.remarks) conclude(emu::visible(line));
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

/// Rows as they come.
std::function<void(const studies::DeviceRow&)> row_writer(const char* name, const DevicesOptions& options) {
  return [rows = std::vector<studies::DeviceRow>(), name, options](const studies::DeviceRow& row) mutable {
    rows.push_back(row);
    write_so_far(studies::tables_of(rows, name).table, options);
  };
}

int check_with(studies::DeviceCheckOptions check, const char* name, const DevicesOptions& options) {
  const gpu::Device device = gpu::open_device(options.device);
  const auto journal = journal_of(options);
  check.seed = options.seed;
  check.instruction = options.instruction;
  check.deadline = studies::Deadline::after(options.seconds);
  check.log = journal.get();
  check.on_row = row_writer(name, options);
  const auto rows = studies::check_device(device, check);
  end_journal(device, options);
  return report(rows, name, options);
}

int check(const DevicesOptions& options) {
  studies::DeviceCheckOptions check;
  check.device_tests = options.tests > 0 ? options.tests : emu::inner_products_on_devices;
  if (options.tests > 0) check.tests = std::min(check.tests, options.tests);
  return check_with(check, "check", options);
}

/// The same with so few tests that the first hard fault of every operation is seen soon.
int small_check(const DevicesOptions& options) {
  studies::DeviceCheckOptions check;
  constexpr std::uint64_t few = 1000;
  check.tests = check.device_tests = options.tests > 0 ? std::min(few, options.tests) : few;
  check.most_swept_bits = 0;
  return check_with(check, "small_check", options);
}

/// Whether it is a device without emulator, which is said.
bool lacks_emulator(const gpu::Device& device) {
  if (!device.emulator) conclude(device.description.id + " runs no emulator");
  return device.emulator == nullptr;
}

int interpreter(const DevicesOptions& options) {
  const gpu::Device device = gpu::open_device(options.device);
  if (lacks_emulator(device)) return vacuous;
  const auto journal = journal_of(options);
  studies::DeviceInterpreterOptions interpreter;
  if (options.tests > 0) interpreter.tests = std::min(interpreter.tests, options.tests);
  interpreter.seed = options.seed;
  interpreter.instruction = options.instruction;
  interpreter.deadline = studies::Deadline::after(options.seconds);
  interpreter.log = journal.get();
  const auto rows = studies::check_interpreter(device, interpreter);
  end_journal(device, options);
  return report(rows, "interpreter", options);
}

int record(const DevicesOptions& options) {
  const gpu::Device device = gpu::open_device(options.device);
  const auto journal = journal_of(options);
  studies::DeviceRecordOptions record;
  record.seed = options.seed;
  record.instruction = options.instruction;
  record.deadline = studies::Deadline::after(options.seconds);
  record.log = journal.get();
  if (options.output.empty()) throw Error("record: give -o FILE");
  record.so_far = [&](const gpu::Recording& recording) { gpu::write_recording(options.output, recording); };
  if (options.tests > 0) record.tests = std::min(record.tests, options.tests);
  const studies::RecordedDevice recorded = studies::record_device(device, record);
  for (const auto* lines : {&recorded.remarks, &recorded.left_out})
    for (const std::string& line : *lines) conclude(emu::visible(line));
  gpu::write_recording(options.output, recorded.recording);
  end_journal(device, options);
  conclude(counted(recorded.recording.products.size(), "sets of inner products, ") +
           counted(recorded.recording.elements.size(), "of elements, ") + counted(recorded.remarks.size(), "failures, ") +
           counted(recorded.left_out.size(), "not recorded"));
  return recorded.remarks.empty() ? done : check_failed;
}

int probe(const DevicesOptions& options) {
  const gpu::Device device = gpu::open_device(options.device);
  if (device.unit == nullptr) throw Error(options.device + " multiplies no matrices");
  std::vector<gpu::Operation> operations = device.unit->operations();
  std::erase_if(operations, [&](const auto& o) { return o.instruction.find(options.instruction) == std::string::npos; });
  const auto journal = journal_of(options);
  studies::ProbeWork work{studies::Deadline::after(options.seconds), device.usable, journal.get(),
                          [&](const reports::Table& table) { write_so_far(table, options); }};
  const reports::Table table =
      studies::probe_table(*device.unit, operations, options.seed, studies::ProbeModel::beside, {}, work);
  write_table(table, options);
  end_journal(device, options);
  const std::size_t feature = table.column("feature"), result = table.column("result"), model = table.column("model");
  const auto rows_that = [&](const auto& holds) {
    return static_cast<std::size_t>(std::count_if(table.rows.begin(), table.rows.end(), holds));
  };
  const auto is = [&](const char* word) {
    return rows_that([&](const auto& row) { return row[feature] == reports::Cell(word); });
  };
  const std::size_t failures = is("failure"), not_checked = is("not checked");
  const std::size_t differing = rows_that([&](const auto& row) { return row[result] != row[model]; }) - failures - not_checked;
  conclude(counted(operations.size(), "operations, ") + counted(table.rows.size() - failures - not_checked, "features, ") +
           counted(differing, "not as the model has them, ") + counted(failures, "failures, ") +
           counted(not_checked, "not checked"));
  return done;
}

int emulation(const DevicesOptions& options) {
  const gpu::Device device = gpu::open_device(options.device);
  if (lacks_emulator(device)) return vacuous;
  const auto journal = journal_of(options);
  studies::DeviceEmulationConfig emulation;
  emulation.seed = options.seed;
  emulation.deadline = studies::Deadline::after(options.seconds);
  emulation.usable = device.usable;
  emulation.log = journal.get();
  emulation.so_far = [&](const reports::Table& table) { write_so_far(table, options); };
  const reports::Table table = studies::device_emulation(device, emulation);
  write_table(table, options);
  end_journal(device, options);
  const auto sum = [&](const char* name) {
    std::uint64_t total = 0;
    for (const auto& row : table.rows) total += static_cast<std::uint64_t>(std::get<std::int64_t>(row[table.column(name)]));
    return total;
  };
  const std::uint64_t mismatches = sum("mismatches"), outputs = sum("outputs");
  conclude(counted(table.rows.size(), "products, ") + counted(outputs, "outputs compared, ") +
           counted(mismatches, "mismatches"));
  return mismatches > 0 ? check_failed : outputs > 0 ? done : vacuous;
}

constexpr std::array all_phases{
    Phase{"list", "devices.csv", 0.03, "what the device has", list},
    Phase{"record", "device.recording", 0.05, "operands and results, to replay anywhere", record},
    Phase{"small_check", "small_check.csv", 0.04, "a few tests of every operation beside its model", small_check},
    Phase{"interpreter", "interpreter.csv", 0.05, "the emulator on the device beside the one here", interpreter, true},
    Phase{"check", "check.csv", 0.3, "every operation beside its model, bit by bit", check},
    Phase{"probe", "probe.csv", 0.2, "the features of every instruction beside those of its model", probe},
    Phase{"emulation", "emulation.csv", 0.08, "emulated products on the device: how fast, and their bits", emulation},
    Phase{"cost", "cost.csv", 0.1, "what a product costs and loses in each format", cost_phase},
    Phase{"products", "products.csv", 0.15, "which model predicts each algorithm of the libraries, bit for bit",
          products_phase},
};

}  // namespace

std::span<const Phase> phases() { return all_phases; }

}  // namespace ulpscope::cli

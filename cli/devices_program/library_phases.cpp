// SPDX-License-Identifier: Apache-2.0
// The phases that ask a device's libraries of matrix products.
#include <algorithm>
#include <memory>
#include <vector>

#include "cli/commands.hpp"
#include "cli/devices_program/phase_output.hpp"
#include "cli/devices_program/phases.hpp"
#include "gpu/device.hpp"
#include "studies/devices/all_products.hpp"
#include "studies/devices/device_cost.hpp"

namespace ulpscope::cli {
namespace {

using Libraries = std::vector<std::shared_ptr<const gpu::Library>>;

/// None where there are none, which is said.
Libraries libraries_of(const gpu::Device& device) {
  if (!device.libraries) {
    conclude(device.description.id + " has no library of matrix products");
    return {};
  }
  try {
    return device.libraries();
  } catch (const gpu::NoDevice& error) {
    conclude(device.description.id + " has no library of matrix products: " + error.what());
    return {};
  }
}

std::size_t rows_with(const reports::Table& table, const char* name, const std::string& word) {
  const std::size_t at = table.column(name);
  return static_cast<std::size_t>(
      std::count_if(table.rows.begin(), table.rows.end(), [&](const auto& row) { return row[at] == reports::Cell(word); }));
}

}  // namespace

int products_phase(const DevicesOptions& options) {
  const gpu::Device device = gpu::open_device(options.device);
  const Libraries libraries = libraries_of(device);
  if (libraries.empty()) return vacuous;
  const auto journal = journal_of(options);
  studies::AllProductsConfig config;
  config.each.engine = studies::engine_of_device(device);
  config.each.seed = options.seed;
  config.each.emulator = device.emulator.get();
  config.deadline = studies::Deadline::after(options.seconds);
  config.usable = device.usable;
  config.log = journal.get();
  config.so_far = [&](const reports::Table& table) { write_so_far(table, options); };
  const auto pieces = studies::library_pieces(libraries, studies::library_product_shapes(device));
  const reports::Table table = studies::all_library_products(pieces, config);
  write_table(table, options);
  end_journal(device, options);
  conclude(counted(pieces.size(), "calls and shapes, ") + counted(table.rows.size(), "products, ") +
           counted(rows_with(table, "explained", "yes"), "predicted to the bit, ") +
           counted(rows_with(table, "explained", "no"), "not, ") + counted(rows_with(table, "explained", "error"), "failed, ") +
           counted(rows_with(table, "explained", "not checked"), "not checked"));
  return done;
}

int cost_phase(const DevicesOptions& options) {
  const gpu::Device device = gpu::open_device(options.device);
  const Libraries libraries = libraries_of(device);
  if (libraries.empty()) return vacuous;
  studies::DeviceCostConfig config;
  config.seed = options.seed;
  config.deadline = studies::Deadline::after(options.seconds);
  config.usable = device.usable;
  if (device.description.id.starts_with("emulated:")) config.shapes = studies::library_product_shapes(device);
  reports::Table all;
  for (const auto& library : libraries) {
    const auto journal = journal_of(options, library->name());
    const reports::Table before = all;
    const auto joined = [&](const reports::Table& table) {
      reports::Table both = table;
      both.rows.insert(both.rows.begin(), before.rows.begin(), before.rows.end());
      return both;
    };
    config.log = journal.get();
    config.so_far = [&](const reports::Table& table) { write_so_far(joined(table), options); };
    all = joined(studies::device_cost(*library, config));
  }
  write_table(all, options);
  end_journal(device, options);
  const std::size_t remark = all.column("remark");
  const auto measured =
      std::count_if(all.rows.begin(), all.rows.end(), [&](const auto& row) { return row[remark] == reports::Cell(""); });
  conclude(counted(all.rows.size(), "products, ") + counted(static_cast<std::size_t>(measured), "measured"));
  return done;
}

}  // namespace ulpscope::cli

// SPDX-License-Identifier: Apache-2.0
// One row for each operation of each device.
#include "studies/devices/device_list.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include "emu/names.hpp"
#include "gpu/element_words.hpp"

namespace ulpscope::studies {
namespace {

using Row = std::vector<reports::Cell>;

Row row_of(const gpu::DeviceDescription& device, const Row& operation) {
  Row row{device.id, device.name, device.architecture, device.driver, device.toolkit};
  row.insert(row.end(), operation.begin(), operation.end());
  return row;
}

Row row_of(const gpu::Operation& o) {
  return {o.instruction,
          emu::format_name(o.a),
          emu::format_name(o.b),
          emu::format_name(o.accumulator),
          static_cast<std::int64_t>(o.products),
          o.engine};
}

Row row_of(const gpu::ElementOperation& operation) {
  const gpu::ElementModel& model = operation.model;
  const std::string from = emu::format_name(model.from);
  return {operation.instruction,      from, gpu::operands_of(model.kind) > 1 ? from : "",
          emu::format_name(model.to), "",   gpu::model_words(model)};
}

}  // namespace

reports::Table device_list(std::span<const gpu::Device> devices) {
  reports::Table table{
      "devices",
      {"device", "name", "architecture", "driver", "toolkit", "instruction", "a", "b", "accumulator", "products", "engine"},
      {}};
  for (const gpu::Device& device : devices) {
    const std::size_t before = table.rows.size();
    if (device.unit)
      for (const auto& o : device.unit->operations()) table.rows.push_back(row_of(device.description, row_of(o)));
    if (device.elementwise)
      for (const auto& o : device.elementwise->operations()) table.rows.push_back(row_of(device.description, row_of(o)));
    if (table.rows.size() == before) table.rows.push_back(row_of(device.description, Row(6, std::string())));
  }
  return table;
}

}  // namespace ulpscope::studies

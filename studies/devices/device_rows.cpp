// SPDX-License-Identifier: Apache-2.0
// Rows of comparisons as tables, remarks and a verdict.
#include "studies/devices/device_rows.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "emu/names.hpp"
#include "gpu/element_words.hpp"

namespace ulpscope::studies {
namespace {

std::string verdict_words(const DeviceRow& row) {
  if (!row.failure.empty()) return "failed";
  if (row.mismatches > 0) return "different";
  return row.tests > 0 ? "same" : "not checked";
}

std::string remark_of(const DeviceRow& row) {
  if (!row.failure.empty()) return row.failure;
  if (!row.not_checked.empty()) return row.not_checked;
  if (row.mismatches == 0 || row.nan_codes + row.zero_signs < row.examined || row.examined < row.mismatches) return "";
  return row.zero_signs == 0  ? "only codes of NaNs differ"
         : row.nan_codes == 0 ? "only signs of zeros differ"
                              : "only codes of NaNs and signs of zeros differ";
}

std::string mismatch_words(const DeviceRow& row, const DeviceMismatch& mismatch) {
  return row.device + " " + row.instruction + ", " + std::string(name_of(row.operands)) + " test " +
         std::to_string(mismatch.test) + " of seed " + std::to_string(row.seed) + ": " + mismatch.words;
}

}  // namespace

DeviceRow row_of(const std::string& device, const gpu::Operation& operation, std::size_t products) {
  DeviceRow row;
  row.device = device;
  row.instruction = operation.instruction;
  row.a = emu::format_name(operation.a);
  row.b = emu::format_name(operation.b);
  row.accumulator = emu::format_name(operation.accumulator);
  row.products = products;
  row.engine = operation.engine;
  return row;
}

DeviceRow row_of(const std::string& device, const gpu::ElementOperation& operation) {
  DeviceRow row;
  row.device = device;
  row.instruction = operation.instruction;
  row.a = emu::format_name(operation.model.from);
  if (gpu::operands_of(operation.model.kind) > 1) row.b = row.a;
  row.accumulator = emu::format_name(operation.model.to);
  row.engine = gpu::model_words(operation.model);
  return row;
}

void add_counts(DeviceRow& row, DeviceRow part) {
  row.tests += part.tests;
  row.mismatches += part.mismatches;
  row.examined += part.examined;
  row.nan_codes += part.nan_codes;
  row.zero_signs += part.zero_signs;
  row.first.insert(row.first.end(), std::move_iterator(part.first.begin()), std::move_iterator(part.first.end()));
  std::ranges::sort(row.first, {}, &DeviceMismatch::test);
  if (row.first.size() > DeviceRow::most_spelled_out) row.first.resize(DeviceRow::most_spelled_out);
}

DeviceTables tables_of(const std::vector<DeviceRow>& rows, const std::string& name) {
  DeviceTables tables{{name,
                       {"device", "instruction", "a", "b", "accumulator", "products", "engine", "operands", "tests",
                        "mismatches", "examined", "nan_codes", "zero_signs", "verdict", "remark"},
                       {}},
                      {}};
  for (const DeviceRow& row : rows) {
    const reports::Cell products = row.products == 0 ? reports::Cell(std::string()) : reports::whole(row.products);
    tables.table.rows.push_back({row.device, row.instruction, row.a, row.b, row.accumulator, products, row.engine,
                                 std::string(name_of(row.operands)), reports::whole(row.tests), reports::whole(row.mismatches),
                                 reports::whole(row.examined), reports::whole(row.nan_codes), reports::whole(row.zero_signs),
                                 verdict_words(row), remark_of(row)});
    for (const DeviceMismatch& mismatch : row.first) tables.remarks.push_back(mismatch_words(row, mismatch));
  }
  return tables;
}

DeviceVerdict verdict_of(const std::vector<DeviceRow>& rows) {
  if (!std::ranges::all_of(rows, &DeviceRow::holds)) return DeviceVerdict::violated;
  const bool tested = std::ranges::any_of(rows, [](const DeviceRow& row) { return row.tests > 0; });
  return tested ? DeviceVerdict::holds : DeviceVerdict::vacuous;
}

}  // namespace ulpscope::studies

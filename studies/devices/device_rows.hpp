// SPDX-License-Identifier: Apache-2.0
// What a comparison of a device, or of a recording, with the emulator came to: the rows of one table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/elementwise.hpp"
#include "gpu/recording.hpp"
#include "gpu/unit.hpp"
#include "reports/table.hpp"

namespace ulpscope::studies {

/// A test whose result is not the expected one.
struct DeviceMismatch {
  std::uint64_t test;  ///< its number
  std::string words;   ///< operands, expected and given result, as codes in hexadecimal and as values
};

/// One operation with one class of operands.
struct DeviceRow {
  static constexpr std::size_t most_spelled_out = 3;  ///< mismatches that a remark has bit by bit

  std::string device, instruction;  ///< its id, and the operation as its manual spells it
  std::string a, b, accumulator;    ///< names of formats; of an element operation those of operands and result
  std::size_t products = 0;         ///< of one test; 0: an element operation
  std::string engine;               ///< what the device was compared with; the words of an element operation's model
  gpu::OperandClass operands = gpu::OperandClass::adversarial;  ///< how operands were made
  std::uint64_t seed = 0;                                       ///< the key they were made under
  std::uint64_t tests = 0, mismatches = 0;                      ///< compared, and of them different
  std::uint64_t examined = 0;         ///< mismatches whose codes were looked at: all but those that a device counted by itself
  std::uint64_t nan_codes = 0;        ///< of those examined: both results are NaN
  std::uint64_t zero_signs = 0;       ///< of those examined: both results are zero
  std::string failure;                ///< why the device gave no results
  std::string not_checked;            ///< why there is nothing to compare with
  std::vector<DeviceMismatch> first;  ///< the first of those examined

  /// Whether every result was the expected one.
  bool holds() const noexcept { return mismatches == 0 && failure.empty(); }
};

/// A row without tests.
DeviceRow row_of(const std::string& device, const gpu::Operation& operation, std::size_t products);
DeviceRow row_of(const std::string& device, const gpu::ElementOperation& operation);

/// Counts of another part of the same tests.
void add_counts(DeviceRow& row, DeviceRow part);

/// A table and what is said beneath it.
struct DeviceTables {
  reports::Table table;              ///< a row for each DeviceRow
  std::vector<std::string> remarks;  ///< the first mismatches, spelled out
};
/// `verdict` is same, different, failed or not checked.
DeviceTables tables_of(const std::vector<DeviceRow>& rows, const std::string& name);

/// What all rows together say.
enum class DeviceVerdict : std::uint8_t { holds, violated, vacuous };
/// violated by a mismatch or a failure, vacuous without any test.
DeviceVerdict verdict_of(const std::vector<DeviceRow>& rows);

}  // namespace ulpscope::studies

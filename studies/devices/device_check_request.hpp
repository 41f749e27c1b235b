// SPDX-License-Identifier: Apache-2.0
// `ulpscope devices check` as people ask for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpu/device.hpp"
#include "requests/field.hpp"
#include "studies/devices/device_rows.hpp"
#include "studies/study.hpp"

namespace ulpscope::studies {

/// The members mean what their fields' help says.
struct DeviceCheckRequest {
  /// What the fields of these names say in the help of `ulpscope devices check`.
  ///@{
  std::string device, instruction, model;
  std::optional<std::uint64_t> tests;
  std::uint64_t seed = 0;
  int threads = 0;
  ///@}

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// The device of that name, or all that are real, with a remark for each that should be there and is not.
/// @throws gpu::NoDevice
gpu::DeviceSearch devices_named(const std::string& id);

/// @throws ulpscope::Error naming the closest engines; an empty word is none
void require_engine(const std::string& words);

/// What rows of comparisons come to: the table `name`, the first mismatches spelled out as remarks, a finding for each
/// operation that differs, and the outcome.
StudyResult result_of(const std::vector<DeviceRow>& rows, const std::string& name);

/// devices_check.csv. @throws ulpscope::Error, gpu::NoDevice
StudyResult run(const DeviceCheckRequest& request, const Progress& progress);
/// Inner products, about.
Work work_of(const DeviceCheckRequest& request);

}  // namespace ulpscope::studies

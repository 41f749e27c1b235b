// SPDX-License-Identifier: Apache-2.0
// The commands below `ulpscope devices`.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "gpu/device.hpp"
#include "studies/devices/device_check_request.hpp"

namespace ulpscope::cli {

/// The device named, or all that are real; remarks about those that are not there go to standard error.
/// @throws gpu::NoDevice
std::vector<gpu::Device> devices_named(const std::string& id);

/// Prints what a comparison came to, mismatches on standard error; what the command returns.
int report(const studies::StudyResult& result, const CommonOptions& options);

void add_devices_check(Command& devices, int& exit_code);
void add_devices_record(Command& devices, int& exit_code);
void add_devices_replay(Command& devices, int& exit_code);
void add_devices_products(Command& devices, int& exit_code);
void add_devices_cost(Command& devices, int& exit_code);

}  // namespace ulpscope::cli

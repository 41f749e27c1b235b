// SPDX-License-Identifier: Apache-2.0
// How phases write their results and end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "cli/devices_program/journal.hpp"
#include "cli/devices_program/options.hpp"
#include "gpu/device.hpp"
#include "reports/table.hpp"

namespace ulpscope::cli {

/// As CSV to options.output, at once; nothing is left half-written. To standard output where that is empty.
/// @throws ulpscope::Error
void write_table(const reports::Table& table, const DevicesOptions& options);

/// The rows that there are, while the phase goes on: to a file only.
void write_so_far(const reports::Table& table, const DevicesOptions& options);

/// A line on standard error, such as the last one of a phase. What acts on a terminal or in a log is escaped, here and in
/// say().
void conclude(const std::string& words);

/// A line on standard output, at once; whether it was written.
bool say(const std::string& words);

/// `3 rows`
std::string counted(std::uint64_t count, const char* noun);

/// The journal of a phase, null where none was asked for.
std::unique_ptr<Journal> journal_of(const DevicesOptions& options, const std::string& section = "phase");

/// Notes that all pieces are done, unless another process is to go on because the device's context is lost.
void end_journal(const gpu::Device& device, const DevicesOptions& options);

}  // namespace ulpscope::cli

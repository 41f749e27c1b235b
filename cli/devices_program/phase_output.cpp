// SPDX-License-Identifier: Apache-2.0
// Writes each result file anew whenever rows arrive.
#include "cli/devices_program/phase_output.hpp"

#include <cstdio>

#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "files/new_file.hpp"
#include "reports/render.hpp"

namespace ulpscope::cli {

void write_table(const reports::Table& table, const DevicesOptions& options) {
  const std::string csv = reports::to_csv(table);
  if (!options.output.empty()) return files::write_file(options.output, csv);
  if (std::fputs(csv.c_str(), stdout) < 0 || std::fflush(stdout) != 0) throw Error("standard output cannot be written");
}

void write_so_far(const reports::Table& table, const DevicesOptions& options) {
  if (!options.output.empty()) write_table(table, options);
}

void conclude(const std::string& words) { std::fprintf(stderr, "%s\n", emu::visible_lines(words).c_str()); }

bool say(const std::string& words) {
  return std::printf("%s\n", emu::visible_lines(words).c_str()) >= 0 && std::fflush(stdout) == 0;
}

std::string counted(std::uint64_t count, const char* noun) { return std::to_string(count) + " " + noun; }

std::unique_ptr<Journal> journal_of(const DevicesOptions& options, const std::string& section) {
  return options.journal.empty() ? nullptr : std::make_unique<Journal>(options.journal, section);
}

void end_journal(const gpu::Device& device, const DevicesOptions& options) {
  if (!options.journal.empty() && (!device.usable || device.usable())) Journal::finish(options.journal);
}

}  // namespace ulpscope::cli

// SPDX-License-Identifier: Apache-2.0
// One function per subcommand: it adds the command to the program; `exit_code` gets what the command returns when it runs.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ulpscope::cli {

/// The command line without the program's name.
using Arguments = std::vector<std::string>;

enum ExitCode : int { done = 0, check_failed = 1, bad_usage = 2, vacuous = 3, no_hardware = 4, own_error = 5 };

void add_info(CLI::App& app, int& exit_code);
void add_formats(CLI::App& app, int& exit_code);
void add_round(CLI::App& app, int& exit_code);
void add_cast(CLI::App& app, int& exit_code);
void add_diff(CLI::App& app, int& exit_code);
void add_census(CLI::App& app, const Arguments& arguments, int& exit_code);
void add_sweep(CLI::App& app, const Arguments& arguments, int& exit_code);
void add_conform(CLI::App& app, int& exit_code);
void add_eval(CLI::App& app, int& exit_code);
void add_engines(CLI::App& app, int& exit_code);
void add_probe(CLI::App& app, int& exit_code);
void add_devices(CLI::App& app, int& exit_code);
void add_matmul(CLI::App& app, int& exit_code);
void add_audit(CLI::App& app, int& exit_code);
void add_accumulation(CLI::App& app, const Arguments& arguments, int& exit_code);
void add_generate(CLI::App& app, int& exit_code);
void add_evidence(CLI::App& app, const Arguments& arguments, int& exit_code);
void add_verify(CLI::App& app, const Arguments& arguments, int& exit_code);
void add_explain(CLI::App& app, int& exit_code);
void add_ledger(CLI::App& app, int& exit_code);

}  // namespace ulpscope::cli

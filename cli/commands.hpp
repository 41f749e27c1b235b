// SPDX-License-Identifier: Apache-2.0
// One function per subcommand: it adds the command to the program; `exit_code` gets what the command returns when it runs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "studies/study.hpp"

namespace ulpscope::cli {

class Command;

/// The command line without the program's name.
using Arguments = std::vector<std::string>;

enum ExitCode : int { done = 0, check_failed = 1, bad_usage = 2, vacuous = 3, no_hardware = 4, own_error = 5 };

constexpr ExitCode exit_code_of(studies::StudyOutcome outcome) {
  switch (outcome) {
    case studies::StudyOutcome::done: return done;
    case studies::StudyOutcome::failed: return check_failed;
    case studies::StudyOutcome::vacuous: break;
  }
  return vacuous;
}

void add_info(Command& app, int& exit_code);
void add_formats(Command& app, int& exit_code);
void add_round(Command& app, int& exit_code);
void add_cast(Command& app, int& exit_code);
void add_choose(Command& app, const Arguments& arguments);
void add_diff(Command& app, const Arguments& arguments, int& exit_code);
void add_census(Command& app, const Arguments& arguments, int& exit_code);
void add_sweep(Command& app, const Arguments& arguments, int& exit_code);
void add_merge(Command& app, int& exit_code);
void add_conform(Command& app, int& exit_code);
void add_eval(Command& app, int& exit_code);
void add_engines(Command& app, int& exit_code);
void add_probe(Command& app, int& exit_code);
void add_devices(Command& app, int& exit_code);
void add_matmul(Command& app, int& exit_code);
void add_audit(Command& app, const Arguments& arguments, int& exit_code);
void add_accumulation(Command& app, const Arguments& arguments, int& exit_code);
void add_generate(Command& app, int& exit_code);
void add_evidence(Command& app, const Arguments& arguments, int& exit_code);
void add_verify(Command& app, const Arguments& arguments, int& exit_code);
void add_explain(Command& app, int& exit_code);
void add_invariance(Command& app, const Arguments& arguments, int& exit_code);
void add_ledger(Command& app, int& exit_code);
/// Runs a command line, as if it were this program's; the exit code.
using RunProgram = std::function<int(const Arguments& arguments)>;
void add_report(Command& app, const RunProgram& run_program, int& exit_code);
void add_run(Command& app, const Arguments& arguments, int& exit_code);
void add_recipes(Command& app);
void add_scalers(Command& app);
void add_scale(Command& app, const Arguments& arguments, int& exit_code);
void add_train(Command& app, const Arguments& arguments, int& exit_code);
void add_schema(Command& app);
void add_completion(Command& app);  ///< and of the whole program to which it is added
void add_man(Command& app);

}  // namespace ulpscope::cli

// SPDX-License-Identifier: Apache-2.0
// What `ulpscope verify OP` has in common whatever OP is: the kernel's output, its last rounding, and how the verdict is shown.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "reports/table.hpp"
#include "verify/check_request.hpp"

namespace ulpscope::cli {

/// How the verdict is kept, beside standard output.
struct VerdictOutput {
  CommonOptions common;
  std::string junit, save;

  void add_to(Command& command);
};

/// One check.
struct VerifyCase {
  verify::ResolvedCheck check;
  verify::OutputRequest output;
  int threads = 0;
  Arguments arguments = {};               ///< the command line
  std::vector<reports::Table> more = {};  ///< tables that text and JSON show below all else
  std::string explain = {};               ///< the command that looks for the cause of a failure, where there is one
};

/// 0, 1 or 3.
ExitCode exit_code_of_check(verify::Outcome outcome);

/// Judges, prints, writes JUnit XML, saves a failing case, and returns the exit code.
int report_verdict(const VerifyCase& checked, const VerdictOutput& output);

/// The words behind `verify`, or behind `ledger record LEDGER`, that check an operation on the examples.
std::string example_of_check(const std::string& operation);

/// Of `verify`: that of matmul has rules beside the verdict.
void add_verify_matmul(Command& verify, const Arguments& arguments, int& exit_code);

}  // namespace ulpscope::cli

// SPDX-License-Identifier: Apache-2.0
// Outputs under several conditions from a program: it is called with the whole batch, again, and with parts of it.
#pragma once

#include <string>
#include <vector>

#include "cli/child_program.hpp"
#include "verify/check_request.hpp"

namespace ulpscope::cli {

/// How a program is asked.
struct InvarianceProgram {
  std::string command;               ///< as typed; `{x}` and the other roles are inputs, `{out}` what it writes
  std::vector<std::string> batched;  ///< roles of the inputs that are cut; empty: those that the operation has by rows
  double timeout_s = 60;             ///< for each call
};

/// Calls the program with inputs of `check`, of which `operation` is, along their first extent: all of it (`all`), once more
/// (`again`), its first and last part alone (`first`, `last`), its first half, all but the first (`from_1`). Gives
/// `NAME=FILE@ROW` for each; the files lie in `folder`.
/// @throws ulpscope::Error where the program does not do it, or where no input has a batch.
std::vector<std::string> outputs_of_program(const std::string& operation, const verify::ResolvedCheck& check,
                                            const InvarianceProgram& asked, const ScratchFolder& folder);

}  // namespace ulpscope::cli

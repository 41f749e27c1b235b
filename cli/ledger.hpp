// SPDX-License-Identifier: Apache-2.0
// One subcommand of `ulpscope ledger` each.
#pragma once

#include "cli/commands.hpp"

namespace ulpscope::cli {

void add_ledger_record(Command& ledger, int& exit_code);
void add_ledger_check(Command& ledger, int& exit_code);
void add_ledger_diff(Command& ledger, int& exit_code);
void add_ledger_show(Command& ledger, int& exit_code);

}  // namespace ulpscope::cli

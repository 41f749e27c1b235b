// SPDX-License-Identifier: Apache-2.0
// A program of the user's as a rule: it is given two files and says by its exit code whether they agree.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "verify/audit/rules.hpp"

namespace ulpscope::cli {

/// `WORDS` of a rule `program:WORDS`; nothing of another.
std::optional<std::string> program_of(const std::string& rule);

/// Runs `command` (program_words()) once for every output; what it prints is read only to tell why it gave no verdict. Exit
/// code 0: the output passes; 1: it does not; anything else, a signal or `timeout_s` seconds: the verdict is broken. `{ref}`
/// and `{out}` are .npy files of float32 (float64 where the format is), `{ref_codes}` and `{out_codes}` of codes. The files
/// are gone when the judge is, also where the command is interrupted while a program runs. @throws ulpscope::Error where the
/// words are none, or name no output.
verify::Rule program_rule(const std::string& command, double timeout_s);

/// `check.py, sha256 HEX`: a line for each file that the words of programs among the rules name, the first of them as it is
/// found in PATH. @throws ulpscope::Error where one cannot be read
std::string program_lines(const std::vector<std::string>& rules);

}  // namespace ulpscope::cli

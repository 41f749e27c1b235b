// SPDX-License-Identifier: Apache-2.0
// The options that commands share, from words to values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "requests/parts.hpp"

namespace ulpscope::cli {

/// Words as typed; parsed after CLI11 has collected them, so that a bad one is answered in our own sentence.
struct CommonOptions {
  requests::FormatList formats;
  requests::RoundingRequest rounding;
  requests::ReadingRequest reading;
  int threads = 0;
  bool text = false, csv = false, json = false;
  std::vector<std::string> where, sort;  ///< which rows of a table, and in which order
  std::string rows;                      ///< the most rows: a number, `all`, or empty for the default

  void add_formats(Command& command);  ///< --to
  /// --rounding --random-bits --policy --flush-subnormals --subnormals-are-zero, and --seed unless the command has its own
  void add_rounding(Command& command);
  void add_input(Command& command);  ///< --dtype, and --seed unless add_rounding() gave it
  void add_threads(Command& command);
  void add_output(Command& command);  ///< --text --csv --json --where --sort --rows
};

}  // namespace ulpscope::cli

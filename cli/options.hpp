// SPDX-License-Identifier: Apache-2.0
// The options that commands share, from words to values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "emu/rounding.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::cli {

/// Words as typed; parsed after CLI11 has collected them, so that a bad one is answered in our own sentence.
struct CommonOptions {
  std::vector<std::string> formats{"fp16", "bf16", "e4m3", "e5m2"};
  std::string rounding = "nearest_even", policy = "nonsaturating", dtype;
  int random_bits = 32, threads = 0;
  bool flush_subnormals = false, subnormals_are_zero = false, policy_given = false;
  std::uint64_t seed = 0;
  bool text = false, csv = false, json = false;
  std::vector<std::string> where, sort;  ///< which rows of a table, and in which order
  std::string rows;                      ///< at most so many: a number, `all`, or empty for the default

  void add_formats(Command& command);  ///< --to
  /// --rounding --random-bits --policy --flush-subnormals --subnormals-are-zero, and --seed unless the command has its own
  void add_rounding(Command& command);
  void add_input(Command& command);  ///< --dtype, and --seed unless add_rounding() gave it
  void add_threads(Command& command);
  void add_output(Command& command);  ///< --text --csv --json --where --sort --rows

  std::vector<emu::Format> parsed_formats() const;
  emu::RoundingOptions parsed_rounding() const;
  tensors::OpenOptions parsed_open() const;
};

Option add_threads(Command& command, int& threads);

/// @throws ulpscope::Error naming the closest known words.
emu::Format parse_format(const std::string& word);

}  // namespace ulpscope::cli

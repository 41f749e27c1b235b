// SPDX-License-Identifier: Apache-2.0
// The words of the program that a machine with a GPU builds: the standard library parses them, there being no other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ulpscope::cli {

struct DevicesOptions {
  std::string phase;  ///< `all`, or one of phase_names()
  std::string device = "cuda:0";
  std::string instruction;  ///< only those whose name contains it
  std::string output;       ///< of a phase a file, of `all` a folder
  std::uint64_t tests = 0;  ///< inner products of each instruction; 0: as many as the phase takes by default
  std::uint64_t seed = 0;
  int seconds = 420;    ///< for all phases together, or for the one asked for
  std::string journal;  ///< file that says what earlier processes of this phase have done; empty: there are none
};

/// @throws ulpscope::Error
DevicesOptions parse_devices_options(const std::vector<std::string>& words);

}  // namespace ulpscope::cli

// SPDX-License-Identifier: Apache-2.0
// ulpscope-devices: what a machine with a GPU is asked for, by a program that needs a CUDA toolkit, CMake and a C++20 compiler
// and nothing else. `ulpscope devices` and `ulpscope probe` do the same with all of ulpscope around them.
#include <signal.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/devices_program/phase_output.hpp"
#include "cli/devices_program/phases.hpp"
#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "files/standard_descriptors.hpp"
#include "gpu/unit.hpp"

namespace {

using namespace ulpscope;

int fail(const std::string& message, int code) {
  cli::conclude("ulpscope-devices: " + emu::visible(message));
  return code;
}

void print_help() {
  std::string text =
      "usage: ulpscope-devices PHASE|all [--device D] [-o FILE|FOLDER] [--instruction TEXT] [--tests N] [--seed N] [--seconds "
      "N]\n"
      "phases:";
  constexpr std::size_t width = 12;
  for (const cli::Phase& phase : cli::phases()) {
    std::string name = phase.name;
    name.resize(std::max(name.size() + 1, width), ' ');
    text += "\n  " + name + phase.words;
  }
  if (!cli::say(text)) throw Error("standard output cannot be written");
}

int run(const std::vector<std::string>& words) {
  const cli::DevicesOptions options = cli::parse_devices_options(words);
  if (options.phase == "all") return cli::run_all(options);
  for (const cli::Phase& phase : cli::phases())
    if (options.phase == phase.name) return phase.run(options);
  throw Error(options.phase.empty() ? "name a phase, or all" : options.phase + ": no such phase; see --help");
}

}  // namespace

int main(int count, char** words) {
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow any more is an error of the write
  files::hold_standard_descriptors();
  const std::vector<std::string> arguments(words + 1, words + count);
  try {
    if (arguments.empty() || arguments.front() == "--help") {
      print_help();
      return arguments.empty() ? cli::bad_usage : cli::done;
    }
    return run(arguments);
  } catch (const gpu::NoDevice& error) {
    return fail(error.what(), cli::no_hardware);
  } catch (const Error& error) {
    return fail(error.what(), cli::bad_usage);
  } catch (const std::exception& error) {
    return fail(std::string("internal error: ") + error.what(), cli::own_error);
  }
}

// SPDX-License-Identifier: Apache-2.0
// The program: reads the command line, runs one command, turns errors into one line and an exit code.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "emu/error.hpp"
#include "emu/simd.hpp"
#include "gpu/unit.hpp"
#include "reports/build_info.hpp"

namespace {

using namespace ulpscope;

constexpr const char* introduction =
    "ulpscope: what low-precision floating point does to numbers, to the last bit\n"
    "\n"
    "  ulpscope round 464 465 0.001 --to e4m3,fp16        one value at a time\n"
    "  ulpscope census model.safetensors                  what each format does to each tensor\n"
    "  ulpscope sweep grads.npy -o report                 which loss scale to use: report/index.html\n"
    "\n"
    "`ulpscope --help` lists the commands, `ulpscope COMMAND --help` explains one.\n";

int fail(const std::string& message, int code) {
  std::fprintf(stderr, "ulpscope: %s\n", message.c_str());
  return code;
}

/// CLI11 takes what begins with `-` for an option: a space before negative numbers keeps them values.
std::vector<std::string> with_marked_numbers(std::vector<std::string> arguments) {
  if (arguments.empty() || arguments.front() != "round") return arguments;
  for (std::string& word : arguments)
    if (word.size() > 1 && word[0] == '-' && std::string_view("0123456789.inIN").find(word[1]) != std::string_view::npos)
      word.insert(0, 1, ' ');
  return arguments;
}

/// The path that the environment asks for; the results do not depend on it.
void choose_simd_path() {
  const char* const path = std::getenv("ULPSCOPE_SIMD");
  if (path == nullptr) return;
  try {
    emu::use_simd_path(path);
  } catch (const Error& error) {
    throw Error(std::string("environment variable ULPSCOPE_SIMD: ") + error.what());
  }
}

int run(const std::vector<std::string>& arguments) {
  CLI::App app("What low-precision floating point does to numbers, to the last bit.", "ulpscope");
  app.set_version_flag("--version", "ulpscope " + reports::version());
  app.require_subcommand(1);
  cli::Command program(app);
  int exit_code = cli::done;
  cli::add_info(program, exit_code);
  cli::add_formats(program, exit_code);
  cli::add_round(program, exit_code);
  cli::add_cast(program, exit_code);
  cli::add_diff(program, exit_code);
  cli::add_census(program, arguments, exit_code);
  cli::add_sweep(program, arguments, exit_code);
  cli::add_conform(program, exit_code);
  cli::add_eval(program, exit_code);
  cli::add_engines(program, exit_code);
  cli::add_probe(program, exit_code);
  cli::add_devices(program, exit_code);
  cli::add_matmul(program, exit_code);
  cli::add_audit(program, exit_code);
  cli::add_accumulation(program, arguments, exit_code);
  cli::add_generate(program, exit_code);
  cli::add_evidence(program, arguments, exit_code);
  cli::add_verify(program, arguments, exit_code);
  cli::add_explain(program, exit_code);
  cli::add_ledger(program, exit_code);
  try {
    std::vector<std::string> words = with_marked_numbers(arguments);
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    app.parse(words);
  } catch (const CLI::Success& wanted) {  // --help, --version
    return app.exit(wanted);
  } catch (const CLI::ParseError& error) {
    return fail(std::string(error.what()) + "; see `ulpscope --help`", cli::bad_usage);
  }
  return exit_code;
}

}  // namespace

int main(int count, char** words) {
  ::signal(SIGPIPE, SIG_IGN);
  try {
    const std::vector<std::string> arguments(words + 1, words + count);
    choose_simd_path();
    if (arguments.empty()) {
      cli::print(introduction);
      return cli::done;
    }
    return run(arguments);
  } catch (const gpu::NoDevice& error) {
    return fail(error.what(), cli::no_hardware);
  } catch (const Error& error) {
    return fail(error.what(), cli::bad_usage);
  } catch (const std::bad_alloc&) {
    return fail("out of memory", cli::own_error);
  } catch (const std::exception& error) {
    return fail(std::string("internal error: ") + error.what(), cli::own_error);
  }
}

// SPDX-License-Identifier: Apache-2.0
// What `ulpscope verify OP` has in common whatever OP is: the kernel's output, its last rounding, and how the verdict is shown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "verify/expected.hpp"
#include "verify/verdict.hpp"

namespace ulpscope::cli {

/// Words as typed.
struct VerifyWords {
  std::string output, output_dtype, against = "exact", junit, save;
  std::string out_rounding = "nearest_even", out_policy = "nonsaturating";
  std::optional<double> false_alarm;
  double at_most = 1.1;
  bool flush_out = false;

  void add_to(Command& command);

  /// An output: the kernel's, or a baseline. Codes are of `--output-dtype`, else of `out` where that is given.
  tensors::Tensor open(const std::string& file, std::optional<emu::Format> out) const;
  verify::LastRounding last_rounding(emu::Format out) const;
};

/// One check.
struct VerifyCase {
  /// An input: the word that named it on the command line, and what it holds.
  struct Input {
    std::string word;
    tensors::Tensor tensor;
  };
  std::string operation = {};  ///< `matmul`
  std::string heading = {};    ///< what was multiplied by what, lines that end with LF
  std::vector<Input> inputs = {};
  Arguments arguments = {};               ///< the command line
  std::vector<reports::Table> more = {};  ///< tables that text and JSON show below all else
  std::vector<std::string> stated =
      {};  ///< options that say what files would not: put at the end of a command that reproduces this
};

/// Judges, prints, writes JUnit XML, saves a failing case, and returns the exit code.
int report_verdict(const VerifyWords& words, const CommonOptions& common, const VerifyCase& check,
                   const verify::Expectation& expectation, const tensors::Tensor& output);

/// Subcommands of `verify`.
void add_verify_matmul(Command& verify, const Arguments& arguments, int& exit_code);
void add_verify_products(Command& verify, const Arguments& arguments, int& exit_code);     ///< sum, dot, conv
void add_verify_elementwise(Command& verify, const Arguments& arguments, int& exit_code);  ///< cast, elementwise
void add_verify_rows(Command& verify, const Arguments& arguments,
                     int& exit_code);  ///< softmax, layer_norm, rms_norm, attention

}  // namespace ulpscope::cli

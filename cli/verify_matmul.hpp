// SPDX-License-Identifier: Apache-2.0
// The words of `ulpscope verify matmul`, and the check they ask for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/matmul_words.hpp"
#include "cli/verify.hpp"

namespace ulpscope::cli {

/// Words as typed.
struct VerifyMatmul {
  MatmulWords problem;
  VerifyWords check;
  std::vector<std::string> rules;  ///< other rules beside the verdict
  std::string engine, acc_rounding = "nearest_even", reduction_order = "ascending";

  /// All but `rules`.
  void add_to(Command& command);
};

struct MatmulCheck {
  studies::MatmulConfig problem;  ///< `out` is the output's format
  tensors::Tensor output;
  std::unique_ptr<verify::Expectation> expectation;
};

/// Opens inputs and output. @throws ulpscope::Error
MatmulCheck parse_verify_matmul(VerifyMatmul words);

}  // namespace ulpscope::cli

// SPDX-License-Identifier: Apache-2.0
// What the operations beside matmul have in common: formats of the input, of the arithmetic and of the output.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/verify.hpp"
#include "verify/operations/kernel_arithmetic.hpp"
#include "verify/operations/rows.hpp"

namespace ulpscope::cli {

/// Words as typed.
struct OperationWords {
  CommonOptions common;
  VerifyWords check;
  std::string in, acc = "float32", acc_rounding = "nearest_even", out;
  std::uint64_t depth = 0;
  double function_ulp = 2;

  void add_input(Command& command);      ///< --in, --dtype, --seed
  void add_sums(Command& command);       ///< --acc, --acc-rounding, --sum-depth
  void add_functions(Command& command);  ///< --function-ulp
  void add_check(Command& command);      ///< --out, and all of VerifyWords

  verify::KernelArithmetic arithmetic() const;
};

/// A check in the making: opens inputs, remembers them for the report, and runs it.
class OperationCheck {
 public:
  /// @throws ulpscope::Error
  OperationCheck(const OperationWords& words, std::string operation, const Arguments& arguments);

  /// A tensor, rounded to --in or left in its own format.
  verify::Values read(const std::string& name, const std::string& word);
  std::optional<verify::Values> read_if_given(const std::string& name, const std::string& word);
  verify::LastRounding last() const { return last_; }
  /// The exit code.
  int run(const verify::Expectation& expectation) const;

 private:
  const OperationWords& words_;
  VerifyCase check_;
  tensors::Tensor output_;
  verify::LastRounding last_;
};

}  // namespace ulpscope::cli

// SPDX-License-Identifier: Apache-2.0
// The words of `ulpscope matmul`, and the product they ask for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "studies/matmul.hpp"

namespace ulpscope::cli {

/// Words as typed.
struct MatmulWords {
  CommonOptions common;
  std::string a, b, c;
  std::vector<std::string> engines, against, in, dtypes, scale_a, scale_b;
  std::string accumulator, out, output, device, instruction, scale_dtype;
  std::vector<std::uint64_t> seeds{0};
  double alpha = 1;
  std::optional<double> beta;
  std::size_t promote = 0, split_k = 1;
  bool transpose_a = false, transpose_b = false, codes = false;

  /// Operands, formats, scales, the chain and the epilogue, but no engine, and nothing that is printed or written.
  void add_problem(Command& command);
  /// All of `ulpscope matmul`.
  void add_to(Command& command);
  /// Whether only D is wanted, and no table.
  bool only_writes() const { return !output.empty() && against.empty(); }
};

/// Opens the inputs; the engines may be none. @throws ulpscope::Error
studies::MatmulConfig parse_matmul(const MatmulWords& words);

}  // namespace ulpscope::cli

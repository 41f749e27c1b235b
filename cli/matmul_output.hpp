// SPDX-License-Identifier: Apache-2.0
// What `ulpscope matmul` prints and writes.
#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"
#include "studies/matmul/matmul.hpp"
#include "studies/matmul/matmul_request.hpp"

namespace ulpscope::cli {

/// Words as typed.
struct MatmulWords {
  studies::MatmulRequest request;
  CommonOptions common;
  std::string output;
  bool codes = false;

  /// Whether only D is wanted, and no table.
  bool only_writes() const { return !output.empty() && request.against.empty(); }
};

/// @throws ulpscope::Error where D could not be written in the end.
void check_output(const MatmulWords& words);

/// What a reader of the results must know, a line each: inputs that are not independent, elements that overflowed, engines
/// without evidence of our own.
std::vector<std::string> warnings(const MatmulWords& words, const studies::MatmulConfig& config,
                                  const studies::MatmulResult& result);

void write_product(const MatmulWords& words, const studies::MatmulConfig& config, const studies::MatmulProduct& product);

/// D in one line: shape, format, range, how many are infinite or NaN.
std::string product_sentence(const std::string& name, const studies::MatmulConfig& config,
                             const studies::MatmulProduct& product);

void print_matmul(const MatmulWords& words, const studies::MatmulConfig& config, const studies::MatmulResult& result);

}  // namespace ulpscope::cli

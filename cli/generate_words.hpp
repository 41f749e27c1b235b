// SPDX-License-Identifier: Apache-2.0
// The words of `ulpscope generate matmul` and `generate cast`, and what they make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/options.hpp"

namespace ulpscope::cli {

/// Words as typed.
struct GenerateMatmulWords {
  std::string kind, accumulator, out, directory;
  std::vector<std::string> in{"float16"}, engines;
  std::size_t m = 64, n = 64, k = 256;
  double condition = 1e6;
  std::uint64_t seed = 0;
  bool codes = false, safetensors = false, condition_given = false;

  void add_to(Command& command);
};
/// Writes the case, and prints what it is and how it is used. @throws ulpscope::Error
void generate_matmul(const GenerateMatmulWords& words);

struct GenerateCastWords {
  CommonOptions common;
  std::string format, directory;

  void add_to(Command& command);
};
/// Writes input.npy and expected.npy, and prints what they hold. @throws ulpscope::Error
void generate_cast(const GenerateCastWords& words);

}  // namespace ulpscope::cli

// SPDX-License-Identifier: Apache-2.0
// The words of `ulpscope generate matmul` and `generate cast`, and what they make.
#pragma once

#include <string>

#include "cli/command.hpp"
#include "verify/generate/generate_request.hpp"

namespace ulpscope::cli {

/// A request, and where its case goes.
struct GenerateMatmulWords {
  verify::GenerateMatmulRequest request;
  std::string directory;
  bool codes = false, safetensors = false;

  void add_to(Command& command);
};
/// Writes the case, and prints what it is and how it is used. @throws ulpscope::Error
void generate_matmul(const GenerateMatmulWords& words);

struct GenerateCastWords {
  verify::GenerateCastRequest request;
  std::string directory;

  void add_to(Command& command);
};
/// Writes input.npy and expected.npy, and prints what they hold. @throws ulpscope::Error
void generate_cast(const GenerateCastWords& words);

}  // namespace ulpscope::cli

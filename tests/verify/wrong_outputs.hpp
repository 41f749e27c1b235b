// SPDX-License-Identifier: Apache-2.0
// Outputs that an expectation calls wrong, and what it says of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "verify/expected.hpp"

namespace ulpscope::operations {

struct WrongOutputs {
  std::size_t count = 0;  ///< beyond the bound, or not finite where they should be
  std::string said;
};

inline WrongOutputs wrong_outputs(const verify::Expectation& expectation, const std::vector<float>& outputs, emu::Format out) {
  std::vector<verify::Expected> expected(outputs.size());
  expectation.expect(0, expected);
  std::vector<std::uint64_t> indices;
  std::vector<double> wrong;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const double y = static_cast<double>(outputs[i]);
    const auto standing = verify::judge(expectation, i, expected[i], y, {out});
    if (standing != verify::Standing::beyond && standing != verify::Standing::nonfinite) continue;
    indices.push_back(i), wrong.push_back(y);
  }
  return {indices.size(), indices.empty() ? std::string() : expectation.diagnosis(indices, wrong, {out})};
}

}  // namespace ulpscope::operations

// SPDX-License-Identifier: Apache-2.0
// What an emulated engine returns for a generated case: a kernel that runs on that engine, in one chain, returns the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verify/generate/generate.hpp"

namespace ulpscope::verify {

/// What an engine makes of a case.
struct EngineOutcome {
  std::string engine;           ///< its name
  std::vector<float> d;         ///< row-major
  std::uint64_t differing = 0;  ///< from `expected`: other numbers, NaN on one side, zeros of opposite signs
};

/// One chain in ascending k from C, rounded once to the output format.
/// @throws ulpscope::Error naming the closest engines, or the formats that this one takes
EngineOutcome outcome_on(const std::string& engine, const CaseRequest& request, const MatmulCase& made);

}  // namespace ulpscope::verify

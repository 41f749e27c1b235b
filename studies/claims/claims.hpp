// SPDX-License-Identifier: Apache-2.0
// What articles say of low precision, beside the measurement: each claim with its numbers and a verdict.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "requests/field.hpp"
#include "studies/claims/judgement.hpp"

namespace ulpscope::studies {

/// The names of all claims.
std::vector<std::string> claim_names();

/// The members mean what their fields' help says.
struct ClaimsRequest {
  /// What the fields of these names say; `ulpscope schema` has them.
  ///@{
  std::vector<std::string> claim = claim_names();
  std::string cost;
  std::uint64_t seed = 0;
  int threads = 0;
  ///@}

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// claims.csv: a row a claim; claims_measurements.csv: the numbers. @throws ulpscope::Error
StudyResult run(const ClaimsRequest& request, const Progress& progress);
/// What it will cost, without running it. @throws ulpscope::Error
Work work_of(const ClaimsRequest& request);

}  // namespace ulpscope::studies

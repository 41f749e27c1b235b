// SPDX-License-Identifier: Apache-2.0
// `evidence` as people ask for it.
#pragma once

#include <cstdint>
#include <string>

#include "requests/field.hpp"
#include "studies/study.hpp"
#include "verify/evidence/evidence.hpp"
#include "verify/evidence/public_study.hpp"

namespace ulpscope::verify {

/// The members mean what their fields' help says.
struct EvidenceRequest {
  std::uint64_t products = 100000;  ///< correct ones to judge
  std::uint64_t plants = 1000;      ///< kernels with a planted cause
  double false_alarm = 0.01;        ///< stated for the probabilistic bound
  std::string k = "1:65536";        ///< lengths of sums
  std::uint64_t seed = 0;           ///< key of all operands
  bool public_checks = false;       ///< `public`: other people's checks instead
  std::uint64_t lines = 32;         ///< rows and columns of their products, at most
  int threads = 0;                  ///< 0: all

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// @throws ulpscope::Error where words mean nothing
PublicConfig resolve_public(const EvidenceRequest& request);
/// @throws ulpscope::Error where words mean nothing
EvidenceConfig resolve_evidence(const EvidenceRequest& request);

/// Its tables and findings. @throws ulpscope::Error
studies::StudyResult run(const EvidenceRequest& request, const studies::Progress& progress);
/// What it will cost, without running it. @throws ulpscope::Error
studies::Work work_of(const EvidenceRequest& request);

}  // namespace ulpscope::verify

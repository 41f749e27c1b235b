// SPDX-License-Identifier: Apache-2.0
// The accumulation study as people ask for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "requests/field.hpp"
#include "studies/accumulation/accumulation.hpp"
#include "studies/study.hpp"

namespace ulpscope::studies {

/// The members mean what their fields' help says.
struct AccumulationRequest {
  /// What the fields of these names say in the help of `ulpscope accumulation`.
  ///@{
  std::vector<std::string> engine, in, acc, distribution;
  std::vector<std::uint64_t> promote;
  std::string k = "64:65536", shape = "32x32";
  std::uint64_t seed = 0;
  int threads = 0;
  ///@}

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// @throws ulpscope::Error where words mean nothing or an engine does not take a format
AccumulationConfig resolve(const AccumulationRequest& request);

/// Its tables, findings and remarks. @throws ulpscope::Error
StudyResult run(const AccumulationRequest& request, const Progress& progress);
/// What it will cost, without running it. @throws ulpscope::Error
Work work_of(const AccumulationRequest& request);

}  // namespace ulpscope::studies

// SPDX-License-Identifier: Apache-2.0
// Census and sweep as people ask for them.
#pragma once

#include <string>
#include <vector>

#include "requests/field.hpp"
#include "requests/parts.hpp"
#include "studies/census/census.hpp"
#include "studies/census/scaling.hpp"
#include "studies/census/sweep.hpp"
#include "studies/study.hpp"
#include "tensors/inputs.hpp"

namespace ulpscope::studies {

/// What both have: tensors, formats, a rounding. The members mean what their fields' help says.
struct PrecisionRequest {
  std::vector<std::string> inputs;
  requests::FormatList formats{.integers = true};
  requests::RoundingRequest rounding;
  requests::ReadingRequest reading;
  bool integers = false;
  int threads = 0;

  /// The tensors, and what is left out. @throws ulpscope::Error
  tensors::Inputs open() const;

 protected:
  void describe_tail(requests::Fields& fields);
  CensusConfig config_with(emu::Policy policy) const;
};

struct CensusRequest : PrecisionRequest {
  std::string scale = "none";

  void describe(requests::Fields& fields);
  Scaling scaling() const { return parse_scaling(scale); }
  /// Where the policy is not said the rule of the scale says it: MX and NVFP4 saturate (OCP MX 1.0, 6.3).
  CensusConfig config() const;
};

struct SweepRequest : PrecisionRequest {
  std::string log2_scale = "-10:24";

  void describe(requests::Fields& fields);
  ScaleRange range() const { return parse_scale_range(log2_scale); }
  CensusConfig config() const;
};

/// census.csv, sweep.csv. @throws ulpscope::Error
StudyResult run(const CensusRequest& request, const Progress& progress);
StudyResult run(const SweepRequest& request, const Progress& progress);
Work work_of(const CensusRequest& request);
Work work_of(const SweepRequest& request);

}  // namespace ulpscope::studies

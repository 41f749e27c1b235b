// SPDX-License-Identifier: Apache-2.0
// `explain matmul` as people ask for it, and the command that computes what it finds.
#pragma once

#include <string>
#include <vector>

#include "products/request.hpp"
#include "requests/field.hpp"
#include "studies/study.hpp"
#include "verify/explain/explain.hpp"
#include "verify/explain/hypotheses.hpp"

namespace ulpscope::verify {

/// The members mean what their fields' help says.
struct ExplainRequest {
  /// What the fields of these names say in the help of `ulpscope explain matmul`.
  ///@{
  products::ProductRequest product;
  std::string engine = "fma", output;
  double at_least = 0.999, seconds = 10;
  ///@}

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// Opens inputs and output. @throws ulpscope::Error
ExplainConfig resolve(const ExplainRequest& request);

/// The output's name, and verdict_sentence() of what was found.
std::string verdict_sentence(const ExplainRequest& request, const ExplainResult& result);

/// explain.csv, the verdict as a finding. @throws ulpscope::Error
studies::StudyResult run(const ExplainRequest& request, const studies::Progress& progress);
/// What it will cost, without running it. @throws ulpscope::Error
studies::Work work_of(const ExplainRequest& request);

/// The words behind `ulpscope` that compute a hypothesis; none where its parts do not fit its engine.
std::vector<std::string> replaying_words(const ExplainRequest& request, const Claim& claim, const Hypothesis& hypothesis);

}  // namespace ulpscope::verify

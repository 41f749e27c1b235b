// SPDX-License-Identifier: Apache-2.0
// `ulpscope conform` as people ask for it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "requests/field.hpp"
#include "requests/parts.hpp"
#include "studies/study.hpp"
#include "verify/conform/conform.hpp"
#include "verify/conform/conform_tables.hpp"

namespace ulpscope::verify {

/// The members mean what their fields' help says.
struct ConformRequest {
  /// What the fields of these names say in the help of `ulpscope conform`.
  ///@{
  std::string library, symbol, signature = "batch", program, dump;
  int subject_threads = 0;
  std::string from, to, op, preset, nan, range;
  double timeout = 60;
  std::uint64_t ulp = 0, examples = 3;
  requests::RoundingRequest rounding;
  std::uint64_t seed = 0;  ///< of the inputs, where they are a sample
  int threads = 0;
  ///@}

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// The subject in words.
std::string subject_name(const ConformRequest& request);

/// What a run gives.
struct ConformResult {
  ConformHeading heading;   ///< what was asked
  Conformance conformance;  ///< what came of it
};

/// Runs the subject on all inputs. `found` gets a line for each of the first mismatches, while later inputs are still to be
/// visited. @throws ulpscope::Error
ConformResult conform(const ConformRequest& request, const studies::Progress& progress,
                      const std::function<void(const std::string& line)>& found = {});

/// Whether the subject conforms; vacuous where nothing was compared.
studies::StudyOutcome outcome_of(const Conformance& result);

/// Writes the inputs as raw words, for a subject that answers elsewhere. @throws ulpscope::Error
void write_inputs(const ConformRequest& request, const std::string& path);

/// conform.csv and examples.csv. @throws ulpscope::Error
studies::StudyResult run(const ConformRequest& request, const studies::Progress& progress);
/// Inputs.
studies::Work work_of(const ConformRequest& request);

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// Census and sweep as people ask for them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "requests/field.hpp"
#include "requests/parts.hpp"
#include "studies/census/census.hpp"
#include "studies/census/groups.hpp"
#include "studies/census/scaling.hpp"
#include "studies/census/sweep.hpp"
#include "studies/kept_rows.hpp"
#include "studies/study.hpp"
#include "tensors/inputs.hpp"

namespace ulpscope::studies {

/// Tensors to work on, and what gives those of models.
struct PrecisionInputs : tensors::Inputs {
  std::shared_ptr<const ValueNodes> nodes = nullptr;  ///< null where no model is computed
};

/// What both have: tensors, formats, a rounding. The members mean what their fields' help says.
struct PrecisionRequest {
  /// What the fields of these names say in the help of `ulpscope census`.
  ///@{
  std::vector<std::string> inputs;
  requests::FormatList formats{.integers = true};
  requests::RoundingRequest rounding;
  requests::ReadingRequest reading;
  std::vector<std::string> model_inputs;
  GroupsRequest groups;
  bool integers = false;
  int threads = 0;
  ///@}

  /// The tensors, and what is left out. @throws ulpscope::Error
  PrecisionInputs open() const;

 protected:
  /// Describes what follows the formats.
  void describe_tail(requests::Fields& fields);
  /// What is asked for, where the policy is not said `policy`.
  CensusConfig config_with(emu::Policy policy) const;
};

/// What is asked of a census.
struct CensusRequest : PrecisionRequest {
  std::string scale = "none";  ///< a word for parse_scaling()
  bool blocks = false;         ///< what the field's help says
  bool history = false;        ///< what the field's help says

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
  /// The rule of the scales. @throws ulpscope::Error
  Scaling scaling() const { return parse_scaling(scale); }
  /// Where the policy is not said the rule of the scale says it: MX and NVFP4 saturate (OCP MX 1.0, 6.3).
  CensusConfig config() const;
  /// What is to be said of formats that the rule of the scale does not have: a line, or none.
  std::vector<std::string> remarks() const;
};

/// What is asked of a sweep.
struct SweepRequest : PrecisionRequest {
  std::string log2_scale = "-10:24";  ///< a word for parse_scale_range()

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
  /// The scales. @throws ulpscope::Error
  ScaleRange range() const { return parse_scale_range(log2_scale); }
  /// The formats and the rounding. @throws ulpscope::Error
  CensusConfig config() const;
};

/// census.csv, sweep.csv. @throws ulpscope::Error
StudyResult run(const CensusRequest& request, const Progress& progress);
/// The same; of `history` rows of tensors are kept, and not measured again where they were.
StudyResult run(const CensusRequest& request, const Progress& progress, const OpenKeptRows& open_kept);
StudyResult run(const SweepRequest& request, const Progress& progress);
/// What it will cost, without running it. @throws ulpscope::Error
Work work_of(const CensusRequest& request);
/// What it will cost, without running it. @throws ulpscope::Error
Work work_of(const SweepRequest& request);

}  // namespace ulpscope::studies

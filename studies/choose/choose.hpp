// SPDX-License-Identifier: Apache-2.0
// The narrowest format and scale rule of each tensor of a checkpoint that keeps what is asked of it, as a plan to cast by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "requests/field.hpp"
#include "requests/parts.hpp"
#include "studies/cast/plan.hpp"
#include "studies/kept_rows.hpp"
#include "studies/quantization/quantization.hpp"
#include "studies/study.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// The members mean what their fields' help says.
struct ChooseRequest {
  /// What the fields of these names say in the help of `ulpscope choose`.
  ///@{
  std::vector<std::string> inputs;
  requests::FormatList formats{.to = {"e2m1", "e4m3", "bf16"}, .integers = true};
  std::vector<std::string> scale{"none", "amax", "row", "128x128", "mx:rceil", "nvfp4"};
  double sqnr = 30;
  std::string below = "100%", group;
  std::vector<std::string> copy;
  CastPlan naming;
  requests::ReadingRequest reading;
  int threads = 0;
  ///@}

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// A tensor, or several that are decided together.
struct Choice {
  std::string name;                        ///< the tensor's label, or `group:NAME`
  std::vector<std::string> patterns = {};  ///< of the tensors' names, for the plan
  std::uint64_t count = 0;                 ///< elements
  std::uint64_t tensors = 0;               ///< how many they are
  double bits_before = 0;                  ///< of an element as it is stored, on average
  double bits_copied = 0;  ///< of an element in a .safetensors file that it is copied into: blocks of GGUF are not
  /// What to store it in. Of several tensors: the least decibels, the greatest shares, all bits.
  Recommendation recommendation = {};
  bool copies = false;  ///< it stays as it is: nothing keeps the requirement, or it is asked for
};

/// The choices, in the order of the tensors, or of the first of each group.
struct Choices {
  std::vector<Choice> all;           ///< one for each tensor or group
  std::vector<std::string> remarks;  ///< what was left out, and what it saves
};

/// What was measured before is not measured again where `open_kept` is given. @throws ulpscope::Error
Choices choose(const ChooseRequest& request, const Progress& progress = {}, const OpenKeptRows& open_kept = {});
/// choose.csv.
reports::Table choose_table(const ChooseRequest& request, const Choices& choices);
/// The plan that cast takes.
CastPlan plan_of(const ChooseRequest& request, const Choices& choices);

/// choose.csv, and a finding for each. @throws ulpscope::Error
StudyResult run(const ChooseRequest& request, const Progress& progress);
/// What it will cost, without running it. @throws ulpscope::Error
Work work_of(const ChooseRequest& request);

}  // namespace ulpscope::studies

// SPDX-License-Identifier: Apache-2.0
// Which entries each tensor of a checkpoint becomes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "studies/cast/cast.hpp"
#include "studies/cast/made_finite.hpp"
#include "studies/cast/stored_tensor.hpp"
#include "studies/study.hpp"
#include "tensors/hadamard.hpp"
#include "tensors/inputs.hpp"
#include "tensors/write.hpp"

namespace ulpscope::studies {

/// What a file is made of.
struct FileContents {
  std::vector<tensors::NamedCodes> rounded;  ///< codes and scales
  tensors::Beside beside;                    ///< what stays as it is
  std::vector<StoredAs> stored;              ///< what was rounded
  /// Count again what became finite, of codes that are not made because they are kept from before.
  std::vector<std::function<void()>> recounts;
};

/// Decides, tensor by tensor, and keeps count. `inputs` has all tensors, of which several files may be made: fused sets and the
/// progress are over all of them.
class CastTensors {
 public:
  /// @throws ulpscope::Error where a rule of the plan is wrong, or matches nothing, or there is no tensor
  CastTensors(const CastFileRequest& request, const CastPlan& plan, const tensors::Inputs& inputs, const Progress& progress);

  /// The contents of a file of these, a part of all, whose `__metadata__` was `metadata`. @throws ulpscope::Error
  FileContents of(const tensors::Inputs& inputs, const std::string& metadata);
  /// Tells of codes that were made before. @throws ulpscope::Error
  void pass_by(const FileContents& contents);
  /// What was lost, copied and left out, a line each; complete when every tensor has been in a file.
  std::vector<std::string> remarks() const;

 private:
  /// Tensors that share a scale, and their largest magnitude once it is needed.
  struct FusedSet {
    std::vector<tensors::Tensor> members;
    std::optional<double> amax;
  };

  /// What the plan asks of the tensors together.
  struct Asked {
    std::set<std::string> rounded;                                          ///< names of tensors that are not copied
    bool has_set = false, shares = false, scales = false, rotates = false;  ///< whether any tensor is of a set, and so on
  };
  /// @throws ulpscope::Error where a rule matches none of the names, or `names`, of what can be rounded, without an effect
  void refuse_idle_rules(const tensors::Inputs& inputs, std::vector<std::string> names) const;
  /// @throws ulpscope::Error where an option of the command line has no effect
  void refuse_idle_options(const Asked& asked) const;
  /// One word is for all of a file that has scales: codes that are copied, and those that are made. @throws ulpscope::Error
  /// where they differ, or codes are to be rounded
  void decide_rotation(const tensors::Inputs& inputs, const Asked& asked);
  /// Whether a rule rotates a tensor before it is rounded, and the tensor as it is rounded.
  bool is_rotated(const tensors::Tensor& tensor, const PlanRule& rule) const;
  tensors::Tensor before_rounding(const tensors::Tensor& tensor, const PlanRule& rule) const;
  void add_rounded(const tensors::Tensor& tensor, const PlanRule& rule, FileContents& contents);
  /// Of the members of the tensor's set that the same rule is for.
  std::optional<double> shared_amax(const std::string& name, const PlanRule& rule);
  static std::string key_of(const std::string& set, const PlanRule& rule);
  /// Tells of the codes that are made.
  tensors::Producer<emu::Code> counted(tensors::Producer<emu::Code> codes);

  const CastFileRequest& request_;
  const CastPlan& plan_;
  RuleIndex rules_;
  FusedSets fused_;
  std::optional<tensors::Hadamard> hadamard_;
  std::optional<std::string> rotation_;  ///< what the metadata say of it; none: what they said before
  Progress progress_;
  std::uint64_t done_ = 0, total_ = 0;
  std::map<std::string, FusedSet> sets_;
  std::shared_ptr<QuantizedOne> quantized_ = std::make_shared<QuantizedOne>();
  std::vector<tensors::Tensor> integers_, kept_, blocks_, odd_, unknown_, left_out_, unrotated_;
  std::vector<std::string> remarks_;  ///< of the inputs
  MadeFiniteCounts made_finite_;
  std::set<std::string> codes_;                ///< names of codes under scales
  std::map<std::string, std::uint64_t> cast_;  ///< tensors by what they became
};

}  // namespace ulpscope::studies

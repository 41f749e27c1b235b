// SPDX-License-Identifier: Apache-2.0
// A tensor, a file or a checkpoint written in other formats.
#pragma once

#include <string>
#include <vector>

#include "requests/field.hpp"
#include "requests/parts.hpp"
#include "studies/cast/plan.hpp"
#include "studies/study.hpp"
#include "tensors/digest.hpp"

namespace ulpscope::studies {

/// The members mean what their fields' help says.
struct CastRounding {
  std::string to;                      ///< the format
  requests::RoundingRequest rounding;  ///< how
  requests::ReadingRequest reading;    ///< what is read

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// A cast of one input.
struct CastRequest : CastRounding {
  std::string input;  ///< tensor file, FILE:NAME, checkpoint, or synthetic tensor

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// The same with scales, of many tensors, each in its own way.
struct CastFileRequest : CastRounding {
  std::vector<std::string> inputs;  ///< one, or the files of a checkpoint
  /// What the fields of these names say in the help of `ulpscope cast`.
  ///@{
  std::string scale = "none", plan;
  std::vector<std::string> copy;
  CastPlan naming;  ///< `layout` and `fused`, which a plan can say as well
  ///@}

  /// Names the members, for the command line.
  void describe(requests::Fields& fields);
  /// What becomes of each tensor. @throws ulpscope::Error
  CastPlan resolved() const;
};

/// A cast that may be ended before it is done.
struct ResumedCast {
  std::string program = {};        ///< which one writes, another may write other bytes; empty: nothing is kept
  tensors::NewDigest digest = {};  ///< by which it knows a file again
};

/// Writes a .safetensors of every tensor's codes and scales, and others as they are; an .npy of one tensor, float32 values or
/// with `codes` unsigned integers (of integers signed ones); or, where the output has neither ending, a folder of the
/// .safetensors files of a checkpoint and of its index, which appear together; where `resumed` says which program this is,
/// files that are done are kept until then, and the next one that casts the same goes on. Returns what is to be known of it:
/// what was copied or left out. @throws ulpscope::Error
std::vector<std::string> write_cast(const CastFileRequest& request, const std::string& output, bool codes,
                                    const Progress& progress = {}, const ResumedCast& resumed = {});

}  // namespace ulpscope::studies

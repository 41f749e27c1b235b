// SPDX-License-Identifier: Apache-2.0
// A checkpoint of several files, written as such.
#pragma once

#include <string>
#include <vector>

#include "studies/cast/cast.hpp"
#include "studies/study.hpp"
#include "tensors/checkpoint.hpp"

namespace ulpscope::studies {

/// Writes each .safetensors of the checkpoint under its own name below `folder`, and its index where it has one: all of them,
/// or none. `resumed` is as write_cast() has it. Returns what is to be known of it. @throws ulpscope::Error
std::vector<std::string> write_cast_folder(const CastFileRequest& request, const CastPlan& plan,
                                           const tensors::Checkpoint& checkpoint, const std::string& folder,
                                           const ResumedCast& resumed, const Progress& progress);

}  // namespace ulpscope::studies

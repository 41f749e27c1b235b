// SPDX-License-Identifier: Apache-2.0
// A tensor or a whole file written in another format.
#pragma once

#include <string>
#include <vector>

#include "requests/field.hpp"
#include "requests/parts.hpp"

namespace ulpscope::studies {

/// The members mean what their fields' help says.
struct CastRequest {
  std::string input;                   ///< tensor file, FILE:NAME, checkpoint, or synthetic tensor
  std::string to;                      ///< the format
  requests::RoundingRequest rounding;  ///< how
  requests::ReadingRequest reading;    ///< what is read

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// Writes a .safetensors of every tensor's codes, integers and tensors of other dtypes as they are; or an .npy of one tensor,
/// float32 values or with `codes` unsigned integers (of integers signed ones). Returns what is to be known of it: what was
/// copied or left out. @throws ulpscope::Error
std::vector<std::string> write_cast(const CastRequest& request, const std::string& output, bool codes);

}  // namespace ulpscope::studies

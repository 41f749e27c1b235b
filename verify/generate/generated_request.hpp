// SPDX-License-Identifier: Apache-2.0
// `verify generated`: an output of a generated case, judged by what is known of its kind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "requests/field.hpp"
#include "verify/check_request.hpp"
#include "verify/generate/generate_request.hpp"

namespace ulpscope::verify {

/// The members mean what their fields' help says.
struct GeneratedRequest {
  GenerateMatmulRequest made;  ///< what `ulpscope generate matmul` was asked
  std::string sums;            ///< what the kernel is said to sum in; empty: the accumulator of the case
  int threads = 0;             ///< as its help says
  OutputRequest output;        ///< the output and how it is judged

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// Makes the operands again and opens the output. @throws ulpscope::Error
ResolvedCheck resolve(const GeneratedRequest& request);

}  // namespace ulpscope::verify

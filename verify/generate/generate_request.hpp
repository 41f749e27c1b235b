// SPDX-License-Identifier: Apache-2.0
// `generate` as people ask for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "requests/field.hpp"
#include "requests/parts.hpp"
#include "verify/generate/generate.hpp"

namespace ulpscope::verify {

/// Operands of a matrix product. The members mean what their fields' help says.
struct GenerateMatmulRequest {
  std::string kind;                        ///< a name of case_kinds()
  std::uint64_t m = 64, n = 64, k = 256;   ///< the shape
  std::vector<std::string> in{"float16"};  ///< one format, or one for A and one for B
  std::string acc, out;                    ///< empty: see resolve()
  std::vector<std::string> engine;         ///< whose results are written, too
  std::optional<double> condition;         ///< of `cancellation`
  std::uint64_t seed = 0;                  ///< key of the random choices

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// The accumulator that is not named is that of the first engine, or float32; the output format that is not named is what
/// kernels usually return: that of A, bfloat16 for smaller ones, float32 for tf32. @throws ulpscope::Error
CaseRequest resolve(const GenerateMatmulRequest& request);

/// Inputs of a conversion. The members mean what their fields' help says.
struct GenerateCastRequest {
  std::string to;                      ///< the format
  requests::RoundingRequest rounding;  ///< how

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

}  // namespace ulpscope::verify

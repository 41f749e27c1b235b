// SPDX-License-Identifier: Apache-2.0
// What a run of training showed, step by step: whether it overflowed, the largest gradient, or the gradients themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "reports/compare/csv_file.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::training {

/// One step of a recorded run.
struct TraceStep {
  std::uint64_t step = 0;                       ///< its number
  std::optional<bool> found_inf = {};           ///< of files that say no more
  std::optional<double> amax = {};              ///< largest magnitude of the unscaled gradients; NaN where one of them is
  std::vector<tensors::Tensor> gradients = {};  ///< where they are recorded, unscaled
};

/// A recorded run.
struct Trace {
  std::vector<TraceStep> steps;  ///< ascending
  std::string remark = {};       ///< what of the file is not used; empty: nothing
  /// Whether the gradients themselves are there.
  bool has_gradients() const { return !steps.empty() && !steps.front().gradients.empty(); }
  /// Elements of all gradients.
  std::uint64_t elements() const;
};

/// A CSV file with a column `found_inf` (0 or 1) or `amax`, a row a step, of which amax decides where both are there, and which
/// a column `step` numbers, in ascending order; or a file of tensors named `STEP/NAME`. Gradients are not read, but for their
/// names and types.
/// @throws ulpscope::Error in one line naming the file, the row or tensor, and what would be right
Trace read_trace(const std::string& path);
/// The same of what is in such a file; `path` is for messages.
///@{
Trace parse_trace(const reports::CsvFile& file, const std::string& path);
Trace trace_of(std::vector<tensors::Tensor> gradients, const std::string& path);
///@}

/// What a scale makes of the gradients of a step, rounded to a format to nearest even.
struct ScaledGradients {
  std::uint64_t elements = 0;   ///< of all gradients
  std::uint64_t to_zero = 0;    ///< nonzero, but zero once they are unscaled
  std::uint64_t subnormal = 0;  ///< nonzero and below the least normal number of the format
  std::uint64_t overflow = 0;   ///< finite, but beyond the format
  double cosine = 0;       ///< of the angle between the gradients and what the step would use; NaN where that is not finite
  double upper = 0;        ///< share of the scaled magnitudes above an edge, and of NaN
  bool found_inf = false;  ///< a rounded one is infinite or NaN
};

/// How gradients are scaled, rounded and unscaled.
struct GradientScaling {
  double scale = 1;                 ///< they are multiplied by it
  bool saturating = false;          ///< what is beyond the format becomes its largest number
  bool unscaled_in_format = false;  ///< divided by the scale in the format, not multiplied by the reciprocal in float32
  double edge = 0;                  ///< for `upper`

  friend bool operator==(const GradientScaling&, const GradientScaling&) = default;
};

/// Products with the scale are formed in float64, and so exact for float32 gradients and powers of two; sums for the cosine are
/// formed in float64 in the order of the elements, so that `threads` (0: all) change no bit.
ScaledGradients scale_gradients(const TraceStep& step, emu::Format to, const GradientScaling& how, int threads);

/// Largest and least magnitude of a step's gradients.
struct GradientRange {
  double amax = 0;                   ///< infinite or NaN where one of them is, NaN before infinity
  std::optional<double> least = {};  ///< of those that are not zero
};
GradientRange range_of(const TraceStep& step, int threads);

}  // namespace ulpscope::training

// SPDX-License-Identifier: Apache-2.0
// How one tensor differs from another: a census instead of one number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emu/format.hpp"
#include "reports/table.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// What may differ; an element is within if any elementwise rule that is set holds, and NaN is never within of a number.
struct Tolerance {
  std::optional<double> ulp, abs, rel;  ///< limits of one element's error; none: not set
  std::optional<double> frobenius;      ///< of the whole: relative Frobenius error

  /// Whether there is any rule.
  bool is_set() const { return ulp || abs || rel || frobenius; }
};

/// Reads `ulp=1,rel=1e-3,...`. @throws ulpscope::Error
Tolerance parse_tolerance(std::string_view word);

/// One element that differs.
struct DiffElement {
  std::uint64_t index;      ///< in row-major order
  double reference, value;  ///< the two values
  double error_ulp;         ///< in units of the format's spacing at the reference
  emu::Code reference_bits = 0, value_bits = 0;  ///< their own
};

/// The format in whose ulps two tensors are compared unless another is asked for: that of fewer bits, of as many the second's;
/// float32 where neither has one.
emu::Format format_of_ulps(const tensors::Tensor& reference, const tensors::Tensor& output);

/// How an output differs from a reference.
struct DiffResult {
  std::string reference, output;                ///< labels
  emu::Format format;                           ///< whose ulps are counted
  bool are_integers = false;                    ///< of both: an ulp is 1 then
  tensors::DType reference_dtype, output_dtype;  ///< what codes are shown in
  std::vector<std::uint64_t> shape;             ///< of both
  /// Elements; those with equal values; those with an infinity or a NaN on one side.
  std::uint64_t count = 0, equal = 0, nonfinite_one_side = 0;
  std::uint64_t nonfinite_unlike = 0;  ///< elements that differ, one of them at least infinite or NaN
  std::uint64_t beyond_1_ulp = 0, beyond_2_ulp = 0, beyond_10_ulp = 0, beyond_100_ulp = 0;  ///< elements that differ by more
  std::uint64_t intolerable = 0;                 ///< elements beyond every elementwise rule that is set
  double max_abs_error = 0, mean_abs_error = 0;  ///< |value - reference|, over elements finite on both sides
  double max_rel_error = 0, mean_rel_error = 0;  ///< |value - reference| / |reference|, over references other than 0
  double bias_ulp = 0;                           ///< mean of value - reference, in ulps
  double rel_frobenius_error = 0;                ///< of the whole, in Frobenius norms
  double cosine = 0;                             ///< of the angle between both
  double sqnr_db = 0;                            ///< signal to quantisation noise
  std::vector<DiffElement> worst;                ///< at most ten, worst first

  /// Whether the check fails: anything differs, or what differs is beyond the tolerance.
  bool fails(const Tolerance& tolerance) const;
};

/// `3;17`: an element's place, one number a dimension.
std::string place_text(std::uint64_t index, const std::vector<std::uint64_t>& shape);

/// What is known of a difference before elements are compared. @throws ulpscope::Error when the shapes differ
DiffResult unmeasured(const tensors::Tensor& reference, const tensors::Tensor& output, emu::Format format);

/// Compares element by element. Equal: the same number (+0 and -0 are), or NaN on both sides. Errors are over elements finite
/// on both sides; bias is the mean signed error. An ulp is `format`'s spacing at the reference, of two integer tensors 1.
/// @throws ulpscope::Error when the shapes differ.
DiffResult diff(const tensors::Tensor& reference, const tensors::Tensor& output, emu::Format format,
                const Tolerance& tolerance);

reports::Table diff_table(const DiffResult& result);      ///< diff.csv, one row
reports::Table worst_elements(const DiffResult& result);  ///< index, hex and value of the worst

}  // namespace ulpscope::studies

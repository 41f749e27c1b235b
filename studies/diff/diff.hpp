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
  std::optional<double> ulp, abs, rel;
  std::optional<double> frobenius;  ///< of the whole: relative Frobenius error

  bool is_set() const { return ulp || abs || rel || frobenius; }
};

/// Reads `ulp=1,rel=1e-3,...`. @throws ulpscope::Error
Tolerance parse_tolerance(std::string_view word);

struct DiffElement {
  std::uint64_t index;
  double reference, value;
  double error_ulp;
};

struct DiffResult {
  std::string reference, output;                ///< labels
  emu::Format format;                           ///< whose ulps are counted
  emu::Format reference_format, output_format;  ///< what codes are shown in; `format` for integers
  std::vector<std::uint64_t> shape;
  std::uint64_t count = 0, equal = 0, nonfinite_one_side = 0;
  std::uint64_t beyond_1_ulp = 0, beyond_2_ulp = 0, beyond_10_ulp = 0, beyond_100_ulp = 0;
  std::uint64_t intolerable = 0;  ///< elements beyond every elementwise rule that is set
  double max_abs_error = 0, mean_abs_error = 0, max_rel_error = 0, mean_rel_error = 0, bias_ulp = 0, rel_frobenius_error = 0,
         cosine = 0, sqnr_db = 0;
  std::vector<DiffElement> worst;  ///< at most ten, worst first

  /// Whether the check fails: anything differs, or what differs is beyond the tolerance.
  bool fails(const Tolerance& tolerance) const;
};

/// `3;17`: an element's place, one number a dimension.
std::string place_text(std::uint64_t index, const std::vector<std::uint64_t>& shape);

/// Compares element by element. Equal: the same number (+0 and -0 are), or NaN on both sides. Errors are over elements finite
/// on both sides; bias is the mean signed error. An ulp is `format`'s spacing at the reference.
/// @throws ulpscope::Error when the shapes differ.
DiffResult diff(const tensors::Tensor& reference, const tensors::Tensor& output, emu::Format format,
                const Tolerance& tolerance);

reports::Table diff_table(const DiffResult& result);      ///< diff.csv, one row
reports::Table worst_elements(const DiffResult& result);  ///< index, hex and value of the worst

}  // namespace ulpscope::studies

// SPDX-License-Identifier: Apache-2.0
// The census at every loss scale 2^k, and which scale to use.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/table.hpp"
#include "studies/census/census.hpp"

namespace ulpscope::studies {

/// The exponents k of the scales 2^k: low, low + step, ... up to high inclusive.
struct ScaleRange {
  int low = -10, high = 24, step = 1;  ///< whole numbers; step at least 1
  /// All of them, ascending.
  std::vector<int> exponents() const;
  /// How many scales there are.
  std::size_t count() const { return exponents().size(); }
};

/// Reads LO:HI[:STEP], whole numbers within +-500. @throws ulpscope::Error
ScaleRange parse_scale_range(std::string_view word);

/// What one format does to one tensor at one scale.
struct SweepRow {
  std::string tensor;  ///< its label
  emu::Format format;  ///< the format
  int log2_scale;      ///< elements are multiplied by 2^log2_scale before rounding, and divided after
  ErrorSums sums;      ///< counts and errors, against the unscaled elements
  /// Of a group of tensors: the labels of those in which its largest and its smallest nonzero element lie.
  std::string largest_in = {}, smallest_in = {};
};

/// A job for each format and scale, by format.
std::vector<Job> sweep_jobs(const tensors::Tensor& tensor, const ScaleRange& range, const CensusConfig& config);

/// Rows by format, then scale; the tensor is read once.
std::vector<SweepRow> sweep(const tensors::Tensor& tensor, const ScaleRange& range, const CensusConfig& config);

/// sweep.csv.
reports::Table sweep_table(const std::vector<SweepRow>& rows, const emu::RoundingOptions& options);

/// Which loss scale suits one tensor and format.
struct Advice {
  std::string tensor;              ///< its label
  emu::Format format;              ///< the format
  std::optional<int> first, last;  ///< scales without overflow and with the least lost to zero; none if all overflow
  int use_log2 = 0;                ///< fewest overflows, then fewest zeros, then fewest subnormals, then nearest to 2^0
  int largest_tried = 0;           ///< log2 of the largest scale of the sweep
  std::uint64_t count = 0, lost_to_zero = 0, overflowing = 0;  ///< at `use_log2`
  std::uint64_t nonzero = 0;                                   ///< finite elements that are not zero
  std::uint64_t not_held = 0;                                  ///< infinities and NaN that the format does not have
  std::uint64_t worst_index = 0;  ///< the element farthest outside the format's normal range, or nearest its end
  double worst_value = 0;         ///< its magnitude
  bool worst_is_large = false;    ///< it is the largest, not the smallest
  /// Of a group: the tensors that limit the scales from above, by the largest element, and from below, by the smallest.
  std::string above = {}, below = {};
};

/// One for each format of `rows`, which are those of one tensor.
std::vector<Advice> advise(const std::vector<SweepRow>& rows);

/// The same of one tensor after the other.
std::vector<Advice> advise(const std::vector<std::vector<SweepRow>>& rows);

/// loss_scales.csv: a row for each advice. `log2_scale` is the scale to use, `to_zero` and `overflow` count what it loses;
/// `least_log2_scale` and `greatest_log2_scale` bound the scales that lose nothing to overflow and least to zero, `nan`
/// where all lose something to overflow. `worst_element` is the element farthest outside the format's normal range or nearest
/// its end, `worst_abs_input` its magnitude, `nan` where none is finite and not zero. Of a group, `limits_above` and
/// `limits_below` are the tensors that have its largest and its smallest element.
reports::Table loss_scale_table(const std::vector<Advice>& advice);

/// The advice as one sentence.
std::string sentence(const Advice& advice);

/// A number in prose, with `precision` significant digits.
std::string digits(double value, int precision = 4);

/// "61.2%": three significant digits, never 0% or 100% of what is neither.
std::string percent(std::uint64_t part, std::uint64_t whole);

/// An error or a share in prose, as "61.2%": `share` is 1 for all.
std::string percent(double share);

}  // namespace ulpscope::studies

// SPDX-License-Identifier: Apache-2.0
// Which format, under which scale, keeps a tensor best at equal bits: floating-point formats and symmetric integers, each under
// the scale rules that it is used with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "reports/page.hpp"
#include "requests/field.hpp"
#include "requests/parts.hpp"
#include "studies/census/scaling.hpp"
#include "studies/kept_rows.hpp"
#include "studies/study.hpp"
#include "tensors/inputs.hpp"

namespace ulpscope::studies {

/// The members mean what their fields' help says.
struct QuantizationRequest {
  /// What the fields of these names say; `ulpscope schema` has them.
  ///@{
  std::vector<std::string> inputs;
  requests::FormatList formats{.to = {"fp16", "bf16", "int8", "e5m2", "e4m3", "e3m4", "e3m2", "e2m3", "int4", "e2m1"},
                               .integers = true};
  std::vector<std::string> scale{"none", "amax", "row", "1x128", "128x128", "mx:rceil", "nvfp4"};
  double sqnr_db = 30;
  requests::ReadingRequest reading;
  int threads = 0;
  ///@}
  bool quantiles = true;  ///< whether quantiles of errors are told, which takes two more passes over each tensor

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// Whether a format is used with a rule: integers have scales, MX elements 8 bits or fewer (OCP MX 1.0, table 1), NVFP4 is
/// e2m1, and what has a wide exponent needs no scale for each row or block.
bool is_used_with(emu::Format format, ScaleRule rule) noexcept;

/// The quantiles of |error| / |x|, over nonzero finite x, that the study tells.
inline constexpr std::array<double, 4> told_quantiles{0.5, 0.9, 0.99, 0.999};

/// One tensor in one format under one rule.
struct Quantized {
  std::string tensor;           ///< its label
  emu::Format format;           ///< of the codes
  Scaling scaling;              ///< how scales follow from the elements
  double bits_per_element = 0;  ///< those of the codes, and the share of the stored scales
  /// Elements; those that are finite; finite ones that become zero, and that overflow.
  std::uint64_t count = 0, finite = 0, to_zero = 0, overflow = 0;
  std::uint64_t infinite = 0, nan = 0;  ///< elements that are not finite
  double lost_share = 0;  ///< of nonzero finite elements, those that become zero or overflow
  double sqnr_db = 0;     ///< inf: exact; -inf: a finite number became infinite or NaN; nan: there is no finite number
  /// Quantiles of |error| / |x| over finite nonzero elements, at told_quantiles, rounded up.
  std::array<float, told_quantiles.size()> relative_errors{};
  double max_relative_error = 0;  ///< the largest of them
  int rank = 0;                   ///< by sqnr_db, from 1, among those of the tensor whose codes have as many bits
};

/// Why it does not keep the tensor, whatever its decibels: formats without infinities or NaN, and rules that clamp, make other
/// numbers of these, and some scales cannot be stored. Empty: it does.
std::string objection_to(const Quantized& row);

/// By tensor, element bits (most first), rank. @throws ulpscope::Error
std::vector<Quantized> quantize(const QuantizationRequest& request, const Progress& progress = {});
/// Open tensors to be measured.
struct QuantizationInputs {
  std::vector<tensors::Tensor> tensors;                 ///< under scales, rotated where that is asked for
  std::vector<tensors::Tensor> plain;                   ///< the same without scales, which are not rotated
  std::vector<std::optional<double>> shared_amax = {};  ///< Scaling::shared_amax of each; empty: none
  std::optional<KeptRows> kept = {};  ///< a row for each pair of a tensor and a quantizer; without quantiles only
};
/// The same of tensors that are open. @throws ulpscope::Error
std::vector<Quantized> quantize(const QuantizationInputs& inputs, const QuantizationRequest& request,
                                const Progress& progress = {});

/// How many pairs of a format and a scale are measured of each tensor. @throws ulpscope::Error
std::size_t measured_pairs(const QuantizationRequest& request);
/// Which pairs of a format and a scale are not measured, and why; empty where all are.
std::string left_out(const QuantizationRequest& request);

/// What a tensor is to keep.
struct Requirement {
  double sqnr_db = 0;     ///< decibels, at least
  double lost_share = 1;  ///< Quantized::lost_share, at most

  /// Whether a row keeps it.
  bool holds(const Quantized& row) const { return row.sqnr_db >= sqnr_db && row.lost_share <= lost_share; }
  /// `reaches 30 dB`, `reaches 30 dB with at most 0.1% lost`
  std::string words() const;
};

/// What to store a tensor in: of the rows that keep the requirement the one of fewest bits, else that of the most decibels.
struct Recommendation {
  Quantized choice;      ///< that row
  bool reaches = false;  ///< whether it keeps the requirement
  std::string reason;    ///< in one sentence
};
/// A row that is no choice, whatever its decibels.
struct LeftOut {
  Quantized row;    ///< what was measured
  std::string why;  ///< as `objection_to` says it
};
/// Of the rows of one tensor; the reason says where one that is left out would have been nearer.
Recommendation recommend(const std::vector<Quantized>& rows, const Requirement& requirement,
                         const std::vector<LeftOut>& left_out = {});
/// `float8_e4m3fn, mx:rceil`
std::string name_of(const Quantized& row);

/// Of its tables: a heat map of tensors by formats.
std::vector<reports::Figure> quantization_figures(const std::vector<reports::Table>& tables);

/// quantization.csv, recommendations.csv. @throws ulpscope::Error
StudyResult run(const QuantizationRequest& request, const Progress& progress);
/// What it will cost, without running it. @throws ulpscope::Error
Work work_of(const QuantizationRequest& request);

}  // namespace ulpscope::studies

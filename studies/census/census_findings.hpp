// SPDX-License-Identifier: Apache-2.0
// What census and sweep found: how bad is what a format does to a tensor, by which threshold, and whether a scale mends it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/finding.hpp"
#include "studies/census/census.hpp"
#include "studies/census/sweep.hpp"

namespace ulpscope::studies {

/// Elements of that class, in percent of all, of what becomes zero in percent of the finite nonzero ones: as a table's `NAME%`
/// has it. nan where there are no elements.
double percent_of(const ErrorSums& sums, emu::Outcome outcome);

/// Elements that are infinite or NaN, of which the format has none: something else stands in their place.
std::uint64_t not_held(const ErrorSums& sums, emu::Format format);

/// Elements that overflow, become zero, or are not held: of these nothing is left.
std::uint64_t lost_elements(const ErrorSums& sums, emu::Format format);

/// These in percent of the elements of which there is something to lose: those that are not zero, and if infinite or NaN not
/// held. 0 where there are none.
double lost_percent(const ErrorSums& sums, emu::Format format);

/// The same share in prose: `61% of the numbers other than 0`, or where that is all of the tensor `61%`.
std::string lost_words(const ErrorSums& sums, emu::Format format);

/// Bad: something overflows, or is infinite or NaN and the format has none such, or more than 1 % of the finite nonzero
/// elements becomes zero. Warning: something becomes zero, or more than 5 % is subnormal.
reports::Severity severity(const ErrorSums& sums, emu::Format format);

/// What decided the severity of a row: the share, its threshold, and where that comes from. `tensor` is how the sentence calls
/// it; `cause`, if any, are sentences that follow it.
reports::Finding finding_of(const CensusRow& row, const Scaling& scaling, const std::string& tensor,
                            const std::string& cause = {});

/// The scale to use: what is lost there.
reports::Finding finding_of(const Advice& advice);

/// What becomes of a tensor in a format.
enum class TensorFate : std::uint8_t {
  fits,      ///< as it is given, the census is good
  mended,    ///< it is not, but it is good at a scale 2^k
  few_bits,  ///< nothing is lost, at the best scale if scales were tried, but more than 5 % is subnormal
  lossy      ///< something is lost, at every scale that was tried, if any was
};

/// A row of a census, and what a scale would make of it.
struct Judged {
  const CensusRow* row = nullptr;      ///< as the tensor is given
  const SweepRow* best = nullptr;      ///< at the scale to use; none where no scales were tried
  TensorFate fate = TensorFate::fits;  ///< the verdict
  /// At the best scale, or as given.
  const ErrorSums& sums() const { return best != nullptr ? best->sums : row->sums; }
  /// Elements lost there.
  std::uint64_t lost() const { return lost_elements(sums(), row->format); }
};

/// Of each row of a tensor's census; `sweep` may be empty. The result points into both.
std::vector<Judged> judge(const std::vector<CensusRow>& census, const std::vector<SweepRow>& sweep);

}  // namespace ulpscope::studies

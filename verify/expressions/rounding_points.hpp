// SPDX-License-Identifier: Apache-2.0
// Where does a fused kernel round? The formula with roundings put in or left out, against the bits that the kernel returned.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "emu/rounding.hpp"
#include "reports/table.hpp"
#include "tensors/tensor.hpp"
#include "verify/expressions/expression.hpp"

namespace ulpscope::verify {

/// A format that a kernel may round to, and how.
struct RoundingPoint {
  emu::Format format;                 ///< of at most float32
  emu::RoundingOptions options = {};  ///< direction and policy
  /// Whether both are the same.
  bool operator==(const RoundingPoint&) const = default;
};
/// `bf16`, `bf16:toward_zero`, `e4m3:saturating`, or both words. @throws Error where it is none of a format of at most float32
RoundingPoint parse_rounding_point(const std::string& word);

/// A formula that differs from the one that was given in where it rounds, and how far it gives the output's bits.
struct RoundingPoints {
  std::string formula;                  ///< with its roundings
  std::size_t added = 0, removed = 0;   ///< roundings and orders of running sums, against the given formula
  std::uint64_t equal = 0, beyond = 0;  ///< elements that are its value rounded once; that are beyond its bound
  std::uint64_t gained = 0, lost = 0;   ///< of `equal`, those that the given formula has not; those that it alone has

  /// What the elements that tell it from the given formula say for it, beyond chance.
  double evidence_bits() const;
};

/// What was found.
struct RoundingSearch {
  std::uint64_t count = 0;             ///< elements that were compared, the first ones of the output
  std::uint64_t total = 0;             ///< elements of the output
  std::uint64_t undefined = 0;         ///< of those compared, NaNs of the output
  std::vector<RoundingPoints> points;  ///< the formula as it was given, then the others, the likeliest first

  /// Whether the formula as it was given leaves no element beyond its bound.
  bool holds() const { return points.front().beyond == 0; }
  /// Whether that says nothing: there is no element, or each is NaN, as of any roundings.
  bool is_vacuous() const { return holds() && found() == nullptr && undefined == count; }
  /// The likeliest of the others, where it leaves none, more elements are its value and, where the formula as it was given
  /// leaves none either, these speak for it beyond chance; else null.
  const RoundingPoints* found() const;
  /// The bits that so many formulas ask for.
  double needed_bits() const;
};

/// Tries roundings to `formats` of every intermediate result, and each of its own left out or replaced: all combinations where
/// they are 256 or fewer, else the best ones found by changing one place after the other. Where none has all bits, then with
/// roundings of each use of a named part and orders of running sums: all combinations where they are 64 or fewer.
/// @throws Error where the formula is malformed or does not fit
RoundingSearch search_rounding_points(const Expression& expression, const tensors::Tensor& output,
                                      const std::vector<RoundingPoint>& formats);

/// In one sentence.
std::string sentence_of(const RoundingSearch& search);
/// explain.csv: formula, added, removed, equal, beyond, count.
reports::Table table_of(const RoundingSearch& search);

}  // namespace ulpscope::verify

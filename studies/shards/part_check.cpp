// SPDX-License-Identifier: Apache-2.0
// Holds counts against the elements of a piece, sums against counts, and both against the exponents.
#include "studies/shards/part_check.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace ulpscope::studies {
namespace {

using emu::Outcome;

constexpr const char* other_counts = "has counts that do not add up to its elements";

/// What is left of `elements` without these; nothing where they are more.
std::optional<std::uint64_t> left_of(std::uint64_t elements, std::span<const std::uint64_t> counts) {
  for (const std::uint64_t count : counts) {
    if (count > elements) return std::nullopt;
    elements -= count;
  }
  return elements;
}

bool has_extremes(const ErrorSums& sums, const ElementRange& range) {
  const double least = sums.smallest.magnitude, most = sums.largest.magnitude;
  if (sums.nonzero == 0) return most == 0 && std::isinf(least);
  const auto is_there = [&](const Extreme& of) { return of.index >= range.first && of.index - range.first < range.count; };
  return least > 0 && least <= most && std::isfinite(most) && is_there(sums.smallest) && is_there(sums.largest);
}

/// An error's square is one of those summed; a relative error is no larger than the largest error of the smallest element; an
/// error in spacings is that of a number to one that is no farther from zero, or next to it: at most 2^53 of float64, and
/// infinite where a scale takes a number beyond double. Each has a margin for roundings.
bool has_maxima(const ErrorSums& sums) {
  constexpr double margin = 1 + 0x1p-20, most_ulp = 0x1p56;
  const auto is_within = [](double size, double most) { return size >= 0 && size <= most; };
  return is_within(sums.max_abs, margin * root_mean(sums.error, 1)) &&
         is_within(sums.max_rel, margin * (sums.max_abs / sums.smallest.magnitude)) &&
         (is_within(sums.max_ulp, most_ulp) || sums.max_ulp == std::numeric_limits<double>::infinity());
}

std::string contradiction_in(const ErrorSums& sums, const ElementRange& range) {
  if (left_of(range.count, sums.counts) != 0) return other_counts;
  const std::uint64_t finite = sums.finite();
  const bool adds_up =
      sums.nonzero <= finite - sums.of(Outcome::zero) && std::max(sums.lost, sums.lost_when_saturating) <= finite;
  if (!adds_up) return other_counts;
  if (!has_extremes(sums, range)) return "has a smallest and a largest element that cannot be";
  if (!has_maxima(sums)) return "has largest errors that do not follow from its sums";
  return {};
}

/// Sums and exponents are of the same elements.
std::string contradiction_in(const ErrorSums& sums, const ExponentCounts& exponents, std::uint64_t nonzero) {
  if (sums.of(Outcome::nan) != exponents.nan || sums.of(Outcome::infinite) != exponents.infinite || sums.nonzero != nonzero)
    return "has counts that are not those of its exponents";
  const auto has = [&](double magnitude) {
    return exponents.counts[static_cast<std::size_t>(std::ilogb(magnitude) - ExponentCounts::least)] != 0;
  };
  if (nonzero == 0 || (has(sums.smallest.magnitude) && has(sums.largest.magnitude))) return {};
  return "has a smallest and a largest element that are not among its exponents";
}

/// Each block begins at an element of its own, in the order of their numbers. Decibels are those of all blocks with a finite
/// element other than 0; such alone lose something. A tensor whose numbers are too large may have no scales.
std::string contradiction_in(const BlockSums& sums, const ElementRange& range) {
  const BlockCounts& of = sums.counts;
  const std::uint64_t decibels = sums.decibels.count();
  if (of.blocks > range.count || sums.first > range.first) return "has more blocks than elements";
  const std::optional<std::uint64_t> others = left_of(of.blocks, std::array{of.zero, decibels});
  const bool adds_up = others && *others <= of.nonfinite && of.nonfinite <= of.blocks - of.zero && of.saturated <= decibels &&
                       of.with_to_zero <= decibels && of.all_to_zero <= of.with_to_zero;
  if (!adds_up || sums.scales.count() > of.blocks) return "has counts of blocks that do not add up";
  const bool has_worst = decibels == 0 ? sums.worst == 0 : sums.worst >= sums.first && sums.worst - sums.first < of.blocks;
  return has_worst ? "" : "has a worst block that is none of its own";
}

}  // namespace

std::string contradiction_in(const PartialSums& sums, const ElementRange& range) {
  if (sums.chunks().empty()) return contradiction_in(sums.exact().rounded(), range);
  ElementRange rest = range;  // chunks lie next to each other, and are those of the elements
  for (const ChunkSums& node : sums.chunks()) {
    const std::uint64_t left = rest.count / chunk_elements + (rest.count % chunk_elements != 0 ? 1 : 0);
    const std::uint64_t chunks = std::uint64_t{1} << node.level;
    if (node.first != rest.first / chunk_elements || chunks > left) return "has chunks that are not those of its elements";
    const std::uint64_t size = chunks == left ? rest.count : chunks * chunk_elements;
    if (std::string why = contradiction_in(node.sums, {rest.first, size}); !why.empty()) return why;
    rest = {rest.first + size, rest.count - size};
  }
  return rest.count == 0 ? "" : "has chunks that are not those of its elements";
}

std::string contradiction_in(const TensorPart& piece, const ElementRange& range) {
  const ExponentCounts& exponents = piece.exponents;
  const std::array others{exponents.zeros, exponents.infinite, exponents.nan};
  const std::uint64_t elements = piece.amax ? 0 : range.count;
  const std::optional<std::uint64_t> nonzero = left_of(elements, others);
  if (!nonzero || left_of(*nonzero, exponents.counts) != 0) return "has exponents that do not add up to its elements";
  if (!piece.blocks.empty() && !piece.amax) return "has blocks, and no magnitude of these";
  for (const BlockSums& blocks : piece.blocks)
    if (std::string why = contradiction_in(blocks, range); !why.empty()) return why;
  if (piece.amax) return piece.census.empty() && piece.sweep.empty() ? "" : "has a magnitude of its own, and sums";
  for (const auto* sums : {&piece.census, &piece.sweep})
    for (const PartialSums& one : *sums) {
      std::string why = contradiction_in(one, range);
      if (why.empty()) why = contradiction_in(one.finish(), exponents, *nonzero);
      if (!why.empty()) return why;
    }
  return {};
}

}  // namespace ulpscope::studies

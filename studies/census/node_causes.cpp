// SPDX-License-Identifier: Apache-2.0
// Follows infinities back to where they arise.
#include "studies/census/node_causes.hpp"

#include "emu/decode.hpp"
#include "emu/names.hpp"
#include "studies/census/sweep.hpp"

namespace ulpscope::studies {
namespace {

using emu::Outcome;

constexpr int figures = 5;  // as many as 65504 has

/// The smallest number above 0 that a rounding gives.
double least_kept(emu::Format format, const emu::RoundingOptions& options) {
  return emu::decode(format, options.flush_subnormals ? format.min_normal_code() : emu::Code{1});
}

}  // namespace

std::string node_words(const ValueNode& node) {
  return node.is_initializer() ? "an initializer" : "node '" + node.name + "' (" + node.op + ")";
}

const NodeCauses::Source* NodeCauses::before(const ValueNode& made, const std::string& format) const {
  for (const std::string& taken : made.takes)
    if (const auto found = broken_.find({taken, format}); found != broken_.end()) return &found->second;
  return nullptr;
}

/// How far they are outside the format's, where they are; under a scale they are not those that are rounded.
std::string NodeCauses::magnitudes(const CensusRow& row, const std::string& format) const {
  if (has_scale_) return {};
  const ErrorSums& sums = row.sums;
  const double most = emu::max_finite(row.format), least = least_kept(row.format, options_);
  std::string text;
  if (sums.of(Outcome::overflow) != 0 && sums.largest.magnitude > most)
    text = " up to " + digits(sums.largest.magnitude, figures) + ", where " + format + " ends at " + digits(most, figures);
  if (sums.of(Outcome::to_zero) != 0 && sums.smallest.magnitude < least)
    text += (text.empty() ? "" : ", and") + std::string(" down to ") + digits(sums.smallest.magnitude, figures) + ", where " +
            format + " has none below " + digits(least, figures);
  return text.empty() ? text : " magnitudes" + text;
}

std::string NodeCauses::of(const CensusRow& row) {
  if (!nodes_) return {};
  const auto found = nodes_->find(row.tensor);
  if (found == nodes_->end()) return {};
  const ValueNode& made = found->second;
  const std::string format = emu::format_name(row.format), outside = magnitudes(row, format);
  const bool overflows = row.sums.of(Outcome::overflow) != 0;
  const bool is_infinite = row.sums.of(Outcome::infinite) != 0, is_nan = row.sums.of(Outcome::nan) != 0;
  const bool breaks = overflows || is_infinite || is_nan;
  const Source* const source = before(made, format);
  if (breaks) {
    const std::string what = made.is_initializer() ? "the initializer " + row.tensor : node_words(made);
    broken_.emplace(std::pair(row.tensor, format), source != nullptr ? *source : Source{what, overflows});
  }

  std::string text;
  if (made.is_initializer())
    text = "It is an initializer" + (outside.empty() ? outside : " with" + outside) + ".";
  else
    text = "It comes from " + node_words(made) + (outside.empty() ? outside : ", which gives" + outside) + ".";
  if (is_infinite || is_nan)
    text += std::string(" In float32 it already has ") + (is_infinite ? "infinities" : "") +
            (is_infinite && is_nan ? " and " : "") + (is_nan ? "NaNs" : "") + ".";
  if (source != nullptr)
    text += std::string(" What the node takes ") + (source->overflows ? "overflows" : "is infinite or NaN") +
            " before it, first in " + source->what + ".";
  else if (breaks && !made.is_initializer())
    text += std::string(" It breaks first: nothing counted that the node takes ") +
            (overflows ? "overflows." : "is infinite or NaN.");
  return text;
}

std::vector<std::string> NodeCauses::of(const std::vector<CensusRow>& rows) {
  std::vector<std::string> all;
  for (const CensusRow& row : rows) all.push_back(of(row));
  return all;
}

}  // namespace ulpscope::studies

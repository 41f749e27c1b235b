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

/// Of what a node takes, what breaks; of what fits, what is made of what breaks.
NodeCauses::Followed NodeCauses::before(const ValueNode& made, const std::string& format) const {
  Followed before;
  for (const std::string& taken : made.takes) {
    const auto found = followed_.find({taken, format});
    if (found == followed_.end()) continue;
    if (found->second.breaks) return found->second;
    if (!before.source) before = found->second;
  }
  return before;
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
  const Followed taken = before(made, format);
  std::shared_ptr<const Source> source = taken.source;
  if (breaks && !taken.breaks)
    source = std::make_shared<const Source>(made.is_initializer() ? "the initializer " + row.tensor : node_words(made),
                                            overflows, taken.source);
  else if (!breaks && source && source->behind)
    source = source->behind;
  if (source) followed_.emplace(std::pair(row.tensor, format), Followed{source, breaks});

  std::string text;
  if (made.is_initializer())
    text = "It is an initializer" + (outside.empty() ? outside : " with" + outside) + ".";
  else
    text = "It comes from " + node_words(made) + (outside.empty() ? outside : ", which gives" + outside) + ".";
  if (is_infinite || is_nan)
    text += std::string(" In float32 it already has ") + (is_infinite ? "infinities" : "") +
            (is_infinite && is_nan ? " and " : "") + (is_nan ? "NaNs" : "") + ".";
  const auto first_in = [](const Source& first) {
    return std::string(first.overflows ? "overflows" : "is infinite or NaN") + " before it, first in " + first.what;
  };
  if (taken.breaks)
    text += " What the node takes " + first_in(*taken.source) +
            (taken.source->behind ? ", behind " + taken.source->behind->what : "") + ".";
  else if (breaks && taken.source)
    text += " What the node takes fits, but is made of what " + first_in(*taken.source) + ".";
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

// SPDX-License-Identifier: Apache-2.0
// Ranks the scales of a format by what they lose, and puts the choice into a sentence.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <tuple>

#include "emu/decode.hpp"
#include "emu/names.hpp"
#include "studies/census/census_findings.hpp"
#include "studies/census/sweep.hpp"

namespace ulpscope::studies {
namespace {

using emu::Outcome;

/// How badly a scale suits: overflow outweighs loss to zero, that outweighs loss of precision, and among equals the scale
/// nearest to none is the best.
auto loss(const SweepRow& row) {
  return std::tuple(row.sums.of(Outcome::overflow), row.sums.of(Outcome::to_zero), row.sums.of(Outcome::subnormal),
                    std::abs(row.log2_scale));
}

/// Binades between a magnitude, scaled by 2^k, and the near end of the normal range; positive outside it.
int binades_above(const SweepRow& row, double magnitude) {
  return std::ilogb(magnitude) + row.log2_scale - row.format.max_exponent();
}
int binades_below(const SweepRow& row, double magnitude) {
  return row.format.min_exponent() - (std::ilogb(magnitude) + row.log2_scale);
}

std::string power(int exponent) { return "2^" + std::to_string(exponent); }

Advice advise_format(const std::vector<const SweepRow*>& rows) {
  const auto better = [](const SweepRow* a, const SweepRow* b) { return loss(*a) < loss(*b); };
  const SweepRow& best = **std::min_element(rows.begin(), rows.end(), better);
  Advice advice{};
  advice.tensor = best.tensor;
  advice.format = best.format;
  advice.use_log2 = best.log2_scale;
  advice.largest_tried = rows.front()->log2_scale;
  for (const SweepRow* row : rows) advice.largest_tried = std::max(advice.largest_tried, row->log2_scale);
  advice.count = best.sums.count();
  advice.nonzero = best.sums.nonzero;
  advice.not_held = not_held(best.sums, best.format);
  advice.lost_to_zero = best.sums.of(Outcome::to_zero);
  advice.overflowing = best.sums.of(Outcome::overflow);
  if (advice.overflowing == 0)
    for (const SweepRow* row : rows)
      if (row->sums.of(Outcome::overflow) == 0 && row->sums.of(Outcome::to_zero) == advice.lost_to_zero) {
        if (!advice.first) advice.first = row->log2_scale;
        advice.last = row->log2_scale;
      }
  if (best.sums.nonzero != 0) {
    const Extreme large = best.sums.largest, small = best.sums.smallest;
    advice.worst_is_large = binades_above(best, large.magnitude) >= binades_below(best, small.magnitude);
    const Extreme worst = advice.worst_is_large ? large : small;
    advice.worst_index = worst.index;
    advice.worst_value = worst.magnitude;
    advice.above = best.largest_in;
    advice.below = best.smallest_in;
  }
  return advice;
}

}  // namespace

std::vector<Advice> advise(const std::vector<SweepRow>& rows) {
  std::vector<Advice> out;
  for (auto first = rows.begin(); first != rows.end();) {
    const auto last = std::find_if(first, rows.end(), [&](const SweepRow& row) { return row.format != first->format; });
    std::vector<const SweepRow*> of_format;
    for (auto row = first; row != last; ++row) of_format.push_back(&*row);
    out.push_back(advise_format(of_format));
    first = last;
  }
  return out;
}

std::string digits(double value, int precision) {
  if (std::isnan(value)) return "nan";  // to_chars would print the sign bit, which differs between machines
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, precision);
  return {buffer, result.ptr};
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (part == 0) return "0%";
  if (part == whole) return "100%";
  const double share = 100 * static_cast<double>(part) / static_cast<double>(whole);
  return digits(share, share > 99 ? 4 : 3) == "100" ? ">99.99%" : digits(share, share > 99 ? 4 : 3) + "%";
}

std::string percent(double share) { return digits(100 * share, 3) + "%"; }

std::vector<Advice> advise(const std::vector<std::vector<SweepRow>>& rows) {
  std::vector<Advice> out;
  for (const std::vector<SweepRow>& of_tensor : rows) std::ranges::move(advise(of_tensor), std::back_inserter(out));
  return out;
}

reports::Table loss_scale_table(const std::vector<Advice>& advice) {
  reports::Table table{"loss_scales",
                       {"tensor", "format", "log2_scale", "least_log2_scale", "greatest_log2_scale", "count", "to_zero",
                        "overflow", "worst_element", "worst_abs_input", "limits_above", "limits_below"},
                       {}};
  const double none = std::numeric_limits<double>::quiet_NaN();
  const auto scale = [&](const std::optional<int>& log2) {
    return log2 ? reports::Cell{std::int64_t{*log2}} : reports::Cell{none};
  };
  for (const Advice& one : advice) {
    const bool has_worst = one.worst_value != 0;
    table.rows.push_back({one.tensor, emu::format_name(one.format), std::int64_t{one.use_log2}, scale(one.first),
                          scale(one.last), reports::whole(one.count), reports::whole(one.lost_to_zero),
                          reports::whole(one.overflowing), has_worst ? reports::whole(one.worst_index) : reports::Cell{none},
                          has_worst ? one.worst_value : none, one.above, one.below});
  }
  return table;
}

std::string sentence(const Advice& advice) {
  std::string text = advice.tensor + " in " + emu::format_name(advice.format) + ": ", end = ".";
  if (advice.not_held != 0)
    end = "; " + percent(advice.not_held, advice.count) + " is infinite or NaN, which the format does not have.";
  if (advice.nonzero == 0) return text + "no finite element but zeros: no scale is better than another" + end;
  if (advice.lost_to_zero == advice.nonzero) {
    text += "every scale tried loses all elements to zero, or overflows; give larger ones (--log2-scale)";
  } else if (advice.first) {
    const std::string largest = advice.last == advice.largest_tried ? ", the largest tried," : "";
    text += advice.first == advice.last ? "scale " + power(*advice.first) + largest + " loses"
                                        : "scales " + power(*advice.first) + " to " + power(*advice.last) + largest + " lose";
    text += " nothing to overflow and " +
            (advice.lost_to_zero == 0 ? std::string("nothing") : percent(advice.lost_to_zero, advice.count)) +
            " to zero; use " + power(advice.use_log2);
  } else {
    text += "every scale tried overflows; least at " + power(advice.use_log2) + ", where " +
            percent(advice.overflowing, advice.count) + " overflows and " + percent(advice.lost_to_zero, advice.count) +
            " becomes zero";
  }
  if (advice.worst_value != 0)
    text += "; worst placed is element " + std::to_string(advice.worst_index) +
            (advice.above.empty() ? "" : " of " + (advice.worst_is_large ? advice.above : advice.below)) + ", the " +
            (advice.worst_is_large ? "largest" : "smallest") + " at " + digits(advice.worst_value);
  if (!advice.above.empty()) text += "; " + advice.above + " limits it from above, " + advice.below + " from below";
  return text + end;
}

}  // namespace ulpscope::studies

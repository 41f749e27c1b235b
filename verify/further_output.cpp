// SPDX-License-Identifier: Apache-2.0
// Judges outputs beside the first.
#include "verify/further_output.hpp"

#include <algorithm>

#include "emu/names.hpp"
#include "emu/visible.hpp"
#include "verify/operations/rows.hpp"

namespace ulpscope::verify {

std::vector<FurtherVerdict> verify_further(const ResolvedCheck& check, int threads) {
  std::vector<FurtherVerdict> out;
  for (const FurtherOutput& other : check.further) {
    const std::string heading = other.name + "  " + emu::visible(other.word) + " (" + words_of_shape(other.output.shape) +
                                "), " + emu::format_name(other.last.out) + "\n";
    // One element costs what a row of the first output does.
    constexpr std::uint64_t elements_at_a_time = std::uint64_t{1} << 11;
    out.push_back({other.name, heading,
                   verify(*other.expectation, other.output,
                          {.last = other.last, .threads = threads, .elements_at_a_time = elements_at_a_time})});
  }
  return out;
}

Outcome together(Outcome outcome, const std::vector<FurtherVerdict>& further) {
  const auto is = [&](Outcome wanted) {
    return outcome == wanted || std::any_of(further.begin(), further.end(),
                                            [wanted](const FurtherVerdict& of) { return of.verdict.outcome() == wanted; });
  };
  return is(Outcome::fail) ? Outcome::fail : is(Outcome::vacuous) ? Outcome::vacuous : Outcome::pass;
}

}  // namespace ulpscope::verify

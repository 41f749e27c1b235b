// SPDX-License-Identifier: Apache-2.0
// Conformance as tables and words: what `ulpscope conform` shows.
#pragma once

#include <string>

#include "reports/table.hpp"
#include "verify/conform/conform.hpp"

namespace ulpscope::verify {

/// What was asked, in the words of the command line.
struct ConformHeading {
  std::string subject, preset;  ///< the subject in words; empty: no preset
  Computation right;            ///< what the results should be
  std::uint64_t ulp = 0;        ///< codes that may lie between a result and the right one
  bool sample = false;          ///< whether not every code was asked about
  std::string range = {};       ///< FIRST:END of the inputs, as given; empty: all
};

/// One row per finding with its first example; one row of class `none` where nothing is wrong.
reports::Table conform_table(const ConformHeading& heading, const Conformance& result);

/// The first mismatches of each finding.
reports::Table conform_examples(const ConformHeading& heading, const Conformance& result);

/// One mismatch in a line, as it is found: `wrong: 3f880001 (1.0625001192092896) became 38 (1), right is 39 (1.125)`.
std::string mismatch_line(const ConformHeading& heading, const Mismatch& mismatch);

/// What was asked, in a line or two of text.
std::string conform_heading(const ConformHeading& heading, const Conformance& result);

/// For text: how many mismatches are of which class.
reports::Table conform_counts(const Conformance& result);

/// The known presets, a row per format.
reports::Table preset_table();

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// A report as one offline HTML page: verdicts first, then figures, tables and the command that makes it again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/table.hpp"

namespace ulpscope::reports {

/// One bar chart of how many elements have each binary exponent, with a format's ranges marked.
struct ExponentHistogram {
  /// Where a format is normal, subnormal, zero and overflowing.
  struct Range {
    std::string format;    ///< its name
    int zero_below_log2;   ///< magnitudes below 2^this become zero (half the least positive value)
    int min_normal_log2;   ///< below: subnormal
    double overflow_log2;  ///< above: overflow (log2 of the threshold)
  };
  std::string title;                  ///< the tensor
  int first_exponent = 0;             ///< of counts[0]
  std::vector<std::uint64_t> counts;  ///< elements with floor(log2|x|) = first_exponent + i
  std::uint64_t zeros = 0;            ///< elements that are zero and have no exponent
  std::uint64_t nonfinite = 0;        ///< elements that are infinite or NaN
  std::vector<Range> formats;         ///< one strip each
};

/// The loss-scale window: shares of elements lost to zero and to overflow by log2 scale, one line per format.
struct ScaleWindow {
  /// What one format loses.
  struct Line {
    std::string format;                                     ///< its name
    std::vector<double> to_zero_percent, overflow_percent;  ///< as long as log2_scale
  };
  std::string title;               ///< the tensor
  std::vector<double> log2_scale;  ///< the scales, ascending
  std::vector<Line> lines;         ///< one for each format
};

/// A sentence about one format, and how bad it is.
struct Verdict {
  /// From harmless to lossy.
  enum class Severity { good, warning, bad };
  Severity severity = Severity::good;  ///< of what the sentence says
  std::string text;                    ///< a plain sentence
};

/// Everything the page says about one tensor.
struct TensorSection {
  std::string tensor;                         ///< label
  std::string facts;                          ///< one line: dtype, shape, count, range
  std::vector<Verdict> verdicts;              ///< worst first
  std::vector<ExponentHistogram> histograms;  ///< none or one
  std::vector<ScaleWindow> windows;           ///< none or one
  Table errors;                               ///< the tensor's rows
};

/// A report on tensors.
struct Page {
  std::string title;                    ///< the heading
  std::string settings;                 ///< rounding, policy, seed, in words
  std::string command;                  ///< reproduces the page
  std::string order = {};               ///< a sentence: how the sections are ordered
  std::vector<TensorSection> sections;  ///< in the order to show: worst first
};

/// The page, self-contained: no script is needed to read it, nothing is loaded, light and dark.
std::string to_html(const Page& page);

}  // namespace ulpscope::reports

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
  struct Range {  ///< where one format is normal, subnormal, zero, overflowing
    std::string format;
    int zero_below_log2;   ///< magnitudes below 2^this become zero (half the least positive value)
    int min_normal_log2;   ///< below: subnormal
    double overflow_log2;  ///< above: overflow (log2 of the threshold)
  };
  std::string title;                  ///< the tensor
  int first_exponent = 0;             ///< of counts[0]
  std::vector<std::uint64_t> counts;  ///< elements with floor(log2|x|) = first_exponent + i
  std::uint64_t zeros = 0;
  std::uint64_t nonfinite = 0;
  std::vector<Range> formats;
};

/// The loss-scale window: shares of elements lost to zero and to overflow by log2 scale, one line per format.
struct ScaleWindow {
  struct Line {
    std::string format;
    std::vector<double> to_zero_percent, overflow_percent;  ///< as long as log2_scale
  };
  std::string title;
  std::vector<double> log2_scale;
  std::vector<Line> lines;
};

struct Verdict {
  enum class Severity { good, warning, bad };
  Severity severity = Severity::good;
  std::string text;  ///< a plain sentence
};

/// Everything the page says about one tensor.
struct TensorSection {
  std::string tensor;  ///< label
  std::string facts;   ///< one line: dtype, shape, count, range
  std::vector<Verdict> verdicts;
  std::vector<ExponentHistogram> histograms;  ///< none or one
  std::vector<ScaleWindow> windows;           ///< none or one
  Table errors;                               ///< the tensor's rows
};

struct Page {
  std::string title;
  std::string settings;                 ///< rounding, policy, seed, in words
  std::string command;                  ///< reproduces the page
  std::string order = {};               ///< a sentence: how the sections are ordered
  std::vector<TensorSection> sections;  ///< in the order to show: worst first
};

/// The page, self-contained: no script is needed to read it, nothing is loaded, light and dark.
std::string to_html(const Page& page);

}  // namespace ulpscope::reports

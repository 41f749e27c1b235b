// SPDX-License-Identifier: Apache-2.0
// What a study found, as data before it is a sentence: a value beside the threshold that it was held to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/table.hpp"

namespace ulpscope::reports {

/// How bad a finding is.
enum class Severity : std::uint8_t { good, warning, bad };

/// `good`, `warning`, `bad`.
std::string name_of(Severity severity);

/// What is to be said of a number, before it is a sentence.
struct Finding {
  std::string what;                    ///< the quantity: a column's name
  std::string where;                   ///< what it was found in: tensor, format, engine
  Cell value;                          ///< the number
  Cell threshold;                      ///< what the severity was decided by; empty text: nothing was
  std::string source;                  ///< of the threshold: a document, or `chosen: ...`
  Severity severity = Severity::good;  ///< decided by value and threshold
  std::string sentence;                ///< the same in words
};

/// findings.csv.
Table findings_table(const std::vector<Finding>& findings);

}  // namespace ulpscope::reports

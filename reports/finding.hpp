// SPDX-License-Identifier: Apache-2.0
// What a study found, as data before it is a sentence: a value beside the threshold that it was held to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/table.hpp"

namespace ulpscope::reports {

enum class Severity : std::uint8_t { good, warning, bad };

/// `good`, `warning`, `bad`.
std::string name_of(Severity severity);

struct Finding {
  std::string what;   ///< the quantity: a column's name
  std::string where;  ///< what it was found in: tensor, format, engine
  Cell value;
  Cell threshold;      ///< what the severity was decided by; empty text: nothing was
  std::string source;  ///< of the threshold: a document, or `chosen: ...`
  Severity severity = Severity::good;
  std::string sentence;
};

/// findings.csv.
Table findings_table(const std::vector<Finding>& findings);

}  // namespace ulpscope::reports

// SPDX-License-Identifier: Apache-2.0
// Findings as a table.
#include "reports/finding.hpp"

namespace ulpscope::reports {

std::string name_of(Severity severity) {
  switch (severity) {
    case Severity::good: return "good";
    case Severity::warning: return "warning";
    case Severity::bad: break;
  }
  return "bad";
}

Table findings_table(const std::vector<Finding>& findings) {
  Table table{"findings", {"what", "where", "value", "threshold", "severity", "source", "sentence"}, {}};
  for (const Finding& f : findings)
    table.rows.push_back({f.what, f.where, f.value, f.threshold, name_of(f.severity), f.source, f.sentence});
  return table;
}

}  // namespace ulpscope::reports

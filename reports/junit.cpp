// SPDX-License-Identifier: Apache-2.0
// A suite of cases as XML.
#include "reports/junit.hpp"

#include <algorithm>

#include "emu/visible.hpp"
#include "reports/escape.hpp"

namespace ulpscope::reports {

std::string to_junit(const std::string& suite, const std::vector<JUnitCase>& cases) {
  const auto failures = std::count_if(cases.begin(), cases.end(), [](const JUnitCase& c) { return !c.failure.empty(); });
  const auto attribute = [](const char* name, const std::string& value) {
    return std::string(" ") + name + "=\"" + html_escaped(emu::visible(value)) + "\"";
  };
  const std::string totals = attribute("tests", std::to_string(cases.size())) +
                             attribute("failures", std::to_string(failures)) + attribute("errors", "0");
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + totals + ">\n  <testsuite" +
                    attribute("name", suite) + totals + ">\n";
  for (const JUnitCase& c : cases) {
    out += "    <testcase" + attribute("classname", c.classname) + attribute("name", c.name) + ">\n";
    if (!c.failure.empty()) out += "      <failure" + attribute("message", c.failure) + attribute("type", c.type) + "/>\n";
    if (!c.output.empty()) out += "      <system-out>" + html_escaped(c.output) + "</system-out>\n";
    out += "    </testcase>\n";
  }
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace ulpscope::reports

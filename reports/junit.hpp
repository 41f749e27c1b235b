// SPDX-License-Identifier: Apache-2.0
// JUnit XML, as CI systems read it: one suite, one case a check.
#pragma once

#include <string>
#include <vector>

namespace ulpscope::reports {

/// One test case of a JUnit file.
struct JUnitCase {
  std::string classname, name;  ///< its group, and itself
  std::string failure;          ///< empty: the case passes
  std::string type;             ///< of the failure, one word
  std::string output;           ///< what the check printed
};

/// The document. What XML 1.0 cannot hold is escaped, as emu/visible.hpp says. No time and no host: the same bytes every time.
std::string to_junit(const std::string& suite, const std::vector<JUnitCase>& cases);

}  // namespace ulpscope::reports

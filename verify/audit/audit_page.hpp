// SPDX-License-Identifier: Apache-2.0
// An audit as the page of a report.
#pragma once

#include <string>

#include "reports/page.hpp"
#include "verify/audit/audit.hpp"

namespace ulpscope::verify {

/// The heading (audit_heading()), what is to be said of each rule, the summary, and behind them all outputs.
reports::Page audit_page(const std::string& heading, const AuditResult& result);

}  // namespace ulpscope::verify

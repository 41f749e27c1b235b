// SPDX-License-Identifier: Apache-2.0
// An audit as plain text: what `ulpscope audit --text` prints, and what a failing test of a check shows.
#pragma once

#include <string>

#include "verify/audit/audit.hpp"
#include "verify/outcome.hpp"

namespace ulpscope::verify {

/// What was multiplied by what and compared with what, in lines that end with LF, and an empty one.
std::string audit_heading(const AuditConfig& config);
/// What each rule makes of right outputs and of the mutants that it must reject.
std::string audit_sentences(const AuditResult& result);
/// The heading (audit_heading()), the summary, the sentences.
std::string audit_text(const std::string& heading, const AuditResult& result);

/// `fail`: a rule rejects the correct output; `vacuous`: a required mutant lives.
Outcome outcome_of(const AuditResult& result);

/// @throws ulpscope::Error where a rule has no verdict about the correct output: what it says of mutants is worth nothing.
void check_unbroken(const AuditResult& result);

}  // namespace ulpscope::verify

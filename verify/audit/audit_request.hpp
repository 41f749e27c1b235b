// SPDX-License-Identifier: Apache-2.0
// What every audit is asked beside inputs and options, and `audit matmul` as people ask for it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "products/request.hpp"
#include "requests/field.hpp"
#include "verify/audit/audit.hpp"

namespace ulpscope::verify {

/// Reads a rule's word: parse_rule(), or one that knows programs too.
using ParseRule = std::function<Rule(const std::string& word)>;

/// The rules, and what they are asked. The members mean what their fields' help says.
struct AskedRules {
  /// What the fields of these names say in the help of `ulpscope audit`.
  ///@{
  std::vector<std::string> rule;
  std::uint64_t trials = 20;
  double timeout = 60;
  ///@}

  /// Names the rules.
  void describe_rules(requests::Fields& fields);
  /// Names the trials and the time that a program may take.
  void describe_trials(requests::Fields& fields);
  /// The rules, read. @throws ulpscope::Error
  std::vector<Rule> rules(const ParseRule& parse) const;
};

/// The members mean what their fields' help says.
struct AuditRequest : AskedRules {
  /// What the fields of these names say in the help of `ulpscope audit`.
  ///@{
  products::ProductRequest product;
  std::string engine, reference = "exact";
  ///@}

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// Opens the inputs. @throws ulpscope::Error
AuditConfig resolve(const AuditRequest& request, const ParseRule& parse);

}  // namespace ulpscope::verify

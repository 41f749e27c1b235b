// SPDX-License-Identifier: Apache-2.0
// `audit matmul` as people ask for it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "products/request.hpp"
#include "requests/field.hpp"
#include "verify/audit/audit.hpp"

namespace ulpscope::verify {

/// The members mean what their fields' help says.
struct AuditRequest {
  /// What the fields of these names say in the help of `ulpscope audit`.
  ///@{
  products::ProductRequest product;
  std::string engine, reference = "exact";
  std::vector<std::string> rule;
  std::uint64_t trials = 20;
  double timeout = 60;
  ///@}

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// Opens the inputs. `parse` reads a rule's word: parse_rule(), or one that knows programs too. @throws ulpscope::Error
AuditConfig resolve(const AuditRequest& request, const std::function<Rule(const std::string&)>& parse);

}  // namespace ulpscope::verify

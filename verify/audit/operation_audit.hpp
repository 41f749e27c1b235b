// SPDX-License-Identifier: Apache-2.0
// `audit` of the operations that are no single product: rules are asked about wrong outputs of them, and about right ones where
// there are plain computations. docs/audit.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "requests/field.hpp"
#include "verify/audit/audit.hpp"
#include "verify/audit/audit_request.hpp"
#include "verify/audit/operation_source.hpp"
#include "verify/check_operations.hpp"

namespace ulpscope::verify {

/// `audit OPERATION` as people ask for it: inputs and options are those of `verify OPERATION`.
struct OperationAuditRequest : AskedRules {
  /// Of standard values.
  explicit OperationAuditRequest(const CheckOperation& asked) : operation(&asked), check(asked.make()) {}

  const CheckOperation* operation;  ///< not owned
  std::unique_ptr<Check> check;     ///< its inputs and options

  /// Names the members, and those of the check that concern no given output, for the command line.
  void describe(requests::Fields& fields);
};

/// What is audited, and how hard.
struct OperationAudit {
  std::unique_ptr<const OperationSource> source;                               ///< the check and its correct output
  std::vector<Rule> rules;                                                     ///< each is asked about every output
  std::size_t trials = 0;                                                      ///< correct computations in other orders
  std::optional<Rule> bound = {};                                              ///< what a correct kernel may return
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};  ///< told of outputs judged
  studies::OpenKeptRows kept = {};                                             ///< of verdicts; empty: none are kept
};
/// Its inputs: what an audit of them is kept for.
std::vector<tensors::Tensor> tensors_of(const OperationAudit& asked);

/// Whether an operation can be audited so: not a product, which has an audit of its own, nor cases of `generate`.
bool has_operation_audit(const CheckOperation& operation);

/// Opens the inputs. @throws ulpscope::Error
OperationAudit resolve(const OperationAuditRequest& request, const ParseRule& parse);

/// @throws ulpscope::Error where a rule asks for what only products have
AuditResult audit(const OperationAudit& asked);

/// What was computed of what and compared with what, in lines that end with LF, and an empty one.
std::string audit_heading(const OperationAudit& asked);

}  // namespace ulpscope::verify

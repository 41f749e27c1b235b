// SPDX-License-Identifier: Apache-2.0
// From a request to the mutants of its check, and what the rules say of them.
#include "verify/audit/operation_audit.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "requests/numbers.hpp"
#include "verify/audit/bound_rule.hpp"
#include "verify/audit/mutants_of_operation.hpp"
#include "verify/audit/operation_trials.hpp"

namespace ulpscope::verify {
namespace {

/// Fields of a check that are about an output that is given, and what it is held to.
constexpr std::array of_given_outputs{"output", "output_dtype", "against", "at_most", "false_alarm", "lse", "reduction_order"};

}  // namespace

void OperationAuditRequest::describe(requests::Fields& fields) {
  fields = check->fields();
  for (const char* const name : of_given_outputs) fields.remove(name);
  requests::Field& out = fields.at("out").needed();
  out.help = "the output's format";
  describe_rules(fields);
  describe_trials(fields);
  if (!has_plain_trials(operation->name)) fields.remove("trials");
}

bool has_operation_audit(const CheckOperation& operation) {
  return operation.name != "matmul" && operation.name != "generated";
}

OperationAudit resolve(const OperationAuditRequest& request, const ParseRule& parse) {
  OperationAudit asked{.source = {}, .rules = request.rules(parse), .trials = request.trials, .bound = bound_rule()};
  const std::vector<std::string> seed = request.check->fields().at("seed").words();
  asked.source =
      std::make_unique<OperationSource>(*request.operation, *request.check, seed.empty() ? 0 : std::stoull(seed.front()));
  return asked;
}

std::vector<tensors::Tensor> tensors_of(const OperationAudit& asked) {
  std::vector<tensors::Tensor> all;
  for (const CheckInput& input : asked.source->check().inputs) all.push_back(input.tensor);
  return all;
}

AuditResult audit(const OperationAudit& asked_for) {
  const OperationSource& source = *asked_for.source;
  const std::vector<OperationMutant> mutants = mutants_of(source);
  std::vector<std::shared_ptr<const MutantName>> kinds;
  for (const OperationMutant& mutant : mutants) kinds.push_back(std::make_shared<MutantName>(mutant));
  const std::string not_measured = without_trials(source);
  AuditResult result = asked({.rules = asked_for.rules,
                              .bound = asked_for.bound,
                              .problem = {source.out, source.check().expectation->shape(), nullptr, &source.check()},
                              .reference = source.reference,
                              .correct = source.correct,
                              .kinds = kinds,
                              .mutant =
                                  [&](std::size_t kind, double severity) {
                                    Mutant mutant = make_mutant(source, mutants[kind], severity);
                                    mutant.kind = kinds[kind].get();
                                    return mutant;
                                  },
                              .trials = not_measured.empty() ? asked_for.trials : 0,
                              .trial = [&](std::size_t i) { return plain_trial(source, i); },
                              .progress = asked_for.progress,
                              .inputs = tensors_of(asked_for),
                              .kept = asked_for.kept});
  result.not_measured = not_measured;
  return result;
}

std::string audit_heading(const OperationAudit& asked) {
  return asked.source->check().heading + "Compared with the exact result, rounded once.\n\n";
}

}  // namespace ulpscope::verify

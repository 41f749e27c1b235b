// SPDX-License-Identifier: Apache-2.0
// From a request to the product whose outputs are falsified, and the rules that must notice.
#include "verify/audit/audit_request.hpp"

#include "emu/error.hpp"
#include "verify/audit/bound_rule.hpp"

namespace ulpscope::verify {
namespace {

AuditReference parse_reference(const std::string& word) {
  if (word == "exact") return AuditReference::exact;
  if (word == "engine") return AuditReference::engine;
  throw Error("--reference " + word + ": give exact or engine");
}

std::string rule_help() {
  std::string text = "a check: ";
  for (const std::string& form : rule_forms()) text += form + ", ";
  return text + "RULE and RULE, RULE or RULE, or program:WORDS; may be repeated";
}

}  // namespace

void AskedRules::describe_rules(requests::Fields& fields) {
  fields.add("rule", rule, rule_help()).as_repeated().as_value("RULE").needed();
}

void AskedRules::describe_trials(requests::Fields& fields) {
  fields.add("trials", trials, "correct computations in other orders, none of which may be rejected")
      .whole({.most = 1'000'000'000})
      .shown();
  fields.add("timeout", timeout, "seconds that a program may take for one output").real({.least = 0}).shown();
}

std::vector<Rule> AskedRules::rules(const ParseRule& parse) const {
  if (!(timeout > 0)) throw Error("--timeout: give a number of seconds above 0");
  std::vector<Rule> all;
  for (const std::string& word : rule) all.push_back(parse(word));
  return all;
}

void AuditRequest::describe(requests::Fields& fields) {
  product.describe(fields);
  fields.add("engine", engine, "what computes the correct output; see `ulpscope engines`").as_value("E").needed();
  describe_rules(fields);
  fields.add("reference", reference, "what outputs are compared with").as_value("exact|engine").shown();
  describe_trials(fields);
}

AuditConfig resolve(const AuditRequest& request, const ParseRule& parse) {
  AuditConfig config{.product = {}, .rules = request.rules(parse)};
  config.reference = parse_reference(request.reference);
  config.product = products::resolve(request.product, products::open(request.product), request.engine);
  config.seed = request.product.seed.front();
  config.trials = request.trials;
  config.bound = bound_rule();
  return config;
}

}  // namespace ulpscope::verify

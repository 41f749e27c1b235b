// SPDX-License-Identifier: Apache-2.0
// Can a check that is written in Python fail?
#include <memory>
#include <string>
#include <vector>

#include "emu/error.hpp"
#include "python/bindings.hpp"
#include "verify/audit/audit.hpp"
#include "verify/audit/audit_request.hpp"
#include "verify/audit/audit_text.hpp"
#include "verify/audit/operation_audit.hpp"
#include "verify/check_operations.hpp"

namespace ulpscope::python {
namespace {

/// A rule that asks a function of Python, given the reference and the output as float64 arrays of the output's shape; it
/// returns whether it accepts. Copies are made, and end, where nobody holds the interpreter, also where the function raises: they
/// share one reference, which is given up with it.
verify::Rule rule_of(const std::string& word, const nb::callable& check) {
  const auto give_up = [](const nb::callable* held) {
    const nb::gil_scoped_acquire interpreter;
    delete held;  // NOLINT(cppcoreguidelines-owning-memory): of a shared_ptr
  };
  const std::shared_ptr<const nb::callable> shared(new nb::callable(check), give_up);
  return {word, [shared](const verify::RuleProblem& problem) -> verify::RuleJudge {
            return [shared, shape = problem.shape](std::span<const double> reference, std::span<const double> output) {
              const nb::gil_scoped_acquire held;
              const auto array = [&](std::span<const double> values) {
                return new_array(std::vector<double>(values.begin(), values.end()), shape);
              };
              const bool accepts = nb::cast<bool>((*shared)(array(reference), array(output)));
              return verify::RuleVerdict{
                  .passes = accepts, .figure = accepts ? 0.0 : 1.0, .limit = 0, .violations = accepts ? 0u : 1u};
            };
          }};
}

/// What an audit found, and the same as text.
struct Audited {
  verify::AuditResult result;
  std::string text;
};

template <class Request>
Audited audited(Request request, const Values& values, const nb::callable& check, const Told& told) {
  requests::Fields fields = requests::fields_of(request);
  set_fields(fields, values);
  auto config = verify::resolve(request, [&](const std::string& word) {
    if (word != "check" || !check.is_valid()) return verify::parse_rule(word);
    const nb::gil_scoped_acquire held;
    return rule_of(word, check);
  });
  config.progress = told;
  Audited out{.result = verify::audit(config), .text = {}};
  verify::check_unbroken(out.result);
  out.text = verify::audit_text(verify::audit_heading(config), out.result);
  return out;
}

/// `operation`: a name of verify::check_operations().
nb::object audit(const std::string& operation, const Values& values, const nb::object& check, const nb::object& shown) {
  Audited found;
  const nb::callable asked = check.is_none() ? nb::callable() : nb::borrow<nb::callable>(check);
  work_apart(shown, [&](const Told& told) {
    found = operation == "matmul"
                ? audited(verify::AuditRequest(), values, asked, told)
                : audited(verify::OperationAuditRequest(verify::find_check_operation(operation)), values, asked, told);
  });
  nb::dict out;
  out["table"] = as_python(verify::audit_table(found.result));
  out["text"] = found.text;
  out["outcome"] = std::string(name_of(verify::outcome_of(found.result)));
  return out;
}

/// Operations that have an audit beside that of a product.
std::vector<std::string> audited_operations() {
  std::vector<std::string> names;
  for (const verify::CheckOperation& operation : verify::check_operations())
    if (verify::has_operation_audit(operation)) names.push_back(operation.name);
  return names;
}

}  // namespace

void add_checks(nb::module_& m) {
  m.def("audit", &audit, nb::arg("operation"), nb::arg("values"), nb::arg("check").none(), nb::arg("shown").none());
  m.def("audited_operations", &audited_operations);
}

}  // namespace ulpscope::python

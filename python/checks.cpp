// SPDX-License-Identifier: Apache-2.0
// Can a check that is written in Python fail?
#include "emu/error.hpp"
#include "python/bindings.hpp"
#include "verify/audit/audit.hpp"
#include "verify/audit/audit_request.hpp"
#include "verify/audit/audit_text.hpp"

namespace ulpscope::python {
namespace {

/// A rule that asks a function of Python, given the reference and the output as float64 arrays of D's shape; it returns whether
/// it accepts. Copies are made where nobody holds the interpreter, so that they share one reference.
verify::Rule rule_of(const std::string& word, const nb::callable& check) {
  const auto shared = std::make_shared<const nb::callable>(check);
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

nb::object audit(const Values& values, const nb::object& check, const nb::object& shown) {
  verify::AuditResult result;
  std::string text;
  const nb::callable asked = check.is_none() ? nb::callable() : nb::borrow<nb::callable>(check);
  work_apart(shown, [&](const Told& told) {
    const auto request = request_of<verify::AuditRequest>(values);
    verify::AuditConfig config = verify::resolve(request, [&](const std::string& word) {
      if (word != "check" || !asked.is_valid()) return verify::parse_rule(word);
      const nb::gil_scoped_acquire held;
      return rule_of(word, asked);
    });
    config.progress = told;
    result = verify::audit(config);
    verify::check_unbroken(result);
    text = verify::audit_text(config, result);
    const nb::gil_scoped_acquire held;
    config.rules.clear();  // which hold functions of Python
  });
  nb::dict out;
  out["table"] = as_python(verify::audit_table(result));
  out["text"] = text;
  out["outcome"] = std::string(name_of(verify::outcome_of(result)));
  return out;
}

}  // namespace

void add_checks(nb::module_& m) { m.def("audit", &audit, nb::arg("values"), nb::arg("check").none(), nb::arg("shown").none()); }

}  // namespace ulpscope::python

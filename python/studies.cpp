// SPDX-License-Identifier: Apache-2.0
// Every request that a study file may name, by its name.
#include <map>
#include <memory>

#include "emu/error.hpp"
#include "python/bindings.hpp"
#include "python/requests.hpp"
#include "studies/cast/cast.hpp"
#include "study_files/kinds.hpp"
#include "tensors/elements.hpp"
#include "tensors/held.hpp"
#include "verify/audit/audit_request.hpp"

namespace ulpscope::python {
namespace {

nb::list fields(const std::string& name) {
  const auto of = [](auto request) { return as_python(requests::fields_of(request)); };
  if (name == "cast") return of(studies::CastRequest());
  if (name == "product") return of(EngineProductRequest());
  if (name == "audit matmul") return of(verify::AuditRequest());
  const std::unique_ptr<study_files::Study> study = study_files::find_kind(name).make();
  return as_python(study->fields());
}

std::string word_of(studies::StudyOutcome outcome) {
  switch (outcome) {
    case studies::StudyOutcome::done: return "pass";
    case studies::StudyOutcome::failed: return "fail";
    case studies::StudyOutcome::vacuous: break;
  }
  return "vacuous";
}

nb::object run(const std::string& name, const Values& values, const nb::object& shown) {
  studies::StudyResult result;
  work_apart(shown, [&](const Told& told) {
    const std::unique_ptr<study_files::Study> study = study_files::find_kind(name).make();
    requests::Fields all = study->fields();
    set_fields(all, values);
    result = study->run(told);
  });
  nb::list tables, findings;
  for (const reports::Table& table : result.tables) tables.append(as_python(table));
  nb::dict out;
  out["tables"] = tables;
  out["findings"] = as_python(reports::findings_table(result.findings));
  out["remarks"] = result.remarks;
  out["outcome"] = word_of(result.outcome);
  out["text"] = result.text;
  return out;
}

/// The words behind `ulpscope` of the same request from files. @throws ulpscope::Error
std::vector<std::string> words(const std::string& name, const Values& values) {
  const study_files::Kind& kind = study_files::find_kind(name);
  const std::unique_ptr<study_files::Study> asked = kind.make(), standard = kind.make();
  requests::Fields all = asked->fields();
  set_fields(all, values);
  return requests::words_of(all, standard->fields());
}

nb::list kinds() {
  nb::list all;
  for (const study_files::Kind& kind : study_files::kinds()) all.append(nb::make_tuple(kind.name, kind.help));
  return all;
}

std::unique_ptr<tensors::Held> hold(Bytes bytes, const std::string& dtype, std::size_t item_bytes,
                                    std::vector<std::uint64_t> shape, std::string label) {
  return std::make_unique<tensors::Held>(tensor_of(std::move(bytes), dtype, item_bytes, std::move(shape), std::move(label)));
}

}  // namespace

void add_requests(nb::module_& m) {
  nb::class_<tensors::Held>(m, "Held").def_prop_ro("word", [](const tensors::Held& held) { return held.word(); });
  m.def("hold", &hold);
  m.def("fields", &fields);
  m.def("kinds", &kinds);
  m.def("run", &run, nb::arg("kind"), nb::arg("values"), nb::arg("shown").none());
  m.def("words", &words);
}

}  // namespace ulpscope::python

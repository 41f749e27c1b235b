// SPDX-License-Identifier: Apache-2.0
// Every request that a study file may name, by its name.
#include <fmt/ranges.h>

#include <map>
#include <memory>

#include "emu/error.hpp"
#include "python/bindings.hpp"
#include "python/requests.hpp"
#include "reports/directory.hpp"
#include "requests/toml.hpp"
#include "studies/cast/cast.hpp"
#include "study_files/built_in.hpp"
#include "study_files/kinds.hpp"
#include "study_files/report.hpp"
#include "tensors/elements.hpp"
#include "tensors/held.hpp"
#include "verify/audit/audit_request.hpp"
#include "verify/audit/operation_audit.hpp"
#include "verify/check_operations.hpp"

namespace ulpscope::python {
namespace {

nb::list fields(const std::string& name) {
  const auto of = [](auto request) { return as_python(requests::fields_of(request)); };
  if (name == "cast") return of(studies::CastRequest());
  if (name == "product") return of(EngineProductRequest());
  if (name == "audit matmul") return of(verify::AuditRequest());
  if (const std::string audit = "audit "; name.starts_with(audit))
    return of(verify::OperationAuditRequest(verify::find_check_operation(name.substr(audit.size()))));
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

nb::dict result_of(const std::vector<reports::Table>& all, const std::vector<reports::Finding>& findings,
                   const std::vector<std::string>& remarks, studies::StudyOutcome outcome, const std::string& text) {
  nb::list tables;
  for (const reports::Table& table : all) tables.append(as_python(table));
  nb::dict out;
  out["tables"] = tables;
  out["findings"] = as_python(reports::findings_table(findings));
  out["remarks"] = remarks;
  out["outcome"] = word_of(outcome);
  out["text"] = text;
  return out;
}

nb::object run(const std::string& name, const Values& values, const nb::object& shown) {
  studies::StudyResult result;
  work_apart(shown, [&](const Told& told) {
    const std::unique_ptr<study_files::Study> study = study_files::find_kind(name).make();
    requests::Fields all = study->fields();
    set_fields(all, values);
    result = study->run(told);
  });
  return result_of(result.tables, result.findings, result.remarks, result.outcome, result.text);
}

/// Runs a study file, a built-in one or a path, and writes its report as `ulpscope run` does: the same bytes. Gives each
/// study's name and what it came to. @throws ulpscope::Error
nb::list run_file(const std::string& word, const std::string& directory, const std::vector<std::string>& only, bool resume,
                  bool allow_programs, const nb::object& shown) {
  std::vector<study_files::StudyOutput> outputs;
  work_apart(shown, [&](const Told& told) {
    const study_files::StudyText study = study_files::open_study(word);
    const auto planned = study_files::plan(requests::parse_toml(study.text, study.name), only);
    if (!allow_programs) study_files::refuse_programs(planned);
    using Existing = study_files::CellStore::Existing;
    study_files::CellStore store(reports::report_folder(directory), resume ? Existing::resume : Existing::refuse);
    study_files::forecast(planned, &store, 0);
    const auto progress = [&](std::uint64_t cells, std::uint64_t of, double) { told(cells, of); };
    outputs = study_files::run(planned, store, {.progress = progress});
    std::vector<std::string> arguments = {"run", word};
    if (!only.empty()) arguments.insert(arguments.end(), {"--only", fmt::format("{}", fmt::join(only, ","))});
    arguments.insert(arguments.end(), {"-o", directory});
    study_files::write_report(directory, outputs, {.study = word, .text = study.text, .arguments = arguments});
    store.remove();
  });
  nb::list all;
  for (const study_files::StudyOutput& output : outputs)
    all.append(nb::make_tuple(output.name, result_of(output.tables, output.findings, output.remarks, output.outcome, "")));
  return all;
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
  m.def("run_file", &run_file, nb::arg("study"), nb::arg("directory"), nb::arg("only"), nb::arg("resume"),
        nb::arg("allow_programs"), nb::arg("shown").none());
  m.def("words", &words);
}

}  // namespace ulpscope::python

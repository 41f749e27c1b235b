// SPDX-License-Identifier: Apache-2.0
// The commands `run` and `schema`: study files.
#include "study_files/run.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <system_error>

#include "cli/choices.hpp"
#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/kept_parts.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/precision.hpp"
#include "cli/study_report.hpp"
#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "files/confinement.hpp"
#include "reports/build_info.hpp"
#include "reports/directory.hpp"
#include "requests/toml.hpp"
#include "study_files/built_in.hpp"
#include "study_files/report.hpp"
#include "study_files/schema.hpp"
#include "study_files/study_part.hpp"

namespace ulpscope::cli {
namespace {

struct Run {
  CommonOptions common;
  std::string study, directory, shard;
  std::vector<std::string> only;
  bool list = false, dry_run = false, resume = false, allow_programs = false;
};

reports::Table built_in_table() {
  reports::Table table{"studies", {"study", "question"}, {}};
  for (const requests::BuiltInFile& built_in : study_files::built_in_studies())
    table.rows.push_back({std::string(built_in.name), requests::leading_comment(built_in.text)});
  return table;
}

/// The first of them, each on a line.
void tell(const std::vector<reports::Finding>& findings) {
  constexpr std::size_t most = 100;
  for (std::size_t i = 0; i < std::min(most, findings.size()); ++i) remark(emu::visible(findings[i].sentence));
  if (findings.size() > most) remark(std::to_string(findings.size() - most) + " more findings are in findings.csv");
}

study_files::CellStore store_of(const Run& run) {
  return study_files::CellStore(reports::report_folder(run.directory), run.resume ? study_files::CellStore::Existing::resume
                                                                                  : study_files::CellStore::Existing::refuse);
}

int forecast(const Run& run, const std::vector<study_files::PlannedStudy>& planned) {
  std::optional<study_files::CellStore> kept;
  if (run.resume && !run.directory.empty()) kept.emplace(run.directory, study_files::CellStore::Existing::look);
  print(study_files::forecast_table(study_files::forecast(planned, kept ? &*kept : nullptr, run.common.threads)), run.common,
        1);
  return done;
}

/// Runs this shard's cells and writes them as a part.
int run_part(const Run& run, const PartPlace& place, const study_files::StudyText& study,
             const std::vector<study_files::PlannedStudy>& planned, const Arguments& arguments) {
  using study_files::CellStore;
  CellStore store(reports::report_folder(place.folder), run.resume ? CellStore::Existing::resume : CellStore::Existing::refuse);
  study_files::StudyPart part{.version = reports::version(),
                              .commit = reports::commit(),
                              .study = run.study,
                              .text = study.text,
                              .only = run.only,
                              .arguments = undivided(reproducing(arguments)),
                              .cells = {}};
  const std::vector<std::string> own = study_files::own_digests(planned, place.shard.index, place.shard.count);
  study_files::forecast(planned, &store, run.common.threads);  // what is wrong with inputs is told before the work
  {
    CellProgress progress;
    study_files::run_cells(planned, own, store, {.threads = run.common.threads, .progress = progress.callback()});
  }
  const std::set<std::string> wanted(own.begin(), own.end());
  for (const study_files::PlannedStudy& of : planned)
    for (const study_files::GridCell& cell : of.cells)
      if (const std::string digest = study_files::digest_of(cell); wanted.contains(digest))
        part.cells.emplace(digest, store.find(cell).value());
  reports::write_part(place.folder, study_files::to_text(part), {.arguments = undisturbed(arguments)});
  store.remove();
  remark_part(place.folder, "`ulpscope merge` makes a report of all parts");
  return done;
}

int run_all(const Run& run, const Arguments& arguments) {
  if (run.list) return print(built_in_table(), run.common, 1), done;
  if (run.study.empty()) throw Error("STUDY is missing: a file, or one that `ulpscope run --list` names");
  // Made again, a report is made of the study file that it holds: the one it was made of may be another now.
  const auto* const again = reports::WriteElsewhere::present();
  const bool has_text = again != nullptr && run.shard.empty();  // a part's is in the part
  const study_files::StudyText study = study_files::open_study(has_text ? again->from + "/study.toml" : run.study);
  const files::Confinement confined({.whose = study.name, .programs = run.allow_programs});
  const std::vector<study_files::PlannedStudy> planned =
      study_files::plan(requests::parse_toml(study.text, study.name), run.only);
  if (run.dry_run) {
    if (!run.shard.empty()) shard_of(run.shard);  // refused as it would be
    return forecast(run, planned);
  }
  if (!run.allow_programs) study_files::refuse_programs(planned);
  if (const std::optional<PartPlace> place = part_place(run.shard, run.directory, arguments))
    return run_part(run, *place, study, planned, arguments);
  if (run.directory.empty()) throw Error("-o DIR is missing: the report's folder");
  reports::check_report_folder(run.directory);
  study_files::CellStore store = store_of(run);
  study_files::forecast(planned, &store, run.common.threads);  // what is wrong with inputs is told before the work
  std::vector<study_files::StudyOutput> outputs;
  {
    CellProgress progress;
    outputs = study_files::run(planned, store, {.threads = run.common.threads, .progress = progress.callback()});
  }
  const int code =
      write_study_report(run.directory, outputs, {.study = run.study, .text = study.text, .arguments = reproducing(arguments)});
  store.remove();
  return code;
}

void add_run_options(Command& command, Run& run) {
  const Option study =
      command.add_option("STUDY", run.study, "a TOML file of [[study]] tables, or the name of a built-in study");
  command.holds_names(study, [](const std::string& word) {
    std::error_code ignored;
    return std::filesystem::is_directory(word, ignored);  // no study file: the report of a study may have its name
  });
  command.add_written("-o", run.directory,
                      "write a report: NAME.csv of each study, findings.csv, index.html, figures, manifest.json", "DIR");
  const Option only = command.add_option("--only", run.only, "only the studies of these names");
  only->comma_list()->type_name("NAME,...");
  command.holds_names(only, [](const std::string&) { return true; });
  command.add_flag("--resume", run.resume, "go on with a run that was ended: what it kept is not computed again");
  command
      .add_option(
          "--shard", run.shard,
          "run the I-th of N parts of the cells, I from 0, and write them to -o PART for `ulpscope merge`; auto: the place "
          "that Slurm, Open MPI or PMI gives, in a folder of PART")
      ->type_name("I/N");
  command.add_flag("--allow-programs", run.allow_programs, "let studies start programs and load libraries that the file names");
  command.add_flag("--dry-run", run.dry_run, "print the studies, their cells, and about how long they take");
  command.add_flag("--list", run.list, "print the built-in studies");
  run.common.add_threads(command);
  run.common.add_output(command);
}

}  // namespace

int write_study_report(const std::string& directory, const std::vector<study_files::StudyOutput>& outputs,
                       const study_files::ReportSource& source) {
  study_files::write_report(directory, outputs, source);
  for (const study_files::StudyOutput& output : outputs)
    for (const std::string& line : output.remarks) remark(emu::visible(line));
  if (reports::WriteElsewhere::present() == nullptr) tell(study_files::findings_of(outputs));
  remark_report(directory);
  return exit_code_of(study_files::outcome_of(outputs));
}

void add_run(Command& app, const Arguments& arguments, int& exit_code) {
  auto run = std::make_shared<Run>();
  Command& command = *app.add_subcommand("run", "a study file: grids of studies, as one report that can be made again");
  add_run_options(command, *run);
  command.footer(
      "A [[study]] table has a kind, a command's name, and its long options with _ for -; inputs are `inputs`, or `a`, `b`, "
      "`c`.\n"
      "A list where one value may stand makes a grid; for an option that takes a list, a list of lists does.\n"
      "Example: ulpscope run block_scales --dry-run --text");
  command.callback([run, &arguments, &exit_code] { exit_code = run_all(*run, arguments); });
}

void add_schema(Command& app) {
  Command& command = *app.add_subcommand("schema", "the JSON schema of study files, by which editors complete them");
  command.footer("Example: ulpscope schema");
  command.callback([] {
    print(study_files::schema([](const requests::Field& field) {
      const Choices choices = choices_of(field.value);
      return choices.kind == ChoiceKind::words ? choices.words : std::vector<std::string>();
    }));
  });
}

}  // namespace ulpscope::cli

// SPDX-License-Identifier: Apache-2.0
// What `ulpscope verify` prints, writes and keeps.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

#include "cli/output.hpp"
#include "cli/rows.hpp"
#include "cli/verify.hpp"
#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "files/new_file.hpp"
#include "reports/build_info.hpp"
#include "reports/escape.hpp"
#include "reports/junit.hpp"
#include "reports/listed_folder.hpp"
#include "reports/render.hpp"
#include "requests/numbers.hpp"
#include "tensors/write.hpp"
#include "verify/baseline.hpp"
#include "verify/further_output.hpp"
#include "verify/verdict_text.hpp"

namespace ulpscope::cli {
namespace {

namespace fs = std::filesystem;

/// Tables behind other members of an object.
std::string json_members(std::span<const reports::Table> tables) {
  std::string text;
  for (const reports::Table& table : tables) text += ",\n" + reports::json_string(table.name) + ": " + reports::to_json(table);
  return text;
}
/// Tables below all other text.
std::string text_below(std::span<const reports::Table> tables) {
  std::string text;
  for (const reports::Table& table : tables) text += "\n" + table.name + "\n\n" + reports::to_text(table);
  return text;
}

std::string json_of(const std::string& operation, const verify::Verdict& verdict, const verify::VerdictTables& tables,
                    const std::vector<reports::Table>& more_tables) {
  std::string patterns;
  for (const std::string& pattern : verdict.patterns)
    patterns += (patterns.empty() ? "" : ", ") + reports::json_string(pattern);
  return "{\"operation\": " + reports::json_string(operation) + ",\n\"sentence\": " + reports::json_string(verdict.sentence()) +
         ",\n\"verify\": " + reports::to_json(tables.counts) + ",\n\"patterns\": [" + patterns +
         "],\n\"histogram\": " + reports::to_json(tables.histogram) + ",\n\"worst\": " + reports::to_json(tables.worst) +
         json_members(more_tables) + "}\n";
}

const reports::Listed kept_case{.manifest = "kept.json", .noun = "a case that was kept"};

/// As .npy: integers, float32, or float64 where that is needed.
void put_tensor(const tensors::Destination& to, const tensors::Tensor& tensor) {
  if (tensor.is_integer())
    tensors::put_npy_integers(to, tensor);
  else if (tensor.dtype.fits_float())
    tensors::put_npy(to, tensor.shape, tensors::Producer<float>([&](std::uint64_t first, std::span<float> out) {
                       tensor.source->read(first, out);
                     }));
  else
    tensors::put_npy(to, tensor.shape, tensors::Producer<double>([&](std::uint64_t first, std::span<double> out) {
                       tensor.source->read(first, out);
                     }));
}

/// Scales that are numbers say themselves what they are; others than float32 would not be of their format in an .npy.
bool is_kept(const verify::CheckInput& input) {
  if (!input.role.starts_with("scale_")) return true;
  return input.tensor.dtype.format == emu::float32 && !requests::read_real(input.word, {}).empty();
}

/// kept.json: which files are of the case.
std::string manifest_of(const reports::ListedFolder& folder) {
  nlohmann::ordered_json manifest{
      {"program", "ulpscope"}, {"version", reports::version()}, {"files", nlohmann::ordered_json::object()}};
  for (const auto& [name, hash] : folder.hashes()) manifest["files"][name] = hash;
  return manifest.dump(2) + "\n";
}

/// Keeps what a failure needs to be looked at again; returns the command that does.
std::string save_case(const VerifyCase& checked, const std::string& directory) {
  const verify::ResolvedCheck& check = checked.check;
  reports::ListedFolder folder(directory, kept_case);
  Arguments arguments = checked.arguments;
  const auto keep = [&](const std::string& word, const tensors::Tensor& tensor, const std::string& name,
                        const std::string& prefix = {}) {
    const std::string path = (fs::path(directory) / (name + ".npy")).string();
    folder.add(name + ".npy", [&](const reports::WriteBytes& write) { put_tensor({path, write}, tensor); });
    std::replace(arguments.begin(), arguments.end(), prefix + word, prefix + path);
    for (std::string& argument : arguments)
      if (const std::size_t value = argument.find('=') + 1;
          argument.starts_with("--") && value != 0 && argument.substr(value) == prefix + word)
        argument.replace(value, std::string::npos, prefix + path);
  };
  for (std::size_t i = 0; i < check.inputs.size(); ++i)
    if (is_kept(check.inputs[i]))
      keep(check.inputs[i].word, check.inputs[i].tensor, "input" + std::to_string(i), check.inputs[i].prefix);
  keep(checked.output.output, check.output, "output");
  if (checked.output.is_against_file())
    keep(checked.output.against, checked.output.open(checked.output.against, check.expectation->out()), "baseline");
  for (const verify::FurtherOutput& other : check.further) keep(other.word, other.output, other.name);
  for (auto option = std::find(arguments.begin(), arguments.end(), "--save"); option != arguments.end();
       option = std::find(arguments.begin(), arguments.end(), "--save"))
    arguments.erase(option, option + std::min<std::ptrdiff_t>(2, arguments.end() - option));
  arguments.insert(arguments.end(), check.stated.begin(), check.stated.end());
  const std::string command = command_line(arguments);
  folder.add("command.txt", command + "\n");
  folder.commit(manifest_of(folder));
  return command;
}

/// What is shown of a check, whichever kind it is.
struct Shown {
  verify::Outcome outcome;
  std::string sentence, text, json;
  reports::Table table;
  std::size_t key_columns;
  std::vector<std::string> patterns = {};
};

/// What is said of another output of the kernel.
struct ShownFurther {
  std::string name, word;
  Shown shown;
};

void write_junit(const std::string& file, const VerifyCase& checked, const Shown& shown,
                 const std::vector<ShownFurther>& further) {
  const auto of = [](const std::string& classname, const std::string& name, const Shown& one) {
    return reports::JUnitCase{.classname = classname,
                              .name = name,
                              .failure = one.outcome == verify::Outcome::pass ? "" : one.sentence,
                              .type = std::string(name_of(one.outcome)),
                              .output = one.text};
  };
  const std::string classname = "ulpscope.verify." + checked.check.operation;
  std::vector<reports::JUnitCase> cases{of(classname, checked.output.output, shown)};
  for (const ShownFurther& other : further) cases.push_back(of(classname + "." + other.name, other.word, other.shown));
  files::write_file(file, reports::to_junit("ulpscope verify", cases));
}

/// The JSON of an object with more members at its end.
std::string with_members(std::string json, const std::vector<ShownFurther>& further) {
  for (const ShownFurther& other : further) {
    json.erase(json.rfind('}'));
    json +=
        ",\n" + reports::json_string(other.name) + ": " + other.shown.json.substr(0, other.shown.json.rfind('}') + 1) + "}\n";
  }
  return json;
}

void print_csv(const VerdictOutput& output, const Shown& shown, const std::vector<ShownFurther>& further) {
  reports::Table table = shown.table;
  for (const ShownFurther& other : further) table.append(other.shown.table);
  print(table, output.common, shown.key_columns);
  remark(shown.sentence);
  for (const std::string& pattern : shown.patterns) remark(pattern);
  for (const ShownFurther& other : further) {
    remark(other.name + ": " + other.shown.sentence);
    for (const std::string& pattern : other.shown.patterns) remark(pattern);
  }
}

void show(const VerifyCase& checked, const VerdictOutput& output, const Shown& shown, const std::vector<ShownFurther>& further,
          verify::Outcome outcome) {
  if (!output.junit.empty()) write_junit(output.junit, checked, shown, further);
  switch (rendering_of(output.common)) {
    case Rendering::text:
      print(shown.text);
      for (const ShownFurther& other : further) print("\n" + other.shown.text);
      break;
    case Rendering::json: print(with_members(shown.json, further)); break;
    case Rendering::csv: print_csv(output, shown, further); break;
  }
  if (shown.outcome == verify::Outcome::fail && !checked.explain.empty()) {
    if (rendering_of(output.common) == Rendering::text)
      print("\nWhat else may give these bits:\n  " + checked.explain + "\n");
    else
      remark("what else may give these bits: " + emu::visible(checked.explain));
  }
  if (outcome != verify::Outcome::pass && !output.save.empty())
    remark("kept in " + emu::visible(output.save) + "; again: " + save_case(checked, output.save));
}

/// What --where, --sort and --rows leave of the tables that text and JSON show together; CSV has the first, which print()
/// reads.
std::vector<reports::Table> shown_tables(std::vector<reports::Table> tables, const CommonOptions& common) {
  if (rendering_of(common) == Rendering::csv) return tables;
  tables = chosen_together(tables, common);
  for (reports::Table& table : tables) table = first_rows(table, most_rows(common, 0));
  return tables;
}

/// A verdict of what `heading` describes, with tables of other rules behind its own.
struct SaidOf {
  std::string operation, heading;
  std::vector<reports::Table> more = {};
};

Shown shown_of(const SaidOf& said, const verify::Verdict& verdict, const CommonOptions& common) {
  const verify::VerdictTables all = tables_of(verdict);
  std::vector<reports::Table> tables{all.counts, all.histogram, all.worst};
  tables.insert(tables.end(), said.more.begin(), said.more.end());
  tables = shown_tables(std::move(tables), common);
  const std::vector<reports::Table> more(tables.begin() + 3, tables.end());
  const verify::VerdictTables shown{tables[0], tables[1], tables[2]};
  std::string text = verify::verdict_text(said.heading, verdict, shown) + text_below(more);
  return {verdict.outcome(), verdict.sentence(), std::move(text), json_of(said.operation, verdict, shown, more), all.counts, 1,
          verdict.patterns};
}

Shown shown_of(const VerifyCase& checked, const verify::BaselineVerdict& verdict, const CommonOptions& common) {
  std::vector<reports::Table> tables{baseline_table(verdict)};
  tables.insert(tables.end(), checked.more.begin(), checked.more.end());
  tables = shown_tables(std::move(tables), common);
  const reports::Table& table = tables.front();
  const std::span<const reports::Table> more = std::span(tables).subspan(1);
  const std::string json = "{\"operation\": " + reports::json_string(checked.check.operation) +
                           ",\n\"sentence\": " + reports::json_string(verdict.sentence()) +
                           ",\n\"verify\": " + reports::to_json(table) + json_members(more) + "}\n";
  return {verdict.outcome(),
          verdict.sentence(),
          verify::verdict_text(checked.check.heading, verdict, table) + text_below(more),
          json,
          table,
          2};
}

}  // namespace

ExitCode exit_code_of_check(verify::Outcome outcome) {
  switch (outcome) {
    case verify::Outcome::pass: return done;
    case verify::Outcome::fail: return check_failed;
    case verify::Outcome::vacuous: break;
  }
  return vacuous;
}

int report_verdict(const VerifyCase& checked, const VerdictOutput& output) {
  const verify::OutputRequest& words = checked.output;
  const verify::Expectation& expectation = *checked.check.expectation;
  if (!output.save.empty()) reports::check_listed_folder(output.save, kept_case);
  std::vector<verify::FurtherVerdict> others;
  const Shown shown = [&] {
    ProgressLine progress;
    const verify::VerdictOptions options{
        .last = checked.check.last, .threads = checked.threads, .progress = progress.callback()};
    if (!words.is_against_file()) {
      const verify::Verdict verdict = verify::verify(expectation, checked.check.output, options);
      others = verify::verify_further(checked.check, checked.threads);
      return shown_of({checked.check.operation, checked.check.heading, checked.more}, verdict, output.common);
    }
    if (!(words.at_most > 0)) throw Error("--at-most: a factor above 0, e.g. 1.1");
    const tensors::Tensor baseline = words.open(words.against, expectation.out());
    return shown_of(checked,
                    verify::verify_against_baseline(expectation, checked.check.output, baseline, options, words.at_most),
                    output.common);
  }();
  std::vector<ShownFurther> further;
  for (const verify::FurtherVerdict& other : others)
    further.push_back({other.name, other.verdict.label, shown_of({other.name, other.heading}, other.verdict, output.common)});
  const verify::Outcome outcome = verify::together(shown.outcome, others);
  show(checked, output, shown, further, outcome);
  return exit_code_of_check(outcome);
}

}  // namespace ulpscope::cli

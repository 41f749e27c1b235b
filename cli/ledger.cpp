// SPDX-License-Identifier: Apache-2.0
// The commands `ledger record`, `check`, `diff` and `show`.
#include "cli/ledger.hpp"

#include <algorithm>
#include <memory>
#include <set>

#include "cli/ledger_case.hpp"
#include "cli/ledger_file.hpp"
#include "cli/output.hpp"
#include "cli/rows.hpp"
#include "cli/verify.hpp"
#include "emu/error.hpp"
#include "emu/visible.hpp"

namespace ulpscope::cli {
namespace {

/// Options of `verify` that say nothing about a case, or that an entry holds elsewhere.
const std::set<std::string> unrecorded{"output", "threads"};

/// What all operations have.
struct Record {
  std::string ledger;
  CommonOptions common;
  std::string name, algorithm, device, driver, library;
  std::vector<std::string> tags;
  bool keep_output = false;
};

/// One operation.
struct RecordOf {
  std::string operation;
  std::shared_ptr<Record> record;
  std::unique_ptr<verify::Check> check;
  std::vector<std::pair<std::string, Option>> options = {};  ///< of `check`, under the names that an entry has for them
};

/// `KEY=VALUE`, each key once.
void add_tag(std::map<std::string, std::string>& declared, const std::string& tag) {
  const std::size_t equals = tag.find('=');
  if (equals == std::string::npos || equals == 0) throw Error("--tag '" + tag + "': give KEY=VALUE");
  if (!declared.emplace(tag.substr(0, equals), tag.substr(equals + 1)).second)
    throw Error("--tag '" + tag + "': " + tag.substr(0, equals) + " is given twice");
}

std::map<std::string, std::string> declared_of(const Record& record) {
  std::map<std::string, std::string> declared;
  for (const auto& [key, value] : {std::pair("algorithm", &record.algorithm), std::pair("device", &record.device),
                                   std::pair("driver", &record.driver), std::pair("library", &record.library)})
    if (!value->empty()) declared[key] = *value;
  for (const std::string& tag : record.tags) add_tag(declared, tag);
  return declared;
}

/// The words as typed, those that name inputs among them.
std::map<std::string, std::string> options_of(const RecordOf& of) {
  std::map<std::string, std::string> options;
  for (const auto& [name, option] : of.options) {
    if (option->count() == 0 || unrecorded.contains(name)) continue;
    std::string& words = options[name];
    for (const std::string& word : option->results()) words += (words.empty() ? "" : ",") + word;
  }
  return options;
}

/// For reading: without columns that are empty in every row.
reports::Table filled_columns(const reports::Table& table) {
  reports::Table filled{.name = table.name, .columns = {}, .rows = std::vector<std::vector<reports::Cell>>(table.rows.size())};
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    const auto is_empty = [&](const auto& row) { return row[column] == reports::Cell(std::string()); };
    if (std::all_of(table.rows.begin(), table.rows.end(), is_empty)) continue;
    filled.columns.push_back(table.columns[column]);
    for (std::size_t row = 0; row < table.rows.size(); ++row) filled.rows[row].push_back(table.rows[row][column]);
  }
  return filled;
}

void print_ledger(const std::vector<verify::LedgerEntry>& entries, const CommonOptions& options) {
  const reports::Table table = chosen(verify::ledger_table(entries), options);
  print_chosen(rendering_of(options) == Rendering::text ? filled_columns(table) : table, options, 1);
}

int run(const RecordOf& of) {
  const Record& record = *of.record;
  const std::map<std::string, std::string> declared = declared_of(record);
  JudgedCase judged = judge_case(of.operation, *of.check, options_of(of));
  judged.entry.name = record.name;
  judged.entry.declared = declared;
  const Keep keep = record.keep_output ? Keep::output : Keep::figures;
  const bool replaced = record_entry(record.ledger, judged.entry, judged.outputs, keep);
  const std::vector<verify::LedgerOutput> apart = verify::by_output(judged.entry);
  for (std::size_t i = 0; i < apart.size(); ++i)
    remark(emu::visible(apart[i].label()) + ": " + (replaced ? "replaced" : "added") + " in " + emu::visible(record.ledger) +
           "; " + judged.sentences[i]);
  print_ledger({judged.entry}, record.common);
  return exit_code_of_check(judged.outcome);
}

void add_record(Command& parent, const verify::CheckOperation& operation, const std::string& example,
                const std::shared_ptr<Record>& record, int& exit_code) {
  Command& command = *parent.add_subcommand(operation.name, operation.what);
  auto of = std::make_shared<RecordOf>(RecordOf{operation.name, record, operation.make()});
  requests::Fields fields = of->check->fields();
  fields.remove("at_most");
  if (requests::Field* const against = fields.find("against")) {
    against->help = "exact: a bound derived from the inputs; engine: bit for bit";
    against->value = "exact|engine";
  }
  for (const requests::Field& field : fields) {
    std::string name = field.name;
    std::replace(name.begin(), name.end(), '_', '-');
    of->options.emplace_back(name, command.add(field));
  }
  record->common.add_output(command);
  command.add_option("--case", record->name, "its name in the ledger; an entry of that name is replaced")->required();
  command.add_option("--algorithm", record->algorithm, "which algorithm or kernel was chosen");
  command.add_option("--device", record->device, "what it ran on");
  command.add_option("--driver", record->driver, "version of the driver");
  command.add_option("--library", record->library, "version of the library");
  command.add_option("--tag", record->tags, "anything else that is to be known later; may be repeated")
      ->repeatable()
      ->type_name("KEY=VALUE");
  command.add_flag("--keep-output", record->keep_output,
                   "keep the output in LEDGER.outputs/, so that a check can tell by how many ulps it moved");
  command.footer("Example: ulpscope ledger record kernels.ledger " + example + " --case nightly --keep-output");
  command.callback([of, &exit_code] { exit_code = run(*of); });
}

}  // namespace

void add_ledger_record(Command& ledger, int& exit_code) {
  auto record = std::make_shared<Record>();
  Command& command = *ledger.add_subcommand(
      "record", "judge an output as `ulpscope verify` does, and add it; exit code 1 if it is wrong, 3 if that cannot be told");
  command.add_option("LEDGER", record->ledger, "the ledger, a text file; made if it is not there")->required();
  command.require_subcommand(1);
  command.footer(
      "Example: ulpscope ledger record kernels.ledger matmul examples/tensors/a.npy examples/tensors/b.npy --in bf16 \\\n"
      "           --output examples/tensors/matmul.npy --case gemm-64");
  for (const verify::CheckOperation& operation : verify::check_operations())
    add_record(command, operation, example_of_check(operation.name), record, exit_code);
}

void add_ledger_show(Command& ledger, int& exit_code) {
  struct Show {
    CommonOptions common;
    std::string ledger;
  };
  auto show = std::make_shared<Show>();
  Command& command = *ledger.add_subcommand("show", "the table of all cases");
  command.add_option("LEDGER", show->ledger, "the ledger")->required();
  show->common.add_output(command);
  command.footer("Example: ulpscope ledger show examples/tensors/kernels.ledger");
  command.callback([show, &exit_code] {
    print_ledger(read_ledger(show->ledger), show->common);
    exit_code = done;
  });
}

void add_ledger(Command& app, int& exit_code) {
  Command& command =
      *app.add_subcommand("ledger", "which kernels' outputs moved after an upgrade, by how much, and are they still right?");
  command.require_subcommand(1);
  command.footer("Example: ulpscope ledger check examples/tensors/kernels.ledger gemm-64 --output examples/tensors/matmul.npy");
  add_ledger_record(command, exit_code);
  add_ledger_check(command, exit_code);
  add_ledger_diff(command, exit_code);
  add_ledger_show(command, exit_code);
}

}  // namespace ulpscope::cli

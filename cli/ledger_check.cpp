// SPDX-License-Identifier: Apache-2.0
// Outputs against a ledger, and a ledger against another.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "cli/ledger.hpp"
#include "cli/ledger_case.hpp"
#include "cli/ledger_file.hpp"
#include "cli/output.hpp"
#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "emu/visible.hpp"
#include "files/new_file.hpp"
#include "reports/junit.hpp"
#include "verify/ledger/ledger_compare.hpp"
#include "verify/ledger/ledger_manifest.hpp"

namespace ulpscope::cli {
namespace {

using verify::CaseComparison;
using verify::CaseStatus;
using verify::LedgerEntry;
using verify::LedgerOutput;

struct Verdicts {
  CommonOptions common;
  std::string junit;
  bool strict = false;

  void add_to(Command& command, const char* strict_help) {
    command.add_flag("--strict", strict, strict_help);
    command.add_written("--junit", junit, "write JUnit XML, a test case for each case", "FILE");
    common.add_output(command);
  }
};

/// What cases that could not be compared mean: of outputs, bad input; of two ledgers, cases that changed.
enum class Uncompared : std::uint8_t { bad_input, allowed };

/// What --strict fails for: of outputs, what moved; of two ledgers, whatever is not the same.
bool is_news(const CaseComparison& c, Uncompared uncompared) {
  return uncompared == Uncompared::bad_input ? c.status == CaseStatus::moved : c.status != CaseStatus::same;
}

bool fails(const CaseComparison& c, const Verdicts& options, Uncompared uncompared) {
  return c.beyond() || c.overflowed() != 0 || c.untold() || (options.strict && is_news(c, uncompared)) ||
         (!c.compared() && uncompared == Uncompared::bad_input);
}

int exit_code_of_cases(const std::vector<CaseComparison>& cases, const Verdicts& options, Uncompared uncompared) {
  const auto any = [&](auto&& is) { return std::any_of(cases.begin(), cases.end(), is); };
  using C = const CaseComparison&;
  if (any([](C c) { return c.beyond() || c.overflowed() != 0; })) return check_failed;
  if (options.strict && any([&](C c) { return is_news(c, uncompared); })) return check_failed;
  if (uncompared == Uncompared::bad_input && any([](C c) { return !c.compared(); })) return bad_usage;
  if (!any([](C c) { return c.compared(); })) return vacuous;
  return any([](C c) { return c.untold(); }) ? vacuous : done;
}

std::string sentence_of(const CaseComparison& c) { return emu::visible(c.sentence()); }

void write_junit(const Verdicts& options, const std::vector<CaseComparison>& cases, Uncompared uncompared) {
  std::vector<reports::JUnitCase> tests;
  for (const CaseComparison& c : cases) {
    reports::JUnitCase test{
        .classname = "ulpscope.ledger", .name = c.label(), .failure = {}, .type = {}, .output = c.sentence() + "\n"};
    if (fails(c, options, uncompared)) test.failure = c.sentence(), test.type = std::string(name_of(c.status));
    tests.push_back(std::move(test));
  }
  files::write_file(options.junit, reports::to_junit("ulpscope ledger", tests));
}

void show(const Verdicts& options, const std::vector<CaseComparison>& cases) {
  const std::string summary = verify::summary(cases);
  if (rendering_of(options.common) == Rendering::text) {
    std::string text;
    for (const CaseComparison& c : cases) {
      text += sentence_of(c) + "\n";
      if (!c.compared()) continue;
      for (const std::string& change : c.changes) text += "  " + emu::visible(change) + "\n";
    }
    print(text + (cases.empty() ? "" : "\n"));
    if (const reports::Table figures = verify::figures_table(cases); !figures.rows.empty())
      print(figures, options.common, 2), print("\n");
    print(summary + "\n");
    return;
  }
  print(verify::comparison_table(cases), options.common, 1);
  for (const CaseComparison& c : cases)
    if (c.status != CaseStatus::same || c.after->verdict != "pass") remark(sentence_of(c));
  remark(summary);
}

int report(const Verdicts& options, const std::vector<CaseComparison>& cases, Uncompared uncompared) {
  show(options, cases);
  if (!options.junit.empty()) write_junit(options, cases, uncompared);
  return exit_code_of_cases(cases, options, uncompared);
}

/// The cases of a ledger by their names, as they are and as they are shown.
class Cases {
 public:
  /// `entries` must outlive it, and are not empty.
  explicit Cases(const std::vector<LedgerEntry>& entries) {
    for (const LedgerEntry& entry : entries) {
      by_name_.emplace(entry.name, &entry);
      names_.push_back(entry.name);
    }
    for (const LedgerEntry& entry : entries) by_name_.emplace(emu::visible(entry.name), &entry);
  }

  /// @throws ulpscope::Error naming the nearest
  const LedgerEntry& find(const std::string& name) {
    const auto at = by_name_.find(name);
    if (at != by_name_.end()) return *at->second;
    throw Error("unknown case '" + name + "'" + (is_worth(name) ? "; nearest: " + nearest(name) : ""));
  }

 private:
  std::string nearest(const std::string& name) const { return emu::comma_separated(emu::closest_words(name, names_)); }

  /// Whether names are still compared: they are as long as that takes seconds, be it for a manifest none of whose many cases
  /// is known, or for names without end.
  bool is_worth(const std::string& name) {
    constexpr std::uint64_t apart = 16;  // a comparison costs as much as that many characters more on either side
    std::uint64_t work = 0;
    for (const std::string& known : names_) work += (name.size() + apart) * (known.size() + apart);
    if (work > left_) return false;
    left_ -= work;
    return true;
  }

  std::map<std::string, const LedgerEntry*> by_name_;
  std::vector<std::string> names_;
  std::uint64_t left_ = std::uint64_t{1} << 30;  // pairs of characters, of which a core compares some hundred million a second
};

/// A case may bring the engine by which it is judged: whoever recorded it chose what would be found right.
void remark_own_engine(const std::string& ledger, const LedgerEntry& recorded) {
  const auto engine = recorded.options.find("engine");
  if (engine == recorded.options.end()) return;
  const std::vector<std::string> names = emu::engine_names();
  if (std::ranges::find(names, engine->second) != names.end()) return;
  remark(
      emu::visible(recorded.name + ": is judged by an engine that " + ledger + " describes itself (" + engine->second + ")"));
}

/// What `judge` makes of a case. What is wrong may be in the ledger or in what is given now: the ledger is named, too.
template <class Judge>
auto located(const std::string& ledger, const LedgerEntry& recorded, Judge&& judge) try {
  return judge(recorded);
} catch (const Error& error) {
  throw Error(std::string(error.what()) + " (case " + recorded.name + " of " + ledger + ")");
}

/// One comparison for each output of the case.
std::vector<CaseComparison> compare(const std::string& ledger, const LedgerEntry& recorded, const GivenAgain& given) {
  const JudgedCase now = located(ledger, recorded, [&](const LedgerEntry& entry) { return judge_again(entry, given); });
  remark_own_engine(ledger, recorded);
  LedgerEntry entry = now.entry;
  entry.name = recorded.name;
  entry.declared = recorded.declared;
  const std::vector<LedgerOutput> before = verify::by_output(recorded), after = verify::by_output(entry);
  std::vector<CaseComparison> comparisons;
  for (std::size_t i = 0; i < before.size(); ++i) {
    CaseComparison comparison = verify::compare_cases(before[i], after[i]);
    if (comparison.status == CaseStatus::moved && comparison.unlike_outputs.empty())
      if (const auto kept = kept_output(ledger, before[i].tensor()))
        comparison.movement = verify::movement(requests::parse_format(after[i].tensor().format), *kept, now.outputs[i]);
    comparisons.push_back(std::move(comparison));
  }
  return comparisons;
}

struct Check {
  Verdicts verdicts;
  std::string ledger, name, manifest;
  std::vector<std::string> inputs, named, scale_a, scale_b;
  GivenAgain given;
};

void add_scale(std::map<std::string, std::string>& inputs, const std::string& role, const std::vector<std::string>& words) {
  if (words.size() > 2)
    throw Error("--scale-" + role.substr(6) + ": may be given twice, the second time for the whole operand");
  if (!words.empty()) inputs[role] = words.front();
  if (words.size() == 2) inputs[role + "_whole"] = words.back();
}

/// The roles of the inputs that `ulpscope verify` takes without an option.
std::vector<std::string> positional_roles(const LedgerEntry& entry) {
  const verify::CheckOperation& operation = verify::find_check_operation(entry.operation);
  const std::unique_ptr<verify::Check> check = operation.make();
  const requests::Fields fields = check->fields();
  std::vector<std::string> roles;
  for (const verify::LedgerTensor& input : entry.inputs) {
    const requests::Field* const field = fields.find(operation.field_of(input.role, input.words).first);
    if (field != nullptr && field->is_input()) roles.push_back(input.role);
  }
  return roles;
}

std::vector<CaseComparison> check_one(const Check& check, Cases cases) {
  if (check.name.empty() || check.given.output.empty()) throw Error("give a CASE and its --output, or a --manifest");
  GivenAgain given = check.given;
  const LedgerEntry& entry = cases.find(check.name);
  const std::vector<std::string> roles = located(check.ledger, entry, positional_roles);
  if (check.inputs.size() > roles.size())
    throw Error("inputs: " + std::to_string(check.inputs.size()) + "; the case has " +
                (roles.empty() ? "none" : emu::comma_separated(roles)));
  for (std::size_t i = 0; i < check.inputs.size(); ++i) given.inputs[roles[i]] = check.inputs[i];
  for (const std::string& word : check.named) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == word.npos || equals + 1 == word.size()) throw Error("--input '" + word + "': give ROLE=FILE");
    if (!given.inputs.emplace(word.substr(0, equals), word.substr(equals + 1)).second)
      throw Error("--input '" + word + "': " + word.substr(0, equals) + " is given twice");
  }
  add_scale(given.inputs, "scale_a", check.scale_a);
  add_scale(given.inputs, "scale_b", check.scale_b);
  return compare(check.ledger, entry, given);
}

std::vector<CaseComparison> check_all(const Check& check, Cases known) {
  if (!check.name.empty() || !check.given.output.empty())
    throw Error("--manifest " + check.manifest + ": names cases and outputs itself; give neither CASE nor --output");
  const std::string advice = "it is a CSV file: case,output and the roles of inputs given anew, as in case,output,A,B";
  std::vector<CaseComparison> cases;
  for (const verify::ManifestCase& one : verify::parse_manifest(read_text(check.manifest, advice), check.manifest)) {
    GivenAgain given = check.given;
    given.output = one.output;
    given.inputs = one.inputs;
    try {
      for (CaseComparison& c : compare(check.ledger, known.find(one.name), given)) cases.push_back(std::move(c));
    } catch (const Error& error) {
      cases.push_back({.name = one.name, .problem = check.manifest + ": row " + std::to_string(one.row) + ": " + error.what()});
    }
  }
  return cases;
}

/// Tells of cases that no output was given for: silence would look like `same`.
void remark_rest(const std::vector<LedgerEntry>& entries, const std::vector<CaseComparison>& cases) {
  std::set<std::string> checked;
  for (const CaseComparison& c : cases) checked.insert(c.name);
  std::string names;
  for (const LedgerEntry& entry : entries)
    if (!checked.contains(entry.name)) names += (names.empty() ? "" : ", ") + entry.name;
  if (!names.empty()) remark("in the ledger, but not checked: " + emu::visible(names));
}

int run(const Check& check) {
  const std::vector<LedgerEntry> entries = read_ledger(check.ledger);
  if (entries.empty()) {
    remark(check.ledger + ": holds no case: nothing is checked");
    return vacuous;
  }
  if (check.manifest.empty()) return report(check.verdicts, check_one(check, Cases(entries)), Uncompared::bad_input);
  const std::vector<CaseComparison> cases = check_all(check, Cases(entries));
  const int code = report(check.verdicts, cases, Uncompared::bad_input);
  remark_rest(entries, cases);
  return code;
}

struct Diff {
  Verdicts verdicts;
  std::string before, after;
};

CaseComparison compare(const Diff& diff, const LedgerOutput& before, const LedgerOutput& after) {
  CaseComparison comparison = verify::compare_cases(before, after);
  if (comparison.status != CaseStatus::moved || !comparison.unlike_outputs.empty()) return comparison;
  const auto was = kept_output(diff.before, before.tensor()), is = kept_output(diff.after, after.tensor());
  if (was && is) comparison.movement = verify::movement(requests::parse_format(after.tensor().format), *was, *is);
  return comparison;
}

int run(const Diff& diff) {
  using Sides = std::pair<std::optional<LedgerOutput>, std::optional<LedgerOutput>>;
  std::map<std::pair<std::string, std::string>, Sides> pairs;  // by case and output: what they are called may be one name
  const std::vector<LedgerEntry> before = read_ledger(diff.before), after = read_ledger(diff.after);
  for (const LedgerOutput& output : verify::by_output(before)) pairs[{output.entry->name, output.name()}].first = output;
  for (const LedgerOutput& output : verify::by_output(after)) pairs[{output.entry->name, output.name()}].second = output;
  std::vector<CaseComparison> cases;
  for (const auto& [names, sides] : pairs) {
    const auto& [was, is] = sides;
    const auto& [name, output] = names;
    if (was && is)
      cases.push_back(compare(diff, *was, *is));
    else if (was)
      cases.push_back({.name = name, .output = output, .status = CaseStatus::removed, .before = was->figures()});
    else
      cases.push_back({.name = name, .output = output, .status = CaseStatus::added, .after = is->figures()});
  }
  return report(diff.verdicts, cases, Uncompared::allowed);
}

}  // namespace

void add_ledger_check(Command& ledger, int& exit_code) {
  auto check = std::make_shared<Check>();
  Command& command = *ledger.add_subcommand("check",
                                            "outputs against those recorded; exit code 1 if one is beyond its bound or "
                                            "overflows where it did not, 3 if nothing was checked");
  command.add_option("LEDGER", check->ledger, "the ledger")->required();
  command.add_option("CASE", check->name, "the case");
  command.add_option("INPUT", check->inputs,
                     "inputs as `verify` takes them (A B [C]), where they are not to be had as recorded");
  command
      .add_option("--input", check->named, "any input by its role (mask=m.npy), or another output (lse=l.npy); may be repeated")
      ->repeatable()
      ->type_name("ROLE=FILE");
  command.add_option("--output", check->given.output, "what the kernel returns now: a tensor file")->type_name("FILE");
  command.add_option("--output-dtype", check->given.output_dtype, "what the codes of that file are, if it does not say")
      ->type_name("F");
  for (const auto& [option, words] : {std::pair("--scale-a", &check->scale_a), std::pair("--scale-b", &check->scale_b)})
    command.add_option(option, *words, "its scales, likewise")->repeatable()->type_name("S");
  command
      .add_option(
          "--manifest", check->manifest,
          "many cases: CSV with the columns case and output, and roles of inputs (A, scale_a, x, mask) that are given anew")
      ->type_name("FILE.csv");
  requests::Fields threads;
  requests::describe_threads(threads, check->given.threads);
  command.add(threads);
  check->verdicts.add_to(command, "exit code 1 also for what moved within its bound");
  command.footer(
      "Example: ulpscope ledger check examples/tensors/kernels.ledger gemm-64 --output examples/tensors/matmul.npy --text");
  command.callback([check, &exit_code] { exit_code = run(*check); });
}

void add_ledger_diff(Command& ledger, int& exit_code) {
  auto diff = std::make_shared<Diff>();
  Command& command = *ledger.add_subcommand("diff", "which cases moved from one ledger to another; exit codes as of check");
  command.add_option("OLD", diff->before, "the former ledger")->required();
  command.add_option("NEW", diff->after, "the later one")->required();
  diff->verdicts.add_to(command, "exit code 1 for anything that is not the same in both");
  command.footer("Example: ulpscope ledger diff examples/tensors/kernels.ledger examples/tensors/kernels.ledger");
  command.callback([diff, &exit_code] { exit_code = run(*diff); });
}

}  // namespace ulpscope::cli

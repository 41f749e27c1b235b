// SPDX-License-Identifier: Apache-2.0
// Conformance as tables and words.
#include "verify/conform/conform_tables.hpp"

#include "emu/decode.hpp"
#include "emu/names.hpp"
#include "requests/numbers.hpp"
#include "verify/conform/conform_presets.hpp"

namespace ulpscope::verify {
namespace {

using reports::Cell;
using reports::whole;

/// Bits beyond the format are shown, though no number has them.
std::string shown(emu::Format format, emu::Code code) {
  constexpr emu::Format word{11, 52, 1023, emu::Specials::ieee};
  if (code <= format.code_mask()) return emu::hex_code(format, code);
  const std::string all = emu::hex_code(word, code);
  return all.substr(all.find_first_not_of('0'));
}

Cell value(emu::Format format, emu::Code code) {
  if (code > format.code_mask()) return std::string("no code");
  return emu::decode(format, code);
}

void add_example(std::vector<Cell>& row, const ConformHeading& heading, const Mismatch& mismatch) {
  const emu::Format from = heading.right.from, to = heading.right.to;
  row.insert(row.end(), {shown(from, mismatch.input), value(from, mismatch.input), shown(to, mismatch.expected),
                         value(to, mismatch.expected), shown(to, mismatch.got), value(to, mismatch.got)});
}

const std::vector<std::string> example_columns{"input", "input_value", "expected", "expected_value", "got", "got_value"};

std::string operation(const Computation& right) { return right.operation ? std::string(right.operation->name) : "convert"; }

std::string word(NanCheck check, const Rules& rules) {
  if (check == NanCheck::any) return "any";
  const std::string what = check == NanCheck::sign ? "sign" : "code";
  switch (rules.nan_sign) {
    case Sign::positive: return what + ", positive";
    case Sign::of_input: return what + ", sign of the input";
    default: return what + ", opposite sign";
  }
}

}  // namespace

reports::Table conform_table(const ConformHeading& heading, const Conformance& result) {
  reports::Table table{"conform",
                       {"subject", "operation", "from", "to", "preset", "rounding", "policy", "ulp", "inputs", "compared",
                        "not_judged", "mismatches", "class", "explanation", "count", "otherwise"},
                       {}};
  table.columns.insert(table.columns.end(), example_columns.begin(), example_columns.end());
  const emu::RoundingOptions& options = heading.right.rules.options;
  const std::vector<Cell> common{heading.subject,
                                 operation(heading.right),
                                 emu::format_name(heading.right.from),
                                 emu::format_name(heading.right.to),
                                 heading.preset,
                                 std::string(emu::name_of(options.rounding)),
                                 std::string(emu::name_of(options.policy)),
                                 whole(heading.ulp),
                                 heading.sample          ? "sample"
                                 : heading.range.empty() ? "all"
                                                         : heading.range,
                                 whole(result.compared),
                                 whole(result.not_judged),
                                 whole(result.mismatches)};
  for (const ConformFinding& finding : result.findings) {
    std::vector<Cell> row = common;
    row.insert(row.end(),
               {std::string(name_of(finding.fault)), finding.explanation, whole(finding.count), whole(finding.otherwise)});
    add_example(row, heading, finding.examples.front());
    table.rows.push_back(std::move(row));
  }
  if (!table.rows.empty()) return table;
  std::vector<Cell> row = common;
  row.insert(row.end(), {std::string("none"), std::string(), whole(0), whole(0)});
  row.resize(table.columns.size(), std::string());
  table.rows.push_back(std::move(row));
  return table;
}

reports::Table conform_examples(const ConformHeading& heading, const Conformance& result) {
  reports::Table table{"examples", {"class", "explanation"}, {}};
  table.columns.insert(table.columns.end(), example_columns.begin(), example_columns.end());
  for (const ConformFinding& finding : result.findings) {
    for (const Mismatch& mismatch : finding.examples) {
      std::vector<Cell> row{std::string(name_of(finding.fault)), finding.explanation};
      add_example(row, heading, mismatch);
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

std::string mismatch_line(const ConformHeading& heading, const Mismatch& mismatch) {
  const auto code_and_value = [](emu::Format format, emu::Code code) {
    const Cell cell = value(format, code);
    const double* const number = std::get_if<double>(&cell);
    return shown(format, code) + " (" + (number != nullptr ? requests::shortest(*number) : std::get<std::string>(cell)) + ")";
  };
  return "wrong: " + code_and_value(heading.right.from, mismatch.input) + " became " +
         code_and_value(heading.right.to, mismatch.got) + ", right is " + code_and_value(heading.right.to, mismatch.expected);
}

std::string conform_heading(const ConformHeading& heading, const Conformance& result) {
  const Rules& rules = heading.right.rules;
  std::string out = operation(heading.right) + ", " + emu::format_name(heading.right.from) + " to " +
                    emu::format_name(heading.right.to) + ", " + std::string(emu::name_of(rules.options.rounding)) + ", " +
                    std::string(emu::name_of(rules.options.policy)) + ", NaN " + word(rules.nan_check, rules) +
                    (heading.preset.empty() ? "" : ", preset " + heading.preset) + "\n" + std::to_string(result.compared) +
                    " inputs compared" + (heading.sample ? ", a sample of float64" : "") +
                    (heading.range.empty() ? "" : ", those of " + heading.range);
  if (result.not_judged != 0) out += "; " + std::to_string(result.not_judged) + " left out, for which nothing is prescribed";
  return out;
}

reports::Table conform_counts(const Conformance& result) {
  reports::Table table{"counts", {"class", "explanation", "count", "otherwise", "meaning"}, {}};
  for (const ConformFinding& finding : result.findings)
    table.rows.push_back({std::string(name_of(finding.fault)), finding.explanation.empty() ? "-" : finding.explanation,
                          whole(finding.count), whole(finding.otherwise), std::string(meaning_of(finding.fault))});
  return table;
}

reports::Table preset_table() {
  reports::Table table{"presets", {"preset", "to", "rounding", "policy", "nan", "source"}, {}};
  for (const Preset& preset : presets())
    table.rows.push_back({std::string(preset.name), emu::format_name(preset.to),
                          std::string(emu::name_of(preset.rules.options.rounding)),
                          std::string(emu::name_of(preset.rules.options.policy)), word(preset.rules.nan_check, preset.rules),
                          std::string(preset.source)});
  return table;
}

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// The command `conform`: words to a request, findings as text, table or JSON.
#include <memory>
#include <optional>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/own_process.hpp"
#include "cli/rows.hpp"
#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "reports/render.hpp"
#include "verify/conform/conform_request.hpp"

namespace ulpscope::cli {
namespace {

struct Conform {
  verify::ConformRequest request;
  CommonOptions common;
  std::string write_inputs;
  bool list_presets = false;
};

/// Numbers as words, with all their digits.
reports::Table with_whole_numbers(reports::Table table) {
  for (auto& row : table.rows)
    for (reports::Cell& cell : row)
      if (const double* const x = std::get_if<double>(&cell)) cell = reports::shortest(*x);
  return table;
}

void print_text(const Conform& conform, const verify::ConformHeading& heading, const verify::Conformance& result) {
  print(verify::conform_heading(heading, result) + "\n");
  if (result.mismatches != 0) {
    const auto tables =
        chosen_together({verify::conform_counts(result), verify::conform_examples(heading, result)}, conform.common);
    print("\n"), print_chosen(tables[0], conform.common, 1);
    print("\nThe first of each class:\n"), print_chosen(with_whole_numbers(tables[1]), conform.common, 2);
  }
  print("\n" + verify::diagnosis(result, heading.subject) + "\n");
}

void print_result(const Conform& conform, const verify::ConformHeading& heading, const verify::Conformance& result) {
  const std::string sentence = verify::diagnosis(result, heading.subject);
  const reports::Table table = verify::conform_table(heading, result);
  switch (rendering_of(conform.common)) {
    case Rendering::csv:
      print(table, conform.common, 1);
      remark(sentence);
      break;
    case Rendering::json: {
      const auto tables = chosen_together({table, verify::conform_examples(heading, result)}, conform.common);
      print("{\"conform\": " + json_of(tables[0], conform.common) + ", \"examples\": " + json_of(tables[1], conform.common) +
            "}\n");
      remark(sentence);
      break;
    }
    case Rendering::text: return print_text(conform, heading, result);
  }
}

int run(const Conform& conform) {
  if (conform.list_presets) return print(verify::preset_table(), conform.common, 2), done;
  if (!conform.write_inputs.empty()) {
    const verify::ConformRequest& asked = conform.request;
    if (!asked.program.empty() || !asked.dump.empty() || !asked.library.empty())
      throw Error("--write-inputs " + conform.write_inputs + ": checks nothing; leave out --program, --dump and --library");
    return verify::write_inputs(asked, conform.write_inputs), done;
  }
  std::optional<OwnProcess> own_process;
  if (!conform.request.library.empty()) own_process.emplace(emu::visible(verify::subject_name(conform.request)));
  ProgressLine progress;
  const verify::ConformResult result =
      verify::conform(conform.request, progress.callback(), [&](const std::string& line) { progress.clear(), remark(line); });
  print_result(conform, result.heading, result.conformance);
  return exit_code_of(verify::outcome_of(result.conformance));
}

}  // namespace

void add_conform(Command& app, int& exit_code) {
  auto conform = std::make_shared<Conform>();
  Command& command = *app.add_subcommand("conform", "somebody else's converter on every input: each wrong result, and why");
  command.add_request(conform->request);
  command.add_written("--write-inputs", conform->write_inputs, "write the inputs as raw words instead of checking anything",
                      "FILE");
  command.add_flag("--list-presets", conform->list_presets, "the presets, their formats and sources");
  conform->common.add_output(command);
  command.footer(
      "Codes are right-aligned in little-endian words of 1, 2, 4 or 8 bytes, the least that hold the format. Signatures:\n"
      "  batch          void NAME(const void* in, void* out, size_t count)   words in and out\n"
      "  scalar         uintN_t NAME(uintM_t)                                a code in, a code out\n"
      "  scalar_float   uintN_t NAME(float)                                  of float64: NAME(double)\n"
      "\n"
      "A library's function: ulpscope conform --library ./libmine.so --symbol to_e4m3 --from fp32 --to e4m3 --preset cuda\n"
      "Example: ulpscope conform --program cat --from fp16 --to fp16");
  command.callback([conform, &exit_code] { exit_code = run(*conform); });
}

}  // namespace ulpscope::cli

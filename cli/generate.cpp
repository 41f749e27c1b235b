// SPDX-License-Identifier: Apache-2.0
// `ulpscope generate`: its commands, and the list of kinds.
#include "verify/generate/generate.hpp"

#include <memory>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/generate_words.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/rows.hpp"
#include "reports/table.hpp"

namespace ulpscope::cli {
namespace {

std::string returns(const verify::CaseKind& kind) {
  if (!kind.returns.empty()) return std::string(kind.returns);
  return "expected.npy: to the bit where no partial sum needs rounding (any_order_is_exact), else within the error bound";
}

reports::Table kinds_table() {
  reports::Table table{"kinds", {"kind", "provokes", "returns", "catches"}, {}};
  for (const verify::CaseKind& kind : verify::case_kinds())
    table.rows.push_back({std::string(kind.name), std::string(kind.provokes), returns(kind), std::string(kind.catches)});
  return table;
}

void list(const CommonOptions& common) {
  if (rendering_of(common) != Rendering::text) return print(kinds_table(), common, 1);
  std::string text;
  for (const std::size_t row : chosen_rows(kinds_table(), common)) {
    const verify::CaseKind& kind = verify::case_kinds()[row];
    text += (text.empty() ? "" : "\n") + std::string(kind.name) + "\n";
    text += "  data     " + std::string(kind.provokes) + "\n";
    text += "  right    " + returns(kind) + "\n";
    text += "  catches  " + std::string(kind.catches) + "\n";
  }
  print(text);
}

void add_list(Command& generate) {
  auto common = std::make_shared<CommonOptions>();
  Command& command = *generate.add_subcommand("list", "the kinds of `generate matmul`: what each provokes and catches");
  common->add_output(command);
  command.footer("Example: ulpscope generate list");
  command.callback([common] { list(*common); });
}

void add_matmul_case(Command& generate) {
  auto words = std::make_shared<GenerateMatmulWords>();
  Command& command = *generate.add_subcommand("matmul", "A and B, and what their product is");
  words->add_to(command);
  command.footer("Example: ulpscope generate matmul ties --in bf16 --out bf16 --engine sm_90 -o ties");
  command.callback([words] { generate_matmul(*words); });
}

void add_cast_case(Command& generate) {
  auto words = std::make_shared<GenerateCastWords>();
  Command& command = *generate.add_subcommand("cast", "float32 values beside every threshold of a format, and their codes");
  words->add_to(command);
  command.footer("Example: ulpscope generate cast --to e4m3 --policy saturating -o cast");
  command.callback([words] { generate_cast(*words); });
}

}  // namespace

void add_generate(Command& app, int&) {
  Command& command = *app.add_subcommand("generate", "operands that provoke what random data misses, and the right results");
  command.require_subcommand(1);
  command.footer("Example: ulpscope generate matmul ties --in bf16 --out bf16 --engine sm_90 -o ties");
  add_matmul_case(command);
  add_cast_case(command);
  add_list(command);
}

}  // namespace ulpscope::cli

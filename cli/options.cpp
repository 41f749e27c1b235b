// SPDX-License-Identifier: Apache-2.0
// Declares the options that several commands have.
#include "cli/options.hpp"

#include "cli/rows.hpp"
#include "reports/selection.hpp"

namespace ulpscope::cli {

void CommonOptions::add_formats(Command& command) { command.add_request(formats); }

void CommonOptions::add_rounding(Command& command) {
  requests::Fields fields;
  rounding.describe(fields);
  if (command.get_option_no_throw("--seed") == nullptr)
    requests::describe_seed(fields, reading.seed, "key of stochastic rounding and of synthetic tensors");
  command.add(fields);
}

void CommonOptions::add_input(Command& command) {
  requests::Fields fields = requests::fields_of(reading);
  if (command.get_option_no_throw("--seed") != nullptr) fields.remove("seed");
  command.add(fields);
}

void CommonOptions::add_threads(Command& command) {
  requests::Fields fields;
  requests::describe_threads(fields, threads);
  command.add(fields);
}

void CommonOptions::add_output(Command& command) {
  const auto t = command.add_flag("--text", text, "aligned text (the default on a terminal)");
  const auto c = command.add_flag("--csv", csv, "CSV (the default elsewhere)");
  const auto j = command.add_flag("--json", json, "JSON");
  t->excludes(c)->excludes(j);
  c->excludes(j);
  const auto add_words = [&](const char* name, std::vector<std::string>& words, const char* description) {
    return command.add_option(name, words, description)->repeatable();
  };
  add_words("--where", where, "only rows for which it holds, e.g. 'sqnr_db < 30' or 'format == bf16'; may be repeated")
      ->type_name("'COLUMN OP NUMBER'")
      ->each([](const std::string& words) { reports::parse_condition(words); });
  add_words("--sort", sort, "order of the rows, e.g. sqnr_db or to_zero%:desc; may be repeated")
      ->type_name("COLUMN[:desc]")
      ->each([](const std::string& words) { reports::parse_order(words); });
  command.add_option("--rows", rows, "at most N rows; 40 by default in text on a terminal or of many tensors, else all")
      ->type_name("N|all")
      ->each([](const std::string& word) { parse_rows(word); });
}

}  // namespace ulpscope::cli

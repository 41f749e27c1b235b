// SPDX-License-Identifier: Apache-2.0
// The readers of text: ledgers, manifests, reports, TOML, recipes, lines of eval, words of the command line.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "cli/decimal.hpp"
#include "cli/eval_lines.hpp"
#include "cli/eval_words.hpp"
#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "emu/json_input.hpp"
#include "emu/names.hpp"
#include "emu/shell_word.hpp"
#include "emu/visible.hpp"
#include "recipes/recipe.hpp"
#include "recipes/scaler.hpp"
#include "reports/compare/compare.hpp"
#include "reports/compare/csv_file.hpp"
#include "reports/listed_folder.hpp"
#include "reports/render.hpp"
#include "requests/toml.hpp"
#include "tensors/synthetic.hpp"
#include "tests/fuzz/read_everything.hpp"
#include "tests/fuzz/targets.hpp"
#include "verify/ledger/ledger.hpp"
#include "verify/ledger/ledger_manifest.hpp"

namespace ulpscope::fuzz {
namespace {

std::string text_of(const std::uint8_t* data, std::size_t size) { return {reinterpret_cast<const char*>(data), size}; }

void require(bool holds) {
  if (!holds) std::abort();
}

template <class Act>
void unless_refused(Act act) {
  try {
    act();
  } catch (const Error& error) {
    require(std::string(error.what()).find('\n') == std::string::npos || !emu::visible(error.what()).empty());
  }
}

}  // namespace

void read_ledger(const std::uint8_t* data, std::size_t size) {
  unless_refused([&] {
    const std::string again = verify::ledger_text(verify::parse_ledger(text_of(data, size), "input"));
    require(verify::ledger_text(verify::parse_ledger(again, "input")) == again);
  });
}

void read_manifest(const std::uint8_t* data, std::size_t size) {
  unless_refused([&] {
    for (const verify::ManifestCase& one : verify::parse_manifest(text_of(data, size), "input")) require(!one.output.empty());
  });
}

void read_report(const std::uint8_t* data, std::size_t size) {
  const std::string text = text_of(data, size);
  static_cast<void>(reports::listed_in(text));
  unless_refused([&] {
    for (const auto& [name, hash] : reports::parse_manifest(text, "input").files)
      require(("/" + name).find("/.") == name.npos && std::ranges::count(name, '/') <= 1);
  });
  unless_refused([&] {
    const auto written = [](const reports::CsvFile& file) {
      reports::Table table{"input", file.columns, {}};
      for (const auto& row : file.rows) {
        require(row.size() == file.columns.size());
        table.rows.emplace_back(row.begin(), row.end());
      }
      return reports::to_csv(table);
    };
    const std::string again = written(reports::parse_csv(text, "input"));
    require(written(reports::parse_csv(again, "again")) == again);
  });
}

void read_json(const std::uint8_t* data, std::size_t size) {
  unless_refused([&] {
    const nlohmann::json value = emu::parse_json(text_of(data, size));
    require(emu::parse_json(value.dump()) == value);
  });
}

void read_toml(const std::uint8_t* data, std::size_t size) {
  unless_refused([&] { static_cast<void>(requests::parse_toml(text_of(data, size), "input")); });
}

void read_recipe(const std::uint8_t* data, std::size_t size) {
  const std::string text = text_of(data, size);
  unless_refused([&] {
    const recipes::Recipe recipe = recipes::parse_recipe(text, "input.toml");
    for (const char* const layer : {"", "blocks.0.attention.qkv", "14"})
      static_cast<void>(recipes::resolve(recipe, "linear", layer, {.index = 0, .count = 2}));
  });
  std::vector<std::string> scalers = recipes::split_scalers(text);
  scalers.resize(std::min<std::size_t>(scalers.size(), 2));  // a text of commas is thousands, and each is refused
  for (const std::string& words : scalers)
    unless_refused([&] {
      recipes::Scaler scaler(words, emu::float8_e4m3fn);
      require(recipes::Scaler(scaler.words(), emu::float8_e4m3fn).words() == scaler.words());
      for (const double amax : {1.0, 0x1p-149, std::numeric_limits<double>::infinity()})
        scaler.step({.found_inf = amax > 1, .amax = amax});
      recipes::Scaler same(words, emu::float8_e4m3fn);
      same.set_state(scaler.state());
      require(same.scale() == scaler.scale());
    });
}

void read_eval(const std::uint8_t* data, std::size_t size) {
  const std::string text = text_of(data, size);
  for (const cli::OperationFacts& facts : cli::operations) {
    const cli::Evaluation evaluation{
        facts.operation, emu::float16, facts.operation == cli::Operation::convert ? emu::float8_e5m2 : emu::float16, {}, 0};
    std::vector<char> out(cli::results_bound(evaluation, text.size()));
    const cli::Evaluated done = cli::evaluate_lines(evaluation, text, 1, out);
    require(done.bytes <= text.size() && done.results.size() <= out.size());
    const std::string_view rest = std::string_view(text).substr(done.bytes);
    if (!rest.empty()) unless_refused([&] { cli::what_is_wrong(evaluation, rest.substr(0, rest.find('\n'))); });
  }
}

void read_text(const std::uint8_t* data, std::size_t size) {
  const std::string text = text_of(data, size), shown = emu::visible(text), lines = emu::visible_lines(text);
  require(emu::visible(shown) == shown && emu::visible_lines(lines) == lines);
  const auto acts = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  require(std::none_of(shown.begin(), shown.end(), acts));
  require(emu::visible(emu::shell_word(text)) == emu::shell_word(text) || text.find("##") != text.npos);
}

void read_words(const std::uint8_t* data, std::size_t size) {
  const std::string word = text_of(data, size);
  if (const auto format = emu::parse_format(word)) require(emu::parse_format(emu::format_name(*format)) == format);
  static_cast<void>(emu::parse_format_or_integer(word));
  const emu::Format format =
      size % 2 == 0 ? emu::float16 : emu::float8_e4m3fn;  // one: refusals look for the nearest of all engines
  unless_refused([&] { static_cast<void>(emu::parse_engine(word, {format, format})); });
  if (const auto typed = cli::parse_typed(word)) cli::round_typed(emu::bfloat16, *typed, {}, 0);
  unless_refused([&] { static_cast<void>(cli::parse_operation(word)); });
  if (tensors::is_synthetic(word))
    unless_refused([&] {
      const tensors::Tensor tensor = tensors::synthetic(word, 1);
      constexpr std::uint64_t most = std::uint64_t{1} << 20;
      if (tensor.count() <= most) touch(tensor);
    });
}

}  // namespace ulpscope::fuzz

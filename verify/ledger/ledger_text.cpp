// SPDX-License-Identifier: Apache-2.0
// The text of a ledger, and back. What is read must be what would be written, so that no key or value goes unseen.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "emu/error.hpp"
#include "emu/json_input.hpp"
#include "emu/names.hpp"
#include "emu/visible.hpp"
#include "tensors/elements.hpp"
#include "verify/further_names.hpp"
#include "verify/ledger/ledger.hpp"

namespace ulpscope::verify {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr auto version_key = "ulpscope_ledger";
constexpr int version = 1;

/// A problem of one line.
struct Malformed {
  std::string what;
};

ordered_json json_of(double number) {
  if (std::isfinite(number)) return number;
  return std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
}

ordered_json json_of(const LedgerTensor& tensor) {
  return {{"role", tensor.role},
          {"words", tensor.words},
          {"format", tensor.format},
          {"shape", tensor.shape},
          {"sha256", tensor.sha256}};
}

/// Elements that the bound admits are named where there are some: ledgers without them are those of earlier versions.
ordered_json json_of(const LedgerFigures& f) {
  ordered_json object{{"verdict", f.verdict},
                      {"equal", f.equal},
                      {"within", f.within},
                      {"beyond", f.beyond},
                      {"nonfinite", f.nonfinite},
                      {"max_ulp_error", json_of(f.max_ulp_error)},
                      {"bias_ulp", json_of(f.bias_ulp)},
                      {"rel_frobenius_error", json_of(f.rel_frobenius_error)},
                      {"max_of_bound", json_of(f.max_of_bound)}};
  if (f.nonfinite_admitted != 0) object["nonfinite_admitted"] = f.nonfinite_admitted;
  return object;
}

ordered_json json_of(const std::map<std::string, std::string>& words) {
  ordered_json object = ordered_json::object();
  for (const auto& [key, value] : words) emu::append_member(object, key, value);
  return object;
}

ordered_json json_of(const LedgerEntry& e) {
  ordered_json inputs = ordered_json::array();
  for (const LedgerTensor& input : e.inputs) inputs.push_back(json_of(input));
  ordered_json entry{
      {"case", e.name},   {"operation", e.operation}, {"declared", json_of(e.declared)}, {"options", json_of(e.options)},
      {"inputs", inputs}, {"bound", e.bound},         {"figures", json_of(e.figures)},   {"output", json_of(e.output)}};
  if (!e.further.empty()) entry["further"] = ordered_json::array();
  for (const LedgerFurther& other : e.further)
    entry["further"].push_back(
        {{"name", other.name}, {"bound", other.bound}, {"figures", json_of(other.figures)}, {"output", json_of(other.output)}});
  return entry;
}

const json& member(const json& object, const char* key) {
  if (!object.is_object()) throw Malformed{fmt::format("{} is looked for in what is no object", key)};
  const auto at = object.find(key);
  if (at == object.end()) throw Malformed{fmt::format("'{}' is missing", key)};
  return *at;
}

std::string text_of(const json& value, std::string_view key) {
  if (!value.is_string()) throw Malformed{fmt::format("'{}' is no text", key)};
  return value.get<std::string>();
}

std::string text_at(const json& object, const char* key) { return text_of(member(object, key), key); }

std::uint64_t count_of(const json& value, const char* key) {
  if (!value.is_number_unsigned()) throw Malformed{fmt::format("'{}' is no count", key)};
  return value.get<std::uint64_t>();
}

double number_at(const json& object, const char* key) {
  const json& value = member(object, key);
  if (value.is_number()) return value.get<double>();
  const double infinity = std::numeric_limits<double>::infinity();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return infinity;
  if (value == "-inf") return -infinity;
  throw Malformed{fmt::format("'{}' is no number", key)};
}

LedgerTensor tensor_of(const json& object) {
  LedgerTensor tensor{.role = text_at(object, "role"),
                      .words = text_at(object, "words"),
                      .format = text_at(object, "format"),
                      .sha256 = text_at(object, "sha256"),
                      .shape = {}};
  const auto format = emu::parse_format(tensor.format);
  if (!format || emu::format_name(*format) != tensor.format) throw Malformed{fmt::format("'{}' is no format", tensor.format)};
  if (tensor.sha256.size() != 64 || tensor.sha256.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw Malformed{"'sha256' is not 64 lower-case hexadecimal digits"};
  const json& shape = member(object, "shape");
  if (!shape.is_array()) throw Malformed{"'shape' is no array"};
  for (const json& extent : shape) tensor.shape.push_back(count_of(extent, "shape"));
  return tensor;
}

LedgerFigures figures_of(const json& object) {
  const auto count = [&](const char* key) { return count_of(member(object, key), key); };
  LedgerFigures f{.verdict = text_at(object, "verdict"),
                  .equal = count("equal"),
                  .within = count("within"),
                  .beyond = count("beyond"),
                  .nonfinite = count("nonfinite"),
                  .nonfinite_admitted = object.contains("nonfinite_admitted") ? count("nonfinite_admitted") : 0,
                  .max_ulp_error = number_at(object, "max_ulp_error"),
                  .bias_ulp = number_at(object, "bias_ulp"),
                  .rel_frobenius_error = number_at(object, "rel_frobenius_error"),
                  .max_of_bound = number_at(object, "max_of_bound")};
  if (f.verdict != "pass" && f.verdict != "fail" && f.verdict != "vacuous")
    throw Malformed{fmt::format("verdict '{}': is pass, fail or vacuous", f.verdict)};
  if (f.nonfinite_admitted > f.within)
    throw Malformed{fmt::format("{} elements are admitted, {} are within the bound", f.nonfinite_admitted, f.within)};
  std::uint64_t sum = 0;
  for (const std::uint64_t elements : {f.equal, f.within, f.beyond, f.nonfinite})
    if (__builtin_add_overflow(sum, elements, &sum)) throw Malformed{"the counts add up to 2^64 or more"};
  if (f.wrong() != 0 && f.verdict != "fail")  // which may be for what no element shows: the odds of stochastic rounding
    throw Malformed{fmt::format("verdict {} with {} wrong elements", f.verdict, f.wrong())};
  return f;
}

std::map<std::string, std::string> words_at(const json& object, const char* key) {
  const json& words = member(object, key);
  if (!words.is_object()) throw Malformed{fmt::format("'{}' is no object", key)};
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : words.items()) out[name] = text_of(value, name);
  return out;
}

void check_counts(const LedgerFigures& f, const LedgerTensor& output) {
  const std::optional<std::uint64_t> elements = tensors::element_count(output.shape);
  if (!elements) throw Malformed{"an output has more elements than can be counted"};
  if (*elements != f.count())
    throw Malformed{fmt::format("the counts add up to {}, the output has {} elements", f.count(), *elements)};
}

LedgerFurther further_of(const json& object) {
  LedgerFurther other{.name = text_at(object, "name"),
                      .output = tensor_of(member(object, "output")),
                      .bound = text_at(object, "bound"),
                      .figures = figures_of(member(object, "figures"))};
  check_counts(other.figures, other.output);
  return other;
}

/// Inputs and outputs are found by these names.
void check_names(const LedgerEntry& entry) {
  std::set<std::string_view> names;
  for (const LedgerTensor& input : entry.inputs)
    if (!names.insert(input.role).second) throw Malformed{fmt::format("the input '{}' is there twice", input.role)};
  const std::vector<std::string> further = further_names(entry.operation);
  for (const LedgerFurther& other : entry.further) {
    if (!names.insert(other.name).second) throw Malformed{fmt::format("'{}' is there twice", other.name)};
    if (std::ranges::count(further, other.name) == 0)
      throw Malformed{fmt::format("'{}' is no output that {} has beside its own", other.name, entry.operation)};
  }
}

LedgerEntry entry_of(const json& object) {
  LedgerEntry entry{.name = text_at(object, "case"),
                    .operation = text_at(object, "operation"),
                    .options = words_at(object, "options"),
                    .declared = words_at(object, "declared"),
                    .inputs = {},
                    .output = tensor_of(member(object, "output")),
                    .bound = text_at(object, "bound"),
                    .figures = figures_of(member(object, "figures"))};
  for (const json& input : member(object, "inputs")) entry.inputs.push_back(tensor_of(input));
  check_counts(entry.figures, entry.output);
  if (object.contains("further"))
    for (const json& other : object["further"]) entry.further.push_back(further_of(other));
  check_names(entry);
  if (const json again = json_of(entry); again != object)
    throw Malformed{
        fmt::format("'{}' is nothing a ledger holds", json::diff(again, object).front()["path"].get<std::string>())};
  return entry;
}

/// One line.
json object_of(std::string_view line) try {
  json object = emu::parse_json(line);
  if (!object.is_object()) throw Malformed{"is no JSON object"};
  return object;
} catch (const emu::NoJson& problem) {
  throw Malformed{fmt::format("{}: cut short, or changed by hand or by a merge", problem.what())};
} catch (const emu::BadJson& problem) {
  throw Malformed{problem.what()};
}

void check_version(const json& object) {
  if (object.find(version_key) == object.end()) throw Malformed{fmt::format("is no ledger: '{}' is missing", version_key)};
  if (object != json{{version_key, version}})
    throw Malformed{fmt::format("is a ledger of another version; this program reads version {}", version)};
}

/// Characters of names stay what they are, but where one would act on a terminal that a ledger is shown on: then all beyond
/// ASCII are escapes of JSON, which say the same.
std::string line_of(const ordered_json& object, const std::string& name) {
  try {
    const std::string text = object.dump();
    return (emu::visible(text) == text ? text : object.dump(-1, ' ', true)) + "\n";
  } catch (const json::type_error&) {
    const std::string shown = json(name).dump(-1, ' ', true, json::error_handler_t::replace);
    throw Error(fmt::format("case {}: its name, a tag or a file name is not UTF-8, which a ledger is written in", shown));
  }
}

bool by_name(const LedgerEntry& a, const LedgerEntry& b) { return a.name < b.name; }

}  // namespace

std::vector<LedgerEntry> parse_ledger(std::string_view text, const std::string& file) {
  std::vector<LedgerEntry> entries;
  std::map<std::string, std::size_t> line_of_case;
  bool begun = false;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view words = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    try {
      const json object = object_of(words);
      if (!begun) {
        check_version(object);
        begun = true;
        continue;
      }
      entries.push_back(entry_of(object));
    } catch (const Malformed& problem) {
      throw Error(fmt::format("{}: line {}: {}", file, line, problem.what));
    }
    const auto [known, is_new] = line_of_case.emplace(entries.back().name, line);
    if (!is_new)
      throw Error(
          fmt::format("{}: line {}: case {} is in line {} too", file, line, json(entries.back().name).dump(), known->second));
  }
  std::sort(entries.begin(), entries.end(), by_name);
  return entries;
}

std::string ledger_text(std::vector<LedgerEntry> entries) {
  std::sort(entries.begin(), entries.end(), by_name);
  std::string text = ordered_json{{version_key, version}}.dump() + "\n";
  for (const LedgerEntry& entry : entries) text += line_of(json_of(entry), entry.name);
  return text;
}

}  // namespace ulpscope::verify

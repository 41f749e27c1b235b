// SPDX-License-Identifier: Apache-2.0
// Checks the options of `eval`, and finds out what is wrong with a line that was refused.
#include "cli/eval_words.hpp"

#include <algorithm>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::string_view upper_digits = "0123456789ABCDEF", all_digits = "0123456789ABCDEFabcdef";

std::string normalised(std::string word) {
  for (char& c : word) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-') c = '_';
  }
  return word;
}

std::string upper_hex(emu::Format format, emu::Code code) {
  std::string out;
  for (std::size_t i = hex_digits(format); i-- > 0;) out += upper_digits[code >> (4 * i) & 0xf];
  return out;
}

/// In quotes, fit for a terminal and for one line.
std::string in_quotes(std::string_view text) {
  constexpr std::size_t most = 40;
  std::string out = "'";
  for (const char c : text.substr(0, most)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += std::string("\\x") + upper_digits[byte >> 4] + upper_digits[byte & 0xf];
    }
  }
  return out + (text.size() > most ? "...'" : "'");
}

std::string counted(std::size_t count, const std::string& thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

std::vector<std::string_view> fields_of(std::string_view line) {
  constexpr std::string_view blanks = " \t";
  std::vector<std::string_view> out;
  while ((line = line.substr(std::min(line.find_first_not_of(blanks), line.size()))), !line.empty()) {
    out.push_back(line.substr(0, line.find_first_of(blanks)));
    line.remove_prefix(out.back().size());
  }
  return out;
}

/// The code of 1, or of the number nearest to it.
std::string example_code(emu::Format format) {
  return upper_hex(format, emu::encode(format, 1.0, {.policy = emu::Policy::saturating}));
}

std::string what_is_right(const Evaluation& evaluation) {
  const OperationFacts facts = facts_of(evaluation.operation);
  std::string example;
  for (std::size_t i = 0; i < facts.operands; ++i) example += " " + example_code(evaluation.from);
  return std::string(facts.name) + " takes " + counted(facts.operands, "code") + " of " + emu::format_name(evaluation.from) +
         " on each line, e.g." + example;
}

/// The command that makes operands, in the words of TestFloat where it knows the format.
std::string generator(const Evaluation& evaluation) {
  const std::size_t operands = facts_of(evaluation.operation).operands;
  std::string type = "f16";
  if (evaluation.from == emu::float32) type = "f32";
  if (evaluation.from == emu::float64) type = "f64";
  return "`testfloat_gen -level 1 " + type + (operands == 1 ? "" : " " + std::to_string(operands)) + "`";
}

std::string wrong_field(emu::Format format, std::string_view field) {
  const std::string name = emu::format_name(format);
  if (field.find_first_not_of(all_digits) != std::string_view::npos)
    return in_quotes(field) + " is not hexadecimal; write a code of " + name + " in hexadecimal digits alone, e.g. " +
           example_code(format);
  if (field.size() > hex_digits(format))
    return in_quotes(field) + " has " + counted(field.size(), "digit") + "; a code of " + name + " has " +
           std::to_string(hex_digits(format)) + ", e.g. " + example_code(format);
  emu::Code code = 0;
  for (const char c : field) code = code << 4 | (upper_digits.find(c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c));
  if (code > format.code_mask())
    return in_quotes(field) + " is beyond the " + std::to_string(format.bits()) + " bits of " + name + "; its codes end at " +
           upper_hex(format, format.code_mask());
  return "";
}

}  // namespace

Operation parse_operation(const std::string& word) {
  for (const OperationFacts& facts : operations)
    if (facts.name == normalised(word)) return facts.operation;
  throw Error("unknown operation " + in_quotes(word) + "; there are " + operation_words(", "));
}

emu::Tininess parse_tininess(const std::string& word) {
  if (normalised(word) == "after") return emu::Tininess::after_rounding;
  if (normalised(word) == "before") return emu::Tininess::before_rounding;
  throw Error("--tininess '" + word + "': give after or before");
}

std::string operation_words(std::string_view separator) {
  std::string out;
  for (const OperationFacts& facts : operations) out.append(out.empty() ? "" : separator).append(facts.name);
  return out;
}

std::string what_is_wrong(const Evaluation& evaluation, std::string_view line) {
  if (line.size() >= longest_line)
    return "has more than " + std::to_string(longest_line - 1) + " bytes; " + what_is_right(evaluation);
  if (line.find('\0') != std::string_view::npos) return "holds a NUL byte; " + what_is_right(evaluation);
  if (line.ends_with('\r')) line.remove_suffix(1);
  const std::vector<std::string_view> fields = fields_of(line);
  const std::size_t operands = facts_of(evaluation.operation).operands;
  if (fields.empty()) return "is empty; " + what_is_right(evaluation);
  if (fields.size() < operands) return "has " + counted(fields.size(), "field") + "; " + what_is_right(evaluation);
  if (fields.size() > operands)
    return "has " + counted(fields.size(), "field") + "; " + what_is_right(evaluation) +
           "; have the operands alone generated, without results, as by " + generator(evaluation);
  for (const std::string_view field : fields)
    if (const std::string wrong = wrong_field(evaluation.from, field); !wrong.empty()) return wrong;
  return "cannot be read; " + what_is_right(evaluation);
}

}  // namespace ulpscope::cli

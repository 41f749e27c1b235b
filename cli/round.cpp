// SPDX-License-Identifier: Apache-2.0
// The command `round`: each number in each format.
#include <charconv>
#include <cmath>
#include <memory>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/decimal.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/philox.hpp"

namespace ulpscope::cli {
namespace {

struct Round {
  CommonOptions common;
  std::vector<std::string> values;
};

std::string trimmed(const std::string& word) { return word.starts_with(' ') ? word.substr(1) : word; }

emu::Code parse_code(const std::string& word, emu::Format format) {
  const std::string_view digits = std::string_view(word).substr(5);
  emu::Code code = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
  if (error != std::errc{} || end != digits.data() + digits.size() || code > format.code_mask())
    throw Error(word + ": is not a code of " + emu::format_name(format) + ", which has " + std::to_string(format.bits()) +
                " bits; write code:HEX, e.g. code:" + emu::hex_code(format, format.max_finite_code()));
  return code;
}

double error_ulp(emu::Format format, double exact, double value) {
  if (std::isnan(exact) || std::isnan(value)) return std::nan("");
  if (std::isinf(exact)) return std::isinf(value) ? 0 : -exact;
  if (std::isinf(value)) return value;
  const int spacing = emu::spacing_exponent(format, exact);
  return std::ldexp(value - exact, -spacing);  // exact: a power of two
}

void run(const Round& round) {
  const emu::RoundingOptions options = round.common.rounding.options();
  const auto formats = round.common.formats.formats();
  reports::Table table{"round", {"input", "format", "rounding", "policy", "code", "value", "error_ulp", "class"}, {}};
  for (std::size_t i = 0; i < round.values.size(); ++i) {
    const std::string word = trimmed(round.values[i]);
    const bool is_code = word.starts_with("code:");
    const auto typed = is_code ? std::nullopt : parse_typed(word);
    if (!is_code && !typed)
      throw Error("'" + word + "' is not a number; write a decimal, a hexfloat such as 0x1.8p3, inf, nan, or code:7e");
    const std::uint32_t random = emu::rounding_bits(round.common.reading.seed, i);
    for (const emu::Format format : formats) {
      const emu::Code code = is_code ? parse_code(word, format) : 0;
      const emu::Rounded result =
          is_code ? emu::convert(format, code, format, options, random) : round_typed(format, *typed, options, random);
      table.rows.push_back(
          {word, emu::format_name(format), std::string(emu::name_of(options.rounding)),
           std::string(emu::name_of(options.policy)), emu::hex_code(format, result.code), result.value,
           is_code ? error_ulp(format, emu::decode(format, code), result.value) : error_ulp(format, *typed, result.value),
           std::string(emu::name_of(result.outcome))});
    }
  }
  print(table, round.common, 2);
}

}  // namespace

void add_round(Command& app, int&) {
  auto round = std::make_shared<Round>();
  Command& command = *app.add_subcommand("round", "code, value, error in ulp and outcome class of each value");
  command.add_option("VALUE", round->values, "decimals of any length, hexfloats, inf, nan, codes of the format (code:7e)")
      ->required();
  round->common.add_formats(command);
  round->common.add_rounding(command);
  round->common.add_output(command);
  command.footer("Example: ulpscope round 464 465 -0.0009765625 0x1.8p3 --to e4m3,e5m2");
  command.callback([round] { run(*round); });
}

}  // namespace ulpscope::cli

// SPDX-License-Identifier: Apache-2.0
// The command `formats`: facts of formats, and all codes of one.
#include <memory>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"

namespace ulpscope::cli {
namespace {

struct Formats {
  CommonOptions common;
  std::vector<std::string> names;
  bool codes = false;
};

/// Decimal digits that survive decimal -> format -> decimal (C's FLT_DIG): floor((p - 1) log10 2).
std::int64_t decimal_digits(emu::Format format) {
  std::int64_t digits = 0;
  for (unsigned __int128 power = 10; power <= static_cast<unsigned __int128>(1) << format.fraction_bits; power *= 10) ++digits;
  return digits;
}

/// `7f ff`, or ranges `7c01-7fff fc01-ffff`.
std::string nan_codes(emu::Format format) {
  if (!format.has_nan()) return "";
  if (format.specials == emu::Specials::fnuz || !format.is_signed()) return emu::hex_code(format, format.nan_code());
  const emu::Code last = format.magnitude_mask();
  const emu::Code first = format.has_infinity() ? format.infinity_code() + 1 : last;
  const auto range = [&](emu::Code sign) {
    return emu::hex_code(format, first | sign) + (first == last ? "" : "-" + emu::hex_code(format, last | sign));
  };
  return range(0) + " " + range(format.sign_mask());
}

const emu::NamedFormat* named(emu::Format format) {
  for (const emu::NamedFormat& entry : emu::catalogue)
    if (entry.format == format) return &entry;
  return nullptr;
}

std::vector<reports::Cell> row_of(emu::Format format) {
  const emu::NamedFormat* const entry = named(format);
  const auto word = [&](std::string_view emu::NamedFormat::*member) {
    return entry ? std::string(entry->*member) : std::string();
  };
  return {emu::format_name(format),
          word(&emu::NamedFormat::aliases),
          std::int64_t{format.bits()},
          std::int64_t{format.exponent_bits},
          std::int64_t{format.fraction_bits},
          std::int64_t{format.bias},
          emu::max_finite(format),
          emu::min_normal(format),
          format.has_subnormals() ? reports::Cell(emu::min_positive(format)) : reports::Cell(std::string()),
          emu::epsilon(format),
          decimal_digits(format),
          std::string(format.has_infinity() ? "true" : "false"),
          nan_codes(format),
          word(&emu::NamedFormat::numpy),
          word(&emu::NamedFormat::torch),
          word(&emu::NamedFormat::safetensors),
          word(&emu::NamedFormat::cuda),
          word(&emu::NamedFormat::hardware)};
}

std::string class_of(emu::Format format, emu::Code code) {
  if (format.is_nan(code)) return "nan";
  if (format.is_infinite(code)) return "infinite";
  if (format.is_zero(code)) return "zero";
  return format.is_subnormal(code) ? "subnormal" : "normal";
}

reports::Table codes_of(emu::Format format) {
  if (format.bits() > 16)
    throw Error("--codes lists formats of 16 bits or fewer; " + emu::format_name(format) + " has " +
                std::to_string(format.bits()));
  reports::Table table{"codes", {"code", "value", "class"}, {}};
  for (emu::Code code = 0; code <= format.code_mask(); ++code)
    table.rows.push_back({emu::hex_code(format, code), emu::decode(format, code), class_of(format, code)});
  return table;
}

void run(const Formats& formats) {
  std::vector<emu::Format> wanted;
  for (const std::string& name : formats.names) wanted.push_back(requests::parse_format(name));
  if (formats.codes) {
    if (wanted.size() != 1) throw Error("--codes lists one format; name it, e.g. `ulpscope formats e4m3 --codes`");
    return print(codes_of(wanted.front()), formats.common, 1);
  }
  if (wanted.empty())
    for (const emu::NamedFormat& entry : emu::catalogue) wanted.push_back(entry.format);
  reports::Table table{
      "formats",
      {"name", "aliases", "bits", "exponent_bits", "fraction_bits", "bias", "max_finite", "min_normal", "min_subnormal",
       "epsilon", "decimal_digits", "has_inf", "nan_codes", "numpy", "torch", "safetensors", "cuda", "hardware"},
      {}};
  for (const emu::Format format : wanted) table.rows.push_back(row_of(format));
  print(table, formats.common, 1);
}

}  // namespace

void add_formats(Command& app, int&) {
  auto formats = std::make_shared<Formats>();
  Command& command = *app.add_subcommand("formats", "the formats and their limits, computed");
  command.add_option("FORMAT", formats->names, "formats to show; all named ones by default");
  command.add_flag("--codes", formats->codes, "list every code of one format of 16 bits or fewer");
  formats->common.add_output(command);
  command.footer("Example: ulpscope formats e4m3 e5m2 e3m4b5finite");
  command.callback([formats] { run(*formats); });
}

}  // namespace ulpscope::cli

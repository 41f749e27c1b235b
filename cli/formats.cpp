// SPDX-License-Identifier: Apache-2.0
// The command `formats`: facts of formats, and all codes of one.
#include "studies/facts/formats.hpp"

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
  print(studies::formats_table(wanted), formats.common, 1);
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

// SPDX-License-Identifier: Apache-2.0
// Descriptions of commands as roff.
#include <algorithm>
#include <sstream>

#include "cli/description.hpp"

namespace ulpscope::cli {
namespace {

/// Text that roff shows as it is: hyphens that can be copied, no escapes, no requests.
std::string plain(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool begins_line = i == 0 || text[i - 1] == '\n';
    if (begins_line && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '`' || c == '\'' || c == '~' || c == '^')
      out += c == '`' ? "\\(ga" : c == '\'' ? "\\(aq" : c == '~' ? "\\(ti" : "\\(ha";
    else
      out += c;
  }
  return out;
}

std::string bold(const std::string& text) { return "\\fB" + plain(text) + "\\fR"; }
std::string slanted(const std::string& text) { return "\\fI" + plain(text) + "\\fR"; }

std::string item(const std::string& name, const std::string& text) { return ".TP\n" + name + "\n" + plain(text) + "\n"; }

std::string options_of(const std::string& heading, const std::vector<OptionDescription>& options) {
  if (options.empty()) return "";
  std::string out = ".SH " + heading + "\n";
  for (const OptionDescription& option : options) {
    std::string names;
    for (const std::string& name : option.names) names += (names.empty() ? "" : ", ") + bold(name);
    if (!option.is_flag()) names += (names.empty() ? "" : " ") + slanted(option.shown_value());
    out += item(names, option.shown_text());
  }
  return out;
}

std::string commands_of(const CommandDescription& command) {
  std::string out = command.commands.empty() ? "" : ".SH COMMANDS\n", group;
  const bool grouped =
      std::ranges::any_of(command.commands, [&](const auto& sub) { return sub.group != command.commands.front().group; });
  for (const CommandDescription& sub : command.commands) {
    if (grouped && sub.group != group) out += ".SS " + plain(sub.group) + "\n";
    group = sub.group;
    out += item("\\fB" + plain(sub.page()) + "\\fR(1)", sub.summary);
  }
  return out;
}

std::string verbatim(const std::string& heading, const std::string& text) {
  return text.empty() ? "" : ".SH " + heading + "\n.nf\n" + plain(text) + "\n.fi\n";
}

}  // namespace

std::string manual_page(const CommandDescription& command, const std::string& version) {
  const std::string name = command.page();
  std::string upper = name;
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  std::string page = ".TH " + plain(upper) + " 1 \"\" \"ulpscope " + plain(version) + "\" \"ulpscope\"\n";
  page += ".SH NAME\n" + plain(name) + " \\- " + plain(command.summary) + "\n";
  page += ".SH SYNOPSIS\n" + bold(command.path) + plain(usage_of(command).substr(command.path.size())) + "\n";
  page += commands_of(command) + options_of("INPUTS", command.inputs) + options_of("OPTIONS", command.options);
  page += verbatim("REMARKS", command.remarks) + verbatim("EXAMPLE", command.example);
  page += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : exit_codes) page += item(std::to_string(code), std::string(meaning));
  if (command.path.find(' ') != std::string::npos)
    page += ".SH SEE ALSO\n\\fB" + plain(name.substr(0, name.rfind('-'))) + "\\fR(1)\n";
  return page;
}

}  // namespace ulpscope::cli

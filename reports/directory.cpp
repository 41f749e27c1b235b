// SPDX-License-Identifier: Apache-2.0
// The manifest of a report, and its folder.
#include "reports/directory.hpp"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "emu/error.hpp"
#include "emu/philox.hpp"
#include "reports/build_info.hpp"
#include "reports/listed_folder.hpp"
#include "reports/render.hpp"
#include "reports/seal.hpp"

namespace ulpscope::reports {
namespace {

using nlohmann::ordered_json;

const Listed report_files{.manifest = manifest_name, .noun = "a report"};

std::string cpu() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string compiler() {
#if defined(__clang__)
  return "Clang " __clang_version__;
#elif defined(__GNUC__)
  return "GCC " __VERSION__;
#else
  return "unknown";
#endif
}

std::string manifest_of(const std::vector<std::pair<std::string, std::string>>& hashes, const Provenance& provenance) {
  ordered_json manifest{{"program", "ulpscope"}, {"version", version()},  {"commit", commit()},     {"compiler", compiler()},
                        {"cpu", cpu()},          {"gpu", provenance.gpu}, {"seed", provenance.seed}};
  manifest["stochastic_rounding"] = emu::rounding_bits_version;
  manifest["arguments"] = provenance.arguments;
  manifest["extra"] = ordered_json::object();
  for (const auto& [key, value] : provenance.extra) manifest["extra"][key] = value;
  manifest["files"] = ordered_json::object();
  for (const auto& [name, hash] : hashes) manifest["files"][name] = hash;
  constexpr bool all_ascii = true;  // by the escapes of JSON: what would act on a terminal is the same to a reader, and inert
  return manifest.dump(2, ' ', all_ascii, ordered_json::error_handler_t::replace) + '\n';
}

std::optional<WriteElsewhere::Folders> elsewhere;
}  // namespace

WriteElsewhere::WriteElsewhere(Folders folders) { elsewhere = std::move(folders); }
WriteElsewhere::~WriteElsewhere() { elsewhere.reset(); }
const WriteElsewhere::Folders* WriteElsewhere::present() { return elsewhere ? &*elsewhere : nullptr; }

std::string report_folder(const std::string& directory) { return elsewhere ? elsewhere->to : directory; }

void check_report_folder(const std::string& asked) {
  const std::string folder = report_folder(asked);
  std::error_code ignored;
  if (std::filesystem::exists(std::filesystem::path(folder) / part_name, ignored))
    throw Error(folder + ": holds a part, which `ulpscope merge` makes a report of; choose another folder");
  check_part_folder(asked);
}

void check_part_folder(const std::string& asked) { check_listed_folder(report_folder(asked), report_files); }

void write_part(const std::string& asked, const std::function<void(const WriteBytes&)>& produce, const Provenance& provenance) {
  ListedFolder folder(report_folder(asked), report_files);
  folder.add(part_name, [&](const WriteBytes& write) {
    Seal seal;
    produce([&](std::string_view bytes) {
      seal.add(bytes);
      write(bytes);
    });
    write(seal.end());
  });
  folder.commit(manifest_of(folder.hashes(), provenance));
}

void write_part(const std::string& asked, const std::string& text, const Provenance& provenance) {
  ListedFolder folder(report_folder(asked), report_files);
  folder.add(part_name, sealed(text));
  folder.commit(manifest_of(folder.hashes(), provenance));
}

ReportFolder::ReportFolder(const std::string& asked)
    : folder_((check_report_folder(asked), report_folder(asked)), report_files) {}

void ReportFolder::commit(const std::string& html, const Provenance& provenance) {
  for (const auto& [name, bytes] : provenance.texts) add(name, bytes);
  add("index.html", html);
  folder_.commit(manifest_of(folder_.hashes(), provenance));
}

void write_report(const std::string& asked, const std::vector<Table>& tables, const std::string& html,
                  const Provenance& provenance) {
  ReportFolder folder(asked);
  for (const Table& table : tables) folder.add(table.name + ".csv", to_csv(table));
  folder.commit(html, provenance);
}

}  // namespace ulpscope::reports

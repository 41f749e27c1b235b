// SPDX-License-Identifier: Apache-2.0
// Reads and writes the ledger under a lock, and keeps its outputs by their digests.
#include "cli/ledger_file.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <string_view>

#include "cli/ledger_case.hpp"
#include "emu/bulk.hpp"
#include "emu/error.hpp"
#include "files/file_lock.hpp"
#include "files/new_file.hpp"
#include "files/own_files.hpp"
#include "files/read_file.hpp"
#include "tensors/write.hpp"

namespace ulpscope::cli {
namespace {

namespace fs = std::filesystem;
using verify::LedgerEntry;

/// Held while a ledger is read, changed and written, which takes no time: another process waits for a while.
class LedgerLock {
 public:
  explicit LedgerLock(const std::string& path) try : lock_(folder_of(path), name_for(path), path, patience) {
  } catch (const Error& error) {
    const std::string sentence = error.what();
    throw Error(sentence.starts_with(path + ": ") ? sentence : path + ": cannot be written: " + sentence);
  }
  void release() { lock_.release(); }

 private:
  static constexpr std::chrono::seconds patience{10};
  static files::Folder folder_of(const std::string& path) { return files::Folder(fs::path(path).parent_path().string()); }
  static std::string name_for(const std::string& path) { return "." + fs::path(path).filename().string() + ".lock"; }

  files::FileLock lock_;
};

std::string outputs_of(const std::string& path) { return path + ".outputs"; }

std::string output_name(const std::string& sha256) { return sha256 + ".npy"; }

std::string output_file(const std::string& path, const std::string& sha256) {
  return (fs::path(outputs_of(path)) / output_name(sha256)).string();
}

/// Into the folder of outputs, which is no link.
void keep_output(const std::string& path, const LedgerEntry& entry, const tensors::Tensor& output) {
  const emu::Format format = requests::parse_format(entry.output.format);
  const auto codes = [&](std::uint64_t first, std::span<emu::Code> out) {
    std::vector<double> values(out.size());
    output.source->read(first, std::span(values));
    emu::encode(format, std::span<const double>(values), out);
  };
  files::NewFolder made(outputs_of(path));
  const files::Folder beside(fs::path(path).parent_path().string());
  files::NewFile file(files::Folder(beside, fs::path(outputs_of(path)).filename().string()), output_name(entry.output.sha256));
  tensors::put_npy_codes({output_file(path, entry.output.sha256), [&](std::string_view bytes) { file.write(bytes); }},
                         output.shape, format, codes);
  file.commit();
  made.keep();
}

/// Removes the outputs of a former entry that no entry has any more, and the folder with the last of them.
void forget_outputs(const std::string& path, const LedgerEntry& former, const std::vector<LedgerEntry>& entries) {
  std::set<std::string> had;
  for (const LedgerEntry& one : verify::by_output(entries)) had.insert(one.output.sha256);
  std::error_code failed;
  for (const LedgerEntry& one : verify::by_output(former)) {
    const std::string file = output_file(path, one.output.sha256);
    if (had.contains(one.output.sha256)) continue;
    fs::remove(file, failed);
    if (failed) throw Error(file + ": cannot be removed: " + failed.message());
  }
  fs::remove(outputs_of(path), failed);  // if it is empty
}

}  // namespace

std::vector<LedgerEntry> read_ledger(const std::string& path) {
  if (const auto own = files::own_file(path)) return verify::parse_ledger(*own, path);
  std::error_code ignored;
  if (!fs::exists(path, ignored)) throw Error(path + ": no such file; `ulpscope ledger record` begins a ledger");
  return verify::parse_ledger(files::read_file(path, files::most_of_values), path);
}

bool record_entry(const std::string& path, const LedgerEntry& entry, const std::vector<tensors::Tensor>& outputs, Keep keep) {
  LedgerLock lock(path);
  std::vector<LedgerEntry> entries;
  if (fs::exists(path)) entries = read_ledger(path);
  const std::vector<LedgerEntry> former_entries = entries;
  const auto former = std::ranges::find(entries, entry.name, &LedgerEntry::name);
  const bool replaces = former != entries.end();
  const LedgerEntry replaced = replaces ? *former : LedgerEntry{};
  if (replaces)
    *former = entry;
  else
    entries.push_back(entry);
  const std::string text = verify::ledger_text(entries);
  try {
    const std::vector<LedgerEntry> apart = verify::by_output(entry);
    for (std::size_t i = 0; keep == Keep::output && i < apart.size(); ++i) keep_output(path, apart[i], outputs[i]);
    files::write_file(path, text);
  } catch (...) {
    forget_outputs(path, entry, former_entries);
    throw;
  }
  if (replaces) forget_outputs(path, replaced, entries);
  lock.release();
  return replaces;
}

std::optional<tensors::Tensor> kept_output(const std::string& path, const LedgerEntry& entry) {
  const std::string file = output_file(path, entry.output.sha256);
  if (!fs::exists(file)) return std::nullopt;
  const emu::Format format = requests::parse_format(entry.output.format);
  tensors::Tensor output = tensors::open_one(file, {.dtype = format});
  if (!digest("output", "", format, output).same_numbers(entry.output))
    throw Error(file + ": is not the output that it is named after; delete it, or get it again");
  return output;
}

}  // namespace ulpscope::cli

// SPDX-License-Identifier: Apache-2.0
// Reads and writes the ledger under a lock, and keeps its outputs by their digests.
#include "cli/ledger_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
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
using verify::LedgerOutput;
using verify::LedgerTensor;

/// The folder that a ledger lies in.
files::Folder folder_beside(const std::string& path) { return files::Folder(fs::path(path).parent_path().string()); }

/// Held while a ledger is read, changed and written, which takes no time: another process waits for a while.
class LedgerLock {
 public:
  explicit LedgerLock(const std::string& path) try : lock_(folder_beside(path), name_for(path), path, patience) {
  } catch (const Error& error) {
    const std::string sentence = error.what();
    throw Error(sentence.starts_with(path + ": ") ? sentence : path + ": cannot be written: " + sentence);
  }
  void release() { lock_.release(); }

 private:
  static constexpr std::chrono::seconds patience{10};
  static std::string name_for(const std::string& path) { return "." + fs::path(path).filename().string() + ".lock"; }

  files::FileLock lock_;
};

std::string outputs_of(const std::string& path) { return path + ".outputs"; }

std::string output_name(const std::string& sha256) { return sha256 + ".npy"; }

std::string output_file(const std::string& path, const std::string& sha256) {
  return (fs::path(outputs_of(path)) / output_name(sha256)).string();
}

std::string name_of_outputs(const std::string& path) { return fs::path(outputs_of(path)).filename().string(); }

/// The folder of its outputs; nothing where there is none, or something else of that name.
std::optional<files::Folder> folder_of_outputs(const std::string& path) {
  const files::Folder beside = folder_beside(path);
  const std::string name = name_of_outputs(path);
  return beside.kind(name) == files::Kind::folder ? std::optional(files::Folder(beside, name)) : std::nullopt;
}

/// Into the folder of outputs, which is no link.
void keep_output(const std::string& path, const LedgerTensor& digested, const tensors::Tensor& output) {
  const emu::Format format = requests::parse_format(digested.format);
  const auto codes = [&](std::uint64_t first, std::span<emu::Code> out) {
    std::vector<double> values(out.size());
    output.source->read(first, std::span(values));
    emu::encode(format, std::span<const double>(values), out);
  };
  files::NewFolder made(outputs_of(path));
  files::NewFile file(files::Folder(folder_beside(path), name_of_outputs(path)), output_name(digested.sha256));
  tensors::put_npy_codes({output_file(path, digested.sha256), [&](std::string_view bytes) { file.write(bytes); }}, output.shape,
                         format, codes);
  file.commit();
  made.keep();
}

/// Whether a file holds the output that it is named after.
bool is_output(const std::string& path, const LedgerTensor& output) {
  try {
    return kept_output(path, output).has_value();
  } catch (const Error&) {
    return false;
  }
}

/// Removes the outputs of `gone` that no entry has, and the folder with the last of them: files that are these outputs, and
/// nothing that a link leads to.
void forget_outputs(const std::string& path, const std::vector<LedgerOutput>& gone, const std::vector<LedgerEntry>& entries) {
  const std::optional<files::Folder> outputs = folder_of_outputs(path);
  if (!outputs) return;
  std::set<std::string> had;
  for (const LedgerOutput& one : verify::by_output(entries)) had.insert(one.tensor().sha256);
  bool removed = false;
  for (const LedgerOutput& one : gone) {
    const std::string& digest = one.tensor().sha256;
    const std::string name = output_name(digest);
    if (had.contains(digest) || outputs->kind(name) != files::Kind::file || !is_output(path, one.tensor())) continue;
    if (::unlinkat(outputs->descriptor(), name.c_str(), 0) != 0)
      throw Error(outputs->path_of(name) + ": cannot be removed: " + std::strerror(errno));
    removed = true;
  }
  if (removed) ::unlinkat(folder_beside(path).descriptor(), name_of_outputs(path).c_str(), AT_REMOVEDIR);  // if it is empty
}

/// Those that are not kept yet.
std::vector<LedgerOutput> missing_outputs(const std::string& path, const std::vector<LedgerOutput>& all) {
  const std::optional<files::Folder> outputs = folder_of_outputs(path);
  std::vector<LedgerOutput> missing;
  for (const LedgerOutput& one : all)
    if (!outputs || outputs->kind(output_name(one.tensor().sha256)) == files::Kind::none) missing.push_back(one);
  return missing;
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
  const std::vector<LedgerOutput> apart = verify::by_output(entry);
  const std::vector<LedgerOutput> new_ones = keep == Keep::output ? missing_outputs(path, apart) : std::vector<LedgerOutput>{};
  try {
    for (std::size_t i = 0; keep == Keep::output && i < apart.size(); ++i) keep_output(path, apart[i].tensor(), outputs[i]);
    files::write_file(path, text);
  } catch (...) {
    forget_outputs(path, new_ones, former_entries);
    throw;
  }
  if (replaces) forget_outputs(path, verify::by_output(replaced), entries);
  lock.release();
  return replaces;
}

std::optional<tensors::Tensor> kept_output(const std::string& path, const LedgerTensor& output) {
  const std::string file = output_file(path, output.sha256);
  if (!fs::exists(file)) return std::nullopt;
  const emu::Format format = requests::parse_format(output.format);
  tensors::Tensor kept = tensors::open_one(file, {.dtype = format});
  if (!digest("output", "", format, kept).same_numbers(output))
    throw Error(file + ": is not the output that it is named after; delete it, or get it again");
  return kept;
}

}  // namespace ulpscope::cli

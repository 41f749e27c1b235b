// SPDX-License-Identifier: Apache-2.0
// Reads and writes the ledger under a lock, and keeps its outputs by their digests.
#include "cli/ledger_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/ledger_case.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "emu/bulk.hpp"
#include "emu/error.hpp"
#include "reports/directory.hpp"
#include "tensors/write.hpp"

namespace ulpscope::cli {
namespace {

namespace fs = std::filesystem;
using verify::LedgerEntry;

/// Held while a ledger is read, changed and written: a lock on its folder, which leaves no file behind.
class FolderLock {
 public:
  explicit FolderLock(const std::string& file) {
    const std::string parent = fs::path(file).parent_path().string(), folder = parent.empty() ? "." : parent;
    descriptor_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor_ < 0) throw Error(file + ": cannot be written: " + folder + ": " + std::strerror(errno));
    while (::flock(descriptor_, LOCK_EX) != 0) {
      if (errno == EINTR) continue;
      remark(folder + ": this file system has no locks: do not record into " + file + " twice at a time");
      return;
    }
  }
  ~FolderLock() { ::close(descriptor_); }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

std::string outputs_of(const std::string& path) { return path + ".outputs"; }

std::string output_file(const std::string& path, const std::string& sha256) {
  return (fs::path(outputs_of(path)) / (sha256 + ".npy")).string();
}

void keep_output(const std::string& path, const LedgerEntry& entry, const tensors::Tensor& output) {
  std::error_code error;
  fs::create_directories(outputs_of(path), error);
  if (error) throw Error(outputs_of(path) + ": cannot be made: " + error.message());
  const emu::Format format = requests::parse_format(entry.output.format);
  tensors::write_npy_codes(output_file(path, entry.output.sha256), output.shape, format,
                           [&](std::uint64_t first, std::span<emu::Code> codes) {
                             std::vector<double> values(codes.size());
                             output.source->read(first, std::span(values));
                             emu::encode(format, std::span<const double>(values), codes);
                           });
}

/// Removes the output of a former entry that no entry has any more, and the folder with the last of them.
void forget_output(const std::string& path, const std::string& sha256, const std::vector<LedgerEntry>& entries) {
  const auto has = [&](const LedgerEntry& entry) { return entry.output.sha256 == sha256; };
  if (std::any_of(entries.begin(), entries.end(), has)) return;
  std::error_code ignored;
  fs::remove(output_file(path, sha256), ignored);
  fs::remove(outputs_of(path), ignored);
}

}  // namespace

std::vector<LedgerEntry> read_ledger(const std::string& path) {
  return verify::parse_ledger(read_text(path, "`ulpscope ledger record` begins a ledger"), path);
}

bool record_entry(const std::string& path, const LedgerEntry& entry, const tensors::Tensor& output, Keep keep) {
  const FolderLock lock(path);
  std::vector<LedgerEntry> entries;
  if (fs::exists(path)) entries = read_ledger(path);
  const auto former = std::ranges::find(entries, entry.name, &LedgerEntry::name);
  const bool replaces = former != entries.end();
  const std::string former_sha256 = replaces ? former->output.sha256 : "";
  if (replaces)
    *former = entry;
  else
    entries.push_back(entry);
  const std::string text = verify::ledger_text(entries);
  if (keep == Keep::output) keep_output(path, entry, output);
  reports::write_file(path, text);
  if (replaces) forget_output(path, former_sha256, entries);
  return replaces;
}

std::optional<tensors::Tensor> kept_output(const std::string& path, const LedgerEntry& entry) {
  const std::string file = output_file(path, entry.output.sha256);
  if (!fs::exists(file)) return std::nullopt;
  const emu::Format format = requests::parse_format(entry.output.format);
  const tensors::Tensor output = tensors::open_one(file, {.dtype = format});
  if (!digest("output", "", format, output).same_numbers(entry.output))
    throw Error(file + ": is not the output that it is named after; delete it, or get it again");
  return output;
}

}  // namespace ulpscope::cli

// SPDX-License-Identifier: Apache-2.0
// Writes all files under temporary names, then renames them, the manifest last.
#include "reports/directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "emu/error.hpp"
#include "emu/json_input.hpp"
#include "reports/build_info.hpp"
#include "reports/render.hpp"

namespace ulpscope::reports {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr auto manifest_name = "manifest.json";
constexpr std::string_view temporary_mark = ".ulpscope-part-";

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw Error(fmt::format("cannot write {}: {}", path, reason));
}

std::string reason_of(int error) { return std::strerror(error); }

/// Writes all bytes and closes the descriptor. @returns 0 or the errno of what failed
int write_all(int descriptor, const std::string& bytes) {
  int error = 0;
  for (std::size_t done = 0; done < bytes.size() && error == 0;) {
    const auto written = ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (written >= 0) {
      done += static_cast<std::size_t>(written);
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (::close(descriptor) != 0 && error == 0) error = errno;
  return error;
}

/// `.NAME.ulpscope-part-PID-N` beside the target: the same file system, and no other writer's.
fs::path temporary_beside(const fs::path& target) {
  static std::atomic<unsigned> count = 0;
  const auto name = fmt::format(".{}{}{}-{}", target.filename().string(), temporary_mark, ::getpid(), count++);
  return target.parent_path() / name;
}

void write_in_place(const std::string& path, const std::string& bytes) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) fail(path, reason_of(errno));
  if (const int error = write_all(descriptor, bytes)) fail(path, reason_of(error));
}

/// A file under a temporary name: it gets its own by commit(), or goes.
class Part {
 public:
  /// A link is followed. @throws ulpscope::Error
  Part(const std::string& path, const std::string& bytes)
      : path_(path), target_(fs::exists(path) ? fs::canonical(path) : fs::path(path)), temporary_(temporary_beside(target_)) {
    const int descriptor = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) fail(path, reason_of(errno));
    const int error = write_all(descriptor, bytes);
    if (error == 0) return;
    ::unlink(temporary_.c_str());
    fail(path, reason_of(error));
  }
  Part(Part&& other) noexcept
      : path_(std::move(other.path_)), target_(std::move(other.target_)), temporary_(std::exchange(other.temporary_, {})) {}
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  Part& operator=(Part&&) = delete;
  ~Part() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  /// @throws ulpscope::Error
  void commit() {
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(path_, reason_of(errno));
    temporary_.clear();
  }

 private:
  std::string path_;
  fs::path target_, temporary_;
};

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

/// What the manifest of a former report says it consists of; nothing when there is none that can be read.
std::set<std::string> files_of_former_report(const fs::path& directory) {
  std::ifstream file(directory / manifest_name, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::set<std::string> names;
  ordered_json manifest;
  try {
    manifest = emu::parse_json<ordered_json>(text);
  } catch (const emu::BadJson&) {
    return names;
  }
  if (!manifest.is_object() || manifest.value("program", ordered_json()) != "ulpscope") return names;
  const auto files = manifest.find("files");
  if (files == manifest.end() || !files->is_object()) return names;
  for (const auto& [name, hash] : files->items()) names.insert(name);
  names.insert(manifest_name);
  return names;
}

/// The files of a former report in `directory`. @throws ulpscope::Error if anything else is there
std::set<std::string> owned_files(const fs::path& directory) {
  const auto listed = files_of_former_report(directory);
  std::set<std::string> present;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    const std::string name = entry.path().lexically_relative(directory).generic_string();
    const bool is_listed_folder =
        std::any_of(listed.begin(), listed.end(), [&](const auto& l) { return l.starts_with(name + "/"); });
    if (fs::is_directory(entry.symlink_status()) && is_listed_folder) continue;
    const std::string own = entry.path().filename().string();
    const bool left_over = own.starts_with('.') && own.find(temporary_mark) != std::string::npos;
    if (!entry.is_regular_file() || !(left_over || listed.contains(name))) {
      throw Error(fmt::format("{} holds {}, which is not part of a report: name a new or an empty directory",
                              directory.string(), name));
    }
    present.insert(name);
  }
  return present;
}

std::string manifest_of(const std::vector<std::pair<std::string, std::string>>& files, const Provenance& provenance) {
  ordered_json manifest{{"program", "ulpscope"}, {"version", version()},  {"commit", commit()},     {"compiler", compiler()},
                        {"cpu", cpu()},          {"gpu", provenance.gpu}, {"seed", provenance.seed}};
  manifest["arguments"] = provenance.arguments;
  manifest["extra"] = ordered_json::object();
  for (const auto& [key, value] : provenance.extra) manifest["extra"][key] = value;
  manifest["files"] = ordered_json::object();
  for (const auto& [name, bytes] : files) manifest["files"][name] = sha256(bytes);
  return manifest.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace

void write_file(const std::string& path, const std::string& bytes) {
  std::error_code ignored;
  const auto status = fs::status(path, ignored);
  if (fs::is_directory(status)) fail(path, "it is a directory");
  if (fs::exists(status) && !fs::is_regular_file(status)) return write_in_place(path, bytes);
  Part(path, bytes).commit();
}

std::string sha256(const std::string& bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("OpenSSL refuses SHA-256");
  }
  std::string hex;
  for (unsigned i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

namespace {
std::optional<WriteElsewhere::Folders> elsewhere;
}

WriteElsewhere::WriteElsewhere(Folders folders) { elsewhere = std::move(folders); }
WriteElsewhere::~WriteElsewhere() { elsewhere.reset(); }
const WriteElsewhere::Folders* WriteElsewhere::present() { return elsewhere ? &*elsewhere : nullptr; }

std::string report_folder(const std::string& directory) { return elsewhere ? elsewhere->to : directory; }

void check_report_folder(const std::string& asked) {
  const std::string directory = report_folder(asked);
  std::error_code ignored;
  if (!fs::exists(directory, ignored)) return;
  if (!fs::is_directory(directory, ignored)) fail(directory, "it is not a directory");
  owned_files(directory);
}

void write_report(const std::string& asked, const std::vector<Table>& tables, const std::string& html,
                  const Provenance& provenance) {
  const std::string directory = report_folder(asked);
  std::error_code error;
  const bool made = fs::create_directories(directory, error);
  if (!fs::is_directory(directory)) fail(directory, error ? error.message() : "it is not a directory");
  auto superseded = owned_files(directory);
  std::vector<std::pair<std::string, std::string>> files;
  files.reserve(tables.size() + 2);
  for (const auto& table : tables) files.emplace_back(table.name + ".csv", to_csv(table));
  files.insert(files.end(), provenance.texts.begin(), provenance.texts.end());
  files.emplace_back("index.html", html);
  const std::string manifest = manifest_of(files, provenance);
  files.emplace_back(manifest_name, manifest);
  try {
    std::vector<Part> parts;
    for (const auto& [name, bytes] : files) {
      const fs::path path = fs::path(directory) / name;
      fs::create_directories(path.parent_path(), error);
      parts.emplace_back(path.string(), bytes);
    }
    for (Part& part : parts) part.commit();
  } catch (const Error&) {
    if (made) fs::remove(directory, error);
    throw;
  }
  for (const auto& [name, bytes] : files) superseded.erase(name);
  for (const auto& name : superseded) {
    fs::remove(fs::path(directory) / name, error);
    // A folder that nothing is left in goes, too.
    if (const fs::path folder = fs::path(name).parent_path(); !folder.empty()) fs::remove(fs::path(directory) / folder, error);
  }
}

}  // namespace ulpscope::reports

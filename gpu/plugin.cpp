// SPDX-License-Identifier: Apache-2.0
// Looks for shared objects in a few folders and opens them once.
#include "gpu/plugin.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <vector>

namespace ulpscope::gpu {
namespace {

namespace fs = std::filesystem;

/// The file of this program; empty where that is not known.
fs::path program_file() {
  std::error_code unknown;
  return fs::read_symlink("/proc/self/exe", unknown);
}

std::vector<fs::path> plugin_folders(const fs::path& program) {
  std::vector<fs::path> folders;
  if (const char* const named = std::getenv("ULPSCOPE_PLUGINS"); named != nullptr && *named != '\0')
    folders.emplace_back(named);
  if (program.empty()) return folders;
  folders.push_back(program.parent_path());
  folders.push_back(program.parent_path().parent_path() / "lib" / "ulpscope");
  return folders;
}

/// What dlerror() says of the last failure.
std::string last_failure() {
  const char* const words = dlerror();
  return words == nullptr ? "no reason given" : words;
}

/// Whether more users have rights there than owner, group and others (POSIX.1e draft 17, access control lists).
bool has_access_list(const fs::path& path) { return ::getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0; }

/// Whether folders that anybody may write to, but in which nobody renames what is another's, such as /tmp, are trusted.
enum class Shared : std::uint8_t { refused, trusted };

/// Why somebody else could have written what lies there; empty where nobody could.
std::string distrust(const fs::path& path, Shared shared) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return path.string() + ": " + std::strerror(errno);
  if (facts.st_uid != 0 && facts.st_uid != ::geteuid())
    return path.string() + " belongs neither to root nor to the user who runs this program";
  // Root's group, and the group that a user has alone, which has the user's number. With a list, these bits are the most that
  // anybody on it may do.
  const bool private_group = (facts.st_gid == 0 || facts.st_gid == facts.st_uid) && !has_access_list(path);
  const mode_t others = private_group ? S_IWOTH : S_IWOTH | S_IWGRP;
  const bool trusts_shared = shared == Shared::trusted && (facts.st_mode & S_ISVTX) != 0;
  return (facts.st_mode & others) == 0 || trusts_shared ? std::string() : path.string() + " can be written by others";
}

/// A file in its folder, and every folder above that: whoever can write to one of them can put another in its place. But for
/// those that the program lies in as well, which would be replaced itself.
void check_trusted(const std::string& plugin, const fs::path& file, const fs::path& program) {
  const auto is_above_program = [&](const fs::path& folder) {
    return std::ranges::mismatch(folder, program).in1 == folder.end();
  };
  for (fs::path path = file;; path = path.parent_path()) {
    const bool is_above = path != file && path != file.parent_path();
    if (is_above && is_above_program(path)) return;
    const std::string why = distrust(path, is_above ? Shared::trusted : Shared::refused);
    if (!why.empty()) throw NoDevice(plugin + " is not opened: " + why);
    if (path == path.root_path()) return;
  }
}

/// The first thing that is asked of a plugin.
void check_build(const std::string& plugin, void* handle) {
  const auto* const build = static_cast<const char*>(dlsym(handle, build_symbol));
  if (build != nullptr && std::strcmp(build, ULPSCOPE_PLUGIN_BUILD) == 0) return;
  constexpr std::size_t longest = 200;
  const std::string is =
      build == nullptr ? "does not say which build it is of" : "is of " + std::string(build, ::strnlen(build, longest));
  throw NoDevice(plugin + " is not used: it " + is + ", this program of " ULPSCOPE_PLUGIN_BUILD "; build them together");
}

void* opened(const std::string& plugin) {
  std::string searched;
  const fs::path program = program_file();
  for (const fs::path& folder : plugin_folders(program)) {
    const fs::path file = folder / ("lib" + plugin + ".so");
    std::error_code unknown;
    if (fs::exists(file, unknown)) {
      const fs::path real = fs::canonical(file, unknown);
      check_trusted(plugin, fs::absolute(file).lexically_normal(), program);  // as it is named, and where that leads
      check_trusted(plugin, real, program);
      void* const handle = dlopen(real.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle == nullptr) throw NoDevice(plugin + " cannot be opened: " + last_failure());
      check_build(plugin, handle);
      return handle;
    }
    searched += (searched.empty() ? "" : ", ") + folder.string();
  }
  throw NoDevice("this build has no CUDA plugin (lib" + plugin + ".so is in none of " + searched + ")");
}

}  // namespace

void* plugin_symbol(const std::string& plugin, const char* symbol) {
  static std::mutex mutex;
  static std::map<std::string, void*> handles;
  const std::lock_guard lock(mutex);
  auto known = handles.find(plugin);
  if (known == handles.end()) known = handles.emplace(plugin, opened(plugin)).first;
  void* const address = dlsym(known->second, symbol);
  if (address == nullptr) throw NoDevice(plugin + " has no " + symbol + ": " + last_failure());
  return address;
}

}  // namespace ulpscope::gpu

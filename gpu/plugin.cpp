// SPDX-License-Identifier: Apache-2.0
// Looks for shared objects in a few folders and opens them once.
#include "gpu/plugin.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
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

std::vector<fs::path> plugin_folders() {
  std::vector<fs::path> folders;
  if (const char* const named = std::getenv("ULPSCOPE_PLUGINS"); named != nullptr && *named != '\0')
    folders.emplace_back(named);
  std::error_code unknown;
  const fs::path program = fs::read_symlink("/proc/self/exe", unknown);
  if (unknown) return folders;
  folders.push_back(program.parent_path());
  folders.push_back(program.parent_path().parent_path() / "lib" / "ulpscope");
  return folders;
}

/// What dlerror() says of the last failure.
std::string last_failure() {
  const char* const words = dlerror();
  return words == nullptr ? "no reason given" : words;
}

/// Why somebody else could have written what lies there; empty where nobody could.
std::string distrust(const fs::path& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return path.string() + ": " + std::strerror(errno);
  if (facts.st_uid != 0 && facts.st_uid != ::geteuid())
    return path.string() + " belongs neither to root nor to the user who runs this program";
  // Root's group, and the group that a user has alone, which has the user's number.
  const bool private_group = facts.st_gid == 0 || facts.st_gid == facts.st_uid;
  const mode_t others = private_group ? S_IWOTH : S_IWOTH | S_IWGRP;
  return (facts.st_mode & others) == 0 ? std::string() : path.string() + " can be written by others";
}

void check_trusted(const std::string& plugin, const fs::path& folder, const fs::path& file) {
  for (const fs::path& path : {folder, file.parent_path(), file})
    if (const std::string why = distrust(path); !why.empty()) throw NoDevice(plugin + " is not opened: " + why);
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
  for (const fs::path& folder : plugin_folders()) {
    const fs::path file = folder / ("lib" + plugin + ".so");
    std::error_code unknown;
    if (fs::exists(file, unknown)) {
      const fs::path real = fs::canonical(file, unknown);
      check_trusted(plugin, folder, real);
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

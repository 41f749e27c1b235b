// SPDX-License-Identifier: Apache-2.0
// Looks for shared objects in a few folders and opens them once.
#include "gpu/plugin.hpp"

#include <dlfcn.h>

#include <cstdlib>
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

void* opened(const std::string& plugin) {
  std::string searched;
  for (const fs::path& folder : plugin_folders()) {
    const fs::path file = folder / ("lib" + plugin + ".so");
    std::error_code unknown;
    if (fs::exists(file, unknown)) {
      void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle == nullptr) throw NoDevice(plugin + " cannot be opened: " + last_failure());
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

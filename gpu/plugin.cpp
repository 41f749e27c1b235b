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
#include <fstream>
#include <limits>
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

/// Whether this process sees few of the system's users, as in a container without root's rights: all others are `nobody`.
bool sees_few_users() {
  std::uint64_t inside = 0, outside = 0, count = 0;
  std::ifstream("/proc/self/uid_map") >> inside >> outside >> count;
  return count != 0 && count < std::uint64_t{std::numeric_limits<std::uint32_t>::max()};
}

/// A folder above the plugin's that is not as safe, and yet no danger: one whose owner cannot be seen, and to which nobody else
/// writes, or one that is no more open than the folder of the program, which could be replaced there.
bool is_no_danger(const fs::path& folder, const fs::path& program) {
  struct stat facts {
  }, of_program{};
  if (::stat(folder.c_str(), &facts) != 0 || has_access_list(folder)) return false;
  uid_t nobody = 65534;
  std::ifstream("/proc/sys/kernel/overflowuid") >> nobody;
  const mode_t open_to = facts.st_mode & (S_IWGRP | S_IWOTH);
  if (facts.st_uid == nobody && open_to == 0 && sees_few_users()) return true;
  return ::stat(program.parent_path().c_str(), &of_program) == 0 && facts.st_uid == of_program.st_uid &&
         facts.st_gid == of_program.st_gid && (open_to & ~of_program.st_mode) == 0;
}

/// A file in its folder, and every folder on the way to it: whoever can write to one of them can put another in its place. But
/// for those that the program lies in as well, which would be replaced itself.
void check_trusted(const std::string& plugin, const fs::path& file, const fs::path& program) {
  fs::path path;
  for (const fs::path& name : file) {
    path /= name;
    const bool is_above = path != file && path != file.parent_path();
    std::error_code unknown;
    const fs::path real = fs::canonical(path, unknown);
    if (is_above && (std::ranges::mismatch(real, program).in1 == real.end() || is_no_danger(path, program))) continue;
    const std::string why = distrust(path, is_above ? Shared::trusted : Shared::refused);
    if (!why.empty()) throw NoDevice(plugin + " is not opened: " + why);
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
      check_trusted(plugin, fs::absolute(file), program);  // as it is named, and where that leads
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

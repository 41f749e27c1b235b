// SPDX-License-Identifier: Apache-2.0
// A file that appears whole or not at all. Everything that this project writes is written through it, or by several of it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "files/descriptor.hpp"
#include "files/folder.hpp"
#include "files/read_file.hpp"

namespace ulpscope::files {

/// It takes its name only when commit() says so, in place of a file that has it, whose permissions it keeps. Until then it has
/// no name, so that nothing is left of it however the program ends; where a file system has no nameless files, or the program
/// no /proc, it has a random one (`temporary_mark`). A link is never followed to a file: it is refused. A device or a pipe is
/// written to.
class NewFile {
 public:
  /// @throws ulpscope::Error naming the file and the reason, as all members do
  explicit NewFile(const std::string& path);
  /// In a folder that may be anyone's: nothing but a file is replaced, and nothing is written to.
  NewFile(const Folder& folder, const std::string& name);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  /// Appends bytes.
  void write(const void* bytes, std::size_t size);
  void write(std::string_view bytes) { write(bytes.data(), bytes.size()); }
  /// Has the bytes of a file that nobody writes to any more, in place of its own: as a further name of it where it can have one
  /// in the folder, else as a copy.
  void take(OpenFile file);
  /// Gives the file its name, once its bytes are on the disk. Without it nothing is left.
  void commit();

 private:
  friend class NewFiles;
  /// Where the bytes are until commit().
  enum class Place : std::uint8_t { nameless, temporary, target };

  [[noreturn]] void fail(const std::string& reason) const;
  [[noreturn]] void fail(int error) const;
  Kind look();
  void write_to_what_is_there();
  void begin(Kind former);
  void keep_permissions();
  int link(const Descriptor& file);
  /// The bytes are on the disk, under a temporary name.
  void finish();

  std::string path_, name_, temporary_;
  Folder folder_;
  Place place_ = Place::nameless;
  mode_t mode_ = 0;  ///< of the file that is replaced, as what follows
  uid_t owner_ = 0;
  gid_t group_ = 0;
  std::optional<std::string> access_list_;  ///< nothing: it cannot be known
  bool replaces_ = false;
  Descriptor file_;
};

/// A file of these bytes. @throws ulpscope::Error
void write_file(const std::string& path, std::string_view bytes);

/// In the names of files on their way: `.NAME.ulpscope-part-RANDOM`.
inline constexpr std::string_view temporary_mark = ".ulpscope-part-";
/// A new one for `name`, of 16 random hexadecimal digits.
std::string temporary_name(const std::string& name);
/// Whether it is one of those.
bool is_temporary_name(std::string_view name) noexcept;

}  // namespace ulpscope::files

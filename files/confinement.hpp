// SPDX-License-Identifier: Apache-2.0
// What a command may do beside reading and computing, while its words are a file's and not the user's.
#pragma once

#include <optional>
#include <string>

namespace ulpscope::files {

/// What is allowed.
struct Allowed {
  std::string whose;                              ///< whose words are followed, for messages: `R/manifest.json`
  bool programs = false;                          ///< starting programs, loading libraries
  std::optional<std::string> writing_below = {};  ///< the one folder in which files and folders may be made; none: anywhere
};

/// While it lives, nothing else is done: what would be throws. One in another allows no more than that does. For the whole
/// process; to be made and ended by a thread that runs alone.
class Confinement {
 public:
  /// From now on.
  explicit Confinement(Allowed allowed);
  Confinement(const Confinement&) = delete;
  Confinement& operator=(const Confinement&) = delete;
  ~Confinement();

 private:
  std::optional<Allowed> outer_;
};

/// Every place that makes a file or a folder asks first. @throws ulpscope::Error where a Confinement forbids it
void check_may_write(const std::string& path);
/// The folder in which alone files may be made; empty where a Confinement names none.
std::string writing_below();
/// Every place that starts a program or loads a library that is not this project's asks first, with its name. @throws
/// ulpscope::Error
void check_may_start(const std::string& program);

}  // namespace ulpscope::files

// SPDX-License-Identifier: Apache-2.0
// Other people's code runs in a process that this one watches: when it crashes or ends the process, be it with success, its
// name is said in one line and the command fails.
#pragma once

#include <string>

namespace ulpscope::cli {

/// From where it is made the command goes on in a child of this process, which waits, hands signals on and ends as the child
/// does. Where that ends while the object lives, `subject` is said to have crashed or to have ended it, and the exit code is
/// bad_usage; when the object has gone the exit code is the command's, whatever the subject does at the end of the process. To
/// be made by a thread that runs alone, before anything is printed.
class OwnProcess {
 public:
  /// @throws ulpscope::Error where no process can be started
  explicit OwnProcess(const std::string& subject);
  ~OwnProcess();
  OwnProcess(const OwnProcess&) = delete;
  OwnProcess& operator=(const OwnProcess&) = delete;

  /// To be called by what ends the program of its own accord, without destructors: no subject has.
  static void is_ended_by_itself() noexcept;
};

}  // namespace ulpscope::cli

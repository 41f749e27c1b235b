// SPDX-License-Identifier: Apache-2.0
// A program that somebody names, with all that it starts: none of it outlives this process or the time that it has.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ulpscope::verify {

/// How a program ended: by itself, by a signal, or because its time was up.
struct ChildEnd {
  std::optional<int> exit_code;  ///< where it ended by itself
  int signal = 0;                ///< else the signal
  bool timed_out = false;        ///< neither: its time was up
  int interrupted_by = 0;        ///< a signal to this process (SIGINT, SIGTERM, SIGHUP) that ended the program, too
  std::string last_line = {};    ///< of what it printed; cut to what fits into a message
};

/// An open file, closed at the end.
class Descriptor {
 public:
  Descriptor() = default;
  /// Of an open file, which it closes; -1 for none.
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  /// Closes its own, takes the other's.
  Descriptor& operator=(Descriptor&& other) noexcept {
    close();
    value_ = std::exchange(other.value_, -1);
    return *this;
  }
  /// The open file, or -1.
  int get() const noexcept { return value_; }
  /// Closes it now.
  void close() noexcept;

 private:
  int value_ = -1;
};

/// Which ends of pipes a program has.
enum class ChildPipes : std::uint8_t {
  output,           ///< its input is empty; what it prints, errors too, is read
  input_and_output  ///< both are pipes; its errors go where ours go
};

/// A program that runs. Between it and this process stands another, which starts the program in a process group of its own,
/// adopts what the program leaves behind (PR_SET_CHILD_SUBREAPER), and ends all of it with SIGKILL: once the program has ended,
/// when end() is called, and when this process is gone, however it went. The program writes no core file, and no file beyond
/// largest_child_file.
class Child {
 public:
  /// words[0] is looked for in PATH. What it prints goes to the file `log`, which is no link, where one is named. `folder` is
  /// one that this process has made: where this process is gone before the program's end, the files in it go too, and it, if
  /// nothing else is there. @throws ulpscope::Error where it cannot be started
  Child(const std::vector<std::string>& words, ChildPipes pipes, const std::string& log = {}, const std::string& folder = {});
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  Descriptor input, output;  ///< our ends; closing them is the caller's

  /// How it ended, if it does within that time.
  std::optional<ChildEnd> wait(std::chrono::milliseconds time);
  /// Becomes readable when the program has ended.
  int ended() const noexcept { return report_.get(); }
  /// Ends the program and what it has started; returns when they are gone.
  void end() noexcept;

 private:
  pid_t keeper_ = -1;
  Descriptor life_, report_;
  Descriptor unread_;  ///< the other end of life_, which may be written to even when the keeper is gone
  std::optional<ChildEnd> known_;
};

/// Where a program lies, looked for as execvp(3) does; empty where there is none.
std::string path_of_program(const std::string& word);

/// Bytes.
inline constexpr std::uint64_t largest_child_file = std::uint64_t{1} << 36;

/// Runs a program to its end or for `timeout_s` seconds, without input. What it prints goes to the file `log`, or is read and
/// forgotten but for its end. `folder` is as of a Child. @throws ulpscope::Error where there is no such program.
ChildEnd run_child(const std::vector<std::string>& words, double timeout_s, const std::string& log = {},
                   const std::string& folder = {});

}  // namespace ulpscope::verify

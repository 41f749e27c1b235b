// SPDX-License-Identifier: Apache-2.0
// A program as a subject: inputs through one pipe, results through another, both at once.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "emu/error.hpp"
#include "verify/conform/subject.hpp"

extern char** environ;

namespace ulpscope::verify {
namespace {

constexpr std::size_t inputs_a_write = std::size_t{1} << 16;
constexpr int pipe_bytes = 1 << 20;  // what an unprivileged process may ask for (pipe(7))

/// An end of a pipe.
class End {
 public:
  End() = default;
  explicit End(int descriptor) : descriptor_(descriptor) {}
  ~End() { close(); }
  End(const End&) = delete;
  End& operator=(End&& other) noexcept {
    close();
    descriptor_ = std::exchange(other.descriptor_, -1);
    return *this;
  }
  int get() const { return descriptor_; }
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }

 private:
  int descriptor_ = -1;
};

Error failed(const std::string& what) { return Error(what + ": " + std::strerror(errno)); }

void make_pipe(End& reading, End& writing) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw failed("no pipe for --program");
  reading = End(ends[0]);
  writing = End(ends[1]);
  ::fcntl(ends[1], F_SETPIPE_SZ, pipe_bytes);  // slower without, not wrong
}

/// Starts the shell in a process group of its own, with the signals that it expects.
pid_t spawn(const std::string& command, int in, int out) {
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t defaults;
  ::sigemptyset(&defaults);
  ::sigaddset(&defaults, SIGPIPE);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const char* const words[] = {"sh", "-c", command.c_str(), nullptr};
  pid_t child = -1;
  errno = ::posix_spawn(&child, "/bin/sh", &files, &attributes, const_cast<char* const*>(words), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (errno != 0) throw failed("--program cannot be started");
  return child;
}

class Program final : public Subject {
 public:
  Program(const std::string& command, const Questions& questions)
      : command_(command), questions_(questions), word_bytes_(word_bytes(questions.to)) {
    End in, out;
    make_pipe(in, to_child_);
    make_pipe(from_child_, out);
    child_ = spawn(command, in.get(), out.get());
    writer_ = std::thread([this] { write_inputs(); });
  }
  ~Program() override {
    writer_stops_ = true;
    from_child_.close();
    if (child_ > 0) {
      ::kill(-child_, SIGKILL);  // the whole group: the pipe breaks only when its last reader is gone
      ::waitpid(child_, nullptr, 0);
    }
    if (writer_.joinable()) writer_.join();
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  bool in_order() const override { return true; }

  void results(std::uint64_t, const Words&, Words& results) override {
    const std::span<std::byte> room = results.bytes();
    for (std::size_t done = 0; done < room.size();) {
      const std::size_t got = read_some(room.subspan(done));
      if (got == 0) throw Error(short_of(received_ + done));
      done += got;
    }
    received_ += room.size();
  }

  void finish() override {
    std::byte more;
    if (read_some({&more, 1}) != 0)
      throw Error("--program '" + command_ + "': wrote more than the " + asked_bytes() + " that were asked for");
    const std::string end = ending();
    writer_.join();
    if (!end.empty()) throw Error("--program '" + command_ + "': wrote every result, but " + end);
  }

 private:
  void write_inputs() {
    Words words(questions_.inputs.format(), 0);
    for (std::uint64_t at = questions_.first; at < questions_.end && !writer_stops_; at += inputs_a_write) {
      words.resize(static_cast<std::size_t>(std::min<std::uint64_t>(inputs_a_write, questions_.end - at)));
      questions_.inputs.fill(at, words);
      if (!write_all(words.bytes())) break;
    }
    to_child_.close();
  }
  /// Whether the program has taken everything.
  bool write_all(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t put = ::write(to_child_.get(), bytes.data(), bytes.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return false;  // EPIPE: the reader of its results says what is wrong
      bytes = bytes.subspan(static_cast<std::size_t>(put));
    }
    return true;
  }
  std::size_t read_some(std::span<std::byte> room) {
    for (;;) {
      const ssize_t got = ::read(from_child_.get(), room.data(), room.size());
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) throw failed("--program '" + command_ + "': cannot be read");
    }
  }
  /// How the program ended, empty if well; `patience_ms` after the end of its output it is ended.
  std::string ending() {
    constexpr int patience_ms = 2000, pause_ms = 5;
    int status = 0;
    pid_t ended = 0;
    for (int waited = 0; waited < patience_ms && (ended = ::waitpid(child_, &status, WNOHANG)) <= 0; waited += pause_ms)
      std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
    if (ended != child_) {
      ::kill(-child_, SIGKILL);
      ::waitpid(child_, &status, 0);
      child_ = -1;
      return "closed its output without ending";
    }
    child_ = -1;
    if (WIFSIGNALED(status)) return std::string("was killed by signal ") + std::to_string(WTERMSIG(status));
    // The shell's way to say that what it ran was killed.
    constexpr int killed = 128;
    const int code = WEXITSTATUS(status);
    if (code > killed) return "was killed by signal " + std::to_string(code - killed);
    return code == 0 ? "" : "exited with code " + std::to_string(code);
  }
  std::string asked_bytes() const {
    const std::uint64_t count = questions_.end - questions_.first;
    return std::to_string(count * word_bytes_) + " bytes (" + std::to_string(count) + " results of " +
           std::to_string(word_bytes_) + ")";
  }
  std::string short_of(std::uint64_t bytes) {
    from_child_.close();
    const std::string end = ending();
    return "--program '" + command_ + "': wrote " + std::to_string(bytes) + " of " + asked_bytes() + " and " +
           (end.empty() ? "ended" : end);
  }

  std::string command_;
  Questions questions_;
  std::size_t word_bytes_;
  End to_child_, from_child_;
  pid_t child_ = -1;
  std::uint64_t received_ = 0;  ///< bytes
  std::atomic<bool> writer_stops_ = false;
  std::thread writer_;
};

}  // namespace

std::unique_ptr<Subject> start_program(const std::string& command, const Questions& questions) {
  return std::make_unique<Program>(command, questions);
}

}  // namespace ulpscope::verify

// SPDX-License-Identifier: Apache-2.0
// Lays out what the keeper needs, starts it, and hears from it how the program ended.
#include "verify/child_process.hpp"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <string_view>

#include "emu/error.hpp"
#include "files/confinement.hpp"
#include "verify/child_keeper.hpp"

namespace ulpscope::verify {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int pipe_bytes = 1 << 20;  // what an unprivileged process may ask for (pipe(7))

/// The same file, not among the standard ones, one of which may be closed.
Descriptor beyond_standard(int descriptor, const std::string& what) {
  const auto checked = [&](int given) {
    if (given < 0) throw Error("cannot be run: " + what + ": " + ::strerror(errno));
    return Descriptor(given);
  };
  if (descriptor < 0 || descriptor > STDERR_FILENO) return checked(descriptor);
  const Descriptor low(descriptor);
  return checked(::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

void make_pipe(Descriptor& reading, Descriptor& writing) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Error(std::string("cannot be run: no pipe: ") + ::strerror(errno));
  reading = beyond_standard(ends[0], "no pipe");
  writing = beyond_standard(ends[1], "no pipe");
}

/// How long to wait, for poll(2).
int left_ms(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

volatile sig_atomic_t caught = 0;
void note(int signal) { caught = signal; }

/// While it lives, signals that would end this process are only noted.
class NotedSignals {
 public:
  NotedSignals() {
    caught = 0;
    struct sigaction noting = {};
    noting.sa_handler = note;
    for (std::size_t i = 0; i < signals.size(); ++i) {
      ::sigaction(signals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) ::sigaction(signals[i], &noting, nullptr);
    }
  }
  ~NotedSignals() {
    for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &before_[i], nullptr);
  }
  NotedSignals(const NotedSignals&) = delete;
  NotedSignals& operator=(const NotedSignals&) = delete;

 private:
  static constexpr std::array<int, 3> signals{SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, 3> before_ = {};
};

/// The end of what a program prints.
class Tail {
 public:
  /// Reads what is there. @returns whether more may come
  bool read(int descriptor) {
    std::array<char, 1 << 16> piece;
    const ssize_t got = ::read(descriptor, piece.data(), piece.size());
    if (got < 0) return errno == EINTR || errno == EAGAIN;
    text_.append(piece.data(), static_cast<std::size_t>(got));
    if (text_.size() > 2 * kept) text_.erase(0, text_.size() - kept);
    return got > 0;
  }
  /// The last line that is not empty, cut to what fits into a message.
  std::string last_line() const {
    constexpr std::size_t longest = 200;
    const std::size_t last = text_.find_last_not_of(" \t\r\n");
    if (last == std::string::npos) return {};
    const std::size_t before = text_.find_last_of('\n', last);
    const std::size_t first = before == std::string::npos ? 0 : before + 1;
    return text_.substr(first, std::min(last + 1 - first, longest));
  }

 private:
  static constexpr std::size_t kept = 4096;
  std::string text_;
};

}  // namespace

void Descriptor::close() noexcept {
  if (value_ >= 0) ::close(value_);
  value_ = -1;
}

std::string path_of_program(const std::string& word) {
  if (word.find('/') != std::string::npos) return word;
  const char* const path = std::getenv("PATH");
  std::string_view folders = path == nullptr ? "/bin:/usr/bin" : path;
  for (;;) {
    const std::size_t end = folders.find(':');
    const std::string_view folder = folders.substr(0, end);
    std::string file = (folder.empty() ? std::string(".") : std::string(folder)) + "/" + word;
    if (::access(file.c_str(), X_OK) == 0) return file;
    if (end == folders.npos) return {};
    folders.remove_prefix(end + 1);
  }
}

Child::Child(const std::vector<std::string>& words, ChildPipes pipes, const std::string& log, const std::string& folder) {
  std::string command = "the program";
  for (const std::string& word : words) command += " " + word;
  files::check_may_start(command);
  Descriptor in, out, report, removed;
  if (pipes == ChildPipes::input_and_output) {
    make_pipe(in, input);
    ::fcntl(input.get(), F_SETPIPE_SZ, pipe_bytes);  // slower without, not wrong
  } else {
    in = beyond_standard(::open("/dev/null", O_RDONLY | O_CLOEXEC), "/dev/null");
  }
  if (log.empty()) {
    make_pipe(output, out);
    ::fcntl(out.get(), F_SETPIPE_SZ, pipe_bytes);
  } else {
    files::check_may_write(log);
    out = beyond_standard(::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600), log);
  }
  if (!folder.empty())
    removed = beyond_standard(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), folder);
  make_pipe(unread_, life_);
  make_pipe(report_, report);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const std::string path = path_of_program(words[0]);
  keeper_ = detail::start_keeper({.program = path.c_str(),
                                  .words = arguments.data(),
                                  .environment = environ,
                                  .in = in.get(),
                                  .out = out.get(),
                                  .errors_to_out = pipes == ChildPipes::output,
                                  .life = unread_.get(),
                                  .report = report.get(),
                                  .folder = removed.get(),
                                  .folder_path = folder.c_str()});
  if (keeper_ < 0) throw Error(std::string("cannot be run: ") + ::strerror(errno));
}

std::optional<ChildEnd> Child::wait(std::chrono::milliseconds time) {
  if (known_) return known_;
  const Clock::time_point deadline = Clock::now() + time;
  pollfd ended{report_.get(), POLLIN, 0};
  int ready = 0;
  while ((ready = ::poll(&ended, 1, left_ms(deadline))) < 0 && errno == EINTR) {
  }
  if (ready <= 0) return std::nullopt;
  detail::KeeperReport report{};
  ssize_t got = 0;
  while ((got = ::read(report_.get(), &report, sizeof report)) < 0 && errno == EINTR) {
  }
  ChildEnd end;
  if (got != static_cast<ssize_t>(sizeof report))
    end.signal = SIGKILL;  // of the keeper
  else if (report.exec_error != 0)
    throw Error(std::string("cannot be run: ") + ::strerror(report.exec_error));
  else if (WIFEXITED(report.status))
    end.exit_code = WEXITSTATUS(report.status);
  else
    end.signal = WTERMSIG(report.status);
  known_ = end;
  return end;
}

void Child::end() noexcept {
  constexpr char told = 0;
  while (life_.get() >= 0 && ::write(life_.get(), &told, 1) < 0 && errno == EINTR) {
  }
  life_.close();
  if (keeper_ <= 0) return;
  while (::waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) {
  }
  keeper_ = -1;
}

ChildEnd run_child(const std::vector<std::string>& words, double timeout_s, const std::string& log,
                   const std::string& folder) try {
  const NotedSignals noted;
  Child child(words, ChildPipes::output, log, folder);
  if (log.empty()) ::fcntl(child.output.get(), F_SETFL, O_NONBLOCK);
  // More seconds than a century has are no limit.
  const auto limit = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(timeout_s, 4e9)));
  const Clock::time_point deadline = Clock::now() + limit;
  Tail printed;
  ChildEnd end;
  for (bool more = log.empty();;) {
    std::array<pollfd, 2> files{{{child.ended(), POLLIN, 0}, {more ? child.output.get() : -1, POLLIN, 0}}};
    constexpr int longest_ms = 100;  // another thread may have been given the signal
    const int ready = ::poll(files.data(), files.size(), std::min(left_ms(deadline), longest_ms));
    end.interrupted_by = caught;
    end.timed_out = caught == 0 && Clock::now() >= deadline;
    if (end.interrupted_by != 0 || end.timed_out) break;
    if (ready > 0 && files[1].revents != 0) more = printed.read(child.output.get());
    if (ready <= 0 || files[0].revents == 0) continue;
    end = child.wait(std::chrono::milliseconds(0)).value_or(ChildEnd{});
    break;
  }
  child.end();
  for (int i = 0; log.empty() && i < 64 && printed.read(child.output.get()); ++i) {
  }
  end.last_line = printed.last_line();
  return end;
} catch (const Error& error) {
  throw Error("program " + words[0] + ": " + error.what());
}

}  // namespace ulpscope::verify

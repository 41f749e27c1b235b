// SPDX-License-Identifier: Apache-2.0
// A program as a subject: inputs through one pipe, results through another, both at once.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "emu/error.hpp"
#include "requests/numbers.hpp"
#include "verify/child_process.hpp"
#include "verify/conform/subject.hpp"

namespace ulpscope::verify {
namespace {

constexpr std::size_t inputs_a_write = std::size_t{1} << 16;

class Program final : public Subject {
 public:
  Program(const ProgramCall& call, const Questions& questions)
      : command_(call.command),
        longest_silence_s_(call.longest_silence_s),
        questions_(questions),
        word_bytes_(word_bytes(questions.to)),
        child_({"/bin/sh", "-c", call.command}, ChildPipes::input_and_output) {
    writer_ = std::thread([this] { write_inputs(); });
  }
  ~Program() override {
    writer_stops_ = true;
    child_.output.close();
    child_.end();  // the writer's pipe breaks when its last reader is gone
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
    if (read_some({&more, 1}) != 0) throw Error(named() + "wrote more than the " + asked_bytes() + " that were asked for");
    const std::string end = ending();
    writer_.join();
    if (!end.empty()) throw Error(named() + "wrote every result, but " + end);
  }

 private:
  void write_inputs() {
    Words words(questions_.inputs.format(), 0);
    for (std::uint64_t at = questions_.first; at < questions_.end && !writer_stops_; at += inputs_a_write) {
      words.resize(static_cast<std::size_t>(std::min<std::uint64_t>(inputs_a_write, questions_.end - at)));
      questions_.inputs.fill(at, words);
      if (!write_all(words.bytes())) break;
    }
    child_.input.close();
  }
  /// Whether the program has taken everything.
  bool write_all(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t put = ::write(child_.input.get(), bytes.data(), bytes.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return false;  // EPIPE: the reader of its results says what is wrong
      bytes = bytes.subspan(static_cast<std::size_t>(put));
    }
    return true;
  }
  std::size_t read_some(std::span<std::byte> room) {
    for (;;) {
      wait_for_output();
      const ssize_t got = ::read(child_.output.get(), room.data(), room.size());
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) throw Error(named() + "cannot be read: " + std::strerror(errno));
    }
  }
  void wait_for_output() const {
    pollfd output{child_.output.get(), POLLIN, 0};
    const double most_ms = std::min(1000 * longest_silence_s_, 2e9);
    const int ready = ::poll(&output, 1, static_cast<int>(most_ms));
    if (ready == 0)
      throw Error(named() + "gave nothing for " + requests::shortest(longest_silence_s_) +
                  " s and was ended; --timeout allows more");
  }
  std::string named() const { return "--program '" + command_ + "': "; }
  /// How the program ended, empty if well; some time after the end of its output it is ended.
  std::string ending() {
    constexpr std::chrono::seconds patience{2};
    const std::optional<ChildEnd> end = child_.wait(patience);
    child_.end();
    if (!end) return "closed its output without ending";
    if (!end->exit_code) return "was killed by signal " + std::to_string(end->signal);
    // The shell's way to say that what it ran was killed.
    constexpr int killed = 128;
    const int code = *end->exit_code;
    if (code > killed) return "was killed by signal " + std::to_string(code - killed);
    return code == 0 ? "" : "exited with code " + std::to_string(code);
  }
  std::string asked_bytes() const {
    const std::uint64_t count = questions_.end - questions_.first;
    return std::to_string(count * word_bytes_) + " bytes (" + std::to_string(count) + " results of " +
           std::to_string(word_bytes_) + ")";
  }
  std::string short_of(std::uint64_t bytes) {
    child_.output.close();
    const std::string end = ending();
    return named() + "wrote " + std::to_string(bytes) + " of " + asked_bytes() + " and " + (end.empty() ? "ended" : end);
  }

  std::string command_;
  double longest_silence_s_;
  Questions questions_;
  std::size_t word_bytes_;
  Child child_;
  std::uint64_t received_ = 0;  ///< bytes
  std::atomic<bool> writer_stops_ = false;
  std::thread writer_;
};

}  // namespace

std::unique_ptr<Subject> start_program(const ProgramCall& call, const Questions& questions) {
  return std::make_unique<Program>(call, questions);
}

}  // namespace ulpscope::verify

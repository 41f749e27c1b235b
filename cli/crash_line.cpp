// SPDX-License-Identifier: Apache-2.0
// A signal handler that writes a prepared line and ends the process.
#include "cli/crash_line.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "cli/commands.hpp"

namespace ulpscope::cli {
namespace {

// A signal handler may read only what has been laid out before.
constexpr std::array fatal{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
std::array<char, 512> message;
std::size_t message_size = 0;
std::array<struct sigaction, fatal.size()> before;

extern "C" void say_and_exit(int) {
  if (::write(STDERR_FILENO, message.data(), message_size) < 0) ::_exit(own_error);
  ::_exit(bad_usage);
}

}  // namespace

CrashLine::CrashLine(const std::string& line) {
  const std::string text = "ulpscope: " + line.substr(0, message.size() - 16) + "\n";
  message_size = text.size();
  std::copy(text.begin(), text.end(), message.begin());
  struct sigaction action {};
  action.sa_handler = say_and_exit;
  for (std::size_t i = 0; i < fatal.size(); ++i) ::sigaction(fatal[i], &action, &before[i]);
}

CrashLine::~CrashLine() {
  for (std::size_t i = 0; i < fatal.size(); ++i) ::sigaction(fatal[i], &before[i], nullptr);
}

}  // namespace ulpscope::cli

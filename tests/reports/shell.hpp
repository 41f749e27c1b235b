// SPDX-License-Identifier: Apache-2.0
// Commands of tests, with redirections.
#pragma once

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

/// The exit code of a command of the shell; -1 where it has none.
inline int exit_code_of(std::string command) {
  std::string shell = "sh", option = "-c";
  std::array<char*, 4> words{shell.data(), option.data(), command.data(), nullptr};
  pid_t child = 0;
  int status = 0;
  if (posix_spawn(&child, "/bin/sh", nullptr, nullptr, words.data(), environ) != 0) return -1;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

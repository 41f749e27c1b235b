// SPDX-License-Identifier: Apache-2.0
// The process between this one and a program that it starts. It is forked from a process with threads, so that all it does
// until it ends is asynchronous-signal-safe (POSIX.1-2017, 2.4.3): no memory is taken.
#pragma once

#include <sys/types.h>

namespace ulpscope::verify::detail {

/// What the keeper writes to `report`.
struct KeeperReport {
  int exec_error;  ///< the errno of a program that could not be started; else 0
  int status;      ///< as of waitpid()
};

/// What the keeper is given: all is laid out before the fork.
struct KeeperTask {
  const char* program;       ///< its path
  char* const* words;        ///< argv
  char* const* environment;  ///< envp
  int in, out;               ///< the program's standard input and output
  bool errors_to_out;        ///< whether its standard error is `out` too
  int life;                  ///< reads a byte when all is to end, the end of the file when the process that started it is gone
  int report;                ///< takes a KeeperReport, closed on exec
  int folder;                ///< goes, with the files in it, where that process is gone before the program's end; or -1
  const char* folder_path;   ///< where it is
};

/// Starts the keeper. @returns its process, or -1 with errno
pid_t start_keeper(const KeeperTask& task);

}  // namespace ulpscope::verify::detail

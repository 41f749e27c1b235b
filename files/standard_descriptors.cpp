// SPDX-License-Identifier: Apache-2.0
// Opens /dev/null the other way round.
#include "files/standard_descriptors.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace ulpscope::files {

void hold_standard_descriptors() noexcept {
  for (int standard = STDIN_FILENO; standard <= STDERR_FILENO; ++standard) {
    if (::fcntl(standard, F_GETFD) >= 0 || errno != EBADF) continue;
    // The least free number is taken: those below are in use.
    if (::open("/dev/null", standard == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

}  // namespace ulpscope::files

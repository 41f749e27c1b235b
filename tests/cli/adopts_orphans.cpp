// SPDX-License-Identifier: Apache-2.0
// Whether this system gives a process the children that its own leave behind. Exit code 0 if it does: Linux since 3.4, qemu since some
// version after 7.2.
#include <sys/prctl.h>

int main() { return ::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 ? 0 : 1; }

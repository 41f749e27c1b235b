// SPDX-License-Identifier: Apache-2.0
// Any bytes as a recording: read or refused, never a crash.
#include "tests/fuzz/read_recording.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read_recording_input(data, size);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Any bytes as a .safetensors: read or refused, never a crash.
#include "tests/fuzz/read_everything.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read_everything(data, size, read_safetensors_whole);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/read_everything.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read_everything(data, size, read_safetensors_whole);
  return 0;
}

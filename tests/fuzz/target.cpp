// SPDX-License-Identifier: Apache-2.0
// One target of libFuzzer; the build says which.
#include "tests/fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ulpscope::fuzz::ULPSCOPE_FUZZ_READER(data, size);
  return 0;
}

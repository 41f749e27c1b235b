// SPDX-License-Identifier: Apache-2.0
// Joins what the files for each instruction set offer.
#include "gpu/cpu/cpu_elements.hpp"

#include <utility>

namespace ulpscope::gpu {

std::vector<CpuElements> cpu_elements() {
  std::vector<CpuElements> found;
  const auto add = [&](const char* device, std::shared_ptr<const Elementwise> elementwise) {
    if (elementwise != nullptr) found.push_back({device, std::move(elementwise)});
  };
  add("cpu:avx512_bf16", detail::avx512_bf16_elements());
  add("cpu:avx512_fp16", detail::avx512_fp16_elements());
  add("cpu:avx512f", detail::avx512f_elements());
  add("cpu:f16c", detail::f16c_elements());
  add("cpu:sse2", detail::sse2_elements());
  add("cpu:arm_bf16", detail::arm_bf16_elements());
  add("cpu:arm_fp16", detail::arm_fp16_elements());
  add("cpu:neon", detail::neon_elements());
  return found;
}

}  // namespace ulpscope::gpu

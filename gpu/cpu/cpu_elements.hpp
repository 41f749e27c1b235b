// SPDX-License-Identifier: Apache-2.0
// The processor's conversions and arithmetic, element by element. Which there are is decided at run time; on other processors
// than those of x86-64 and 64-bit Arm there are none.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/elementwise.hpp"

namespace ulpscope::gpu {

/// Element operations under the id of the device that they belong to.
struct CpuElements {
  std::string device;                              ///< `cpu:f16c` and others
  std::shared_ptr<const Elementwise> elementwise;  ///< what the instructions compute
};

/// Those of gpu/cpu/element_models.hpp that this processor has. Exceptions are masked and nothing is flushed, whatever the
/// caller's control word says; it is left as it was.
std::vector<CpuElements> cpu_elements();

namespace detail {

/// Each null where the processor or the compiler does not offer it.
std::shared_ptr<const Elementwise> f16c_elements();
std::shared_ptr<const Elementwise> avx512_bf16_elements();
std::shared_ptr<const Elementwise> avx512_fp16_elements();
std::shared_ptr<const Elementwise> avx512f_elements();
std::shared_ptr<const Elementwise> sse2_elements();
std::shared_ptr<const Elementwise> arm_bf16_elements();
std::shared_ptr<const Elementwise> arm_fp16_elements();
std::shared_ptr<const Elementwise> neon_elements();

}  // namespace detail
}  // namespace ulpscope::gpu

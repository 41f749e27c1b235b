// SPDX-License-Identifier: Apache-2.0
// The processor's conversions and arithmetic, element by element. Which there are is decided at run time; on other processors
// than those of x86-64 and 64-bit Arm there are none. Intel 64 and IA-32 Architectures Software Developer's Manual ("SDM"),
// volumes 1 and 2; Arm Architecture Reference Manual for A-profile (DDI 0487).
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

/// Those that this processor has:
///   cpu:f16c          VCVTPS2PH with its four roundings, VCVTPH2PS
///   cpu:avx512_bf16   VCVTNEPS2BF16
///   cpu:avx512_fp16   VADDPH, VSUBPH, VMULPH, VFMADD231PH, VCVTPS2PHX, VCVTPD2PH; VCVTPH2PSX, VCVTPH2PD
///   cpu:avx512f       VADDPS, VSUBPS, VMULPS, VFMADD231PS and the same of PD, VCVTPD2PS; VCVTPS2PD
///   cpu:sse2          ADDPS, SUBPS, MULPS and the same of PD, CVTPD2PS; CVTPS2PD
///   cpu:arm_bf16      BFCVTN
///   cpu:arm_fp16      FADD, FSUB, FMUL, FMLA of 8H
///   cpu:neon          the same of 4S and 2D; FCVTN to 4H and 2S, FCVT from double to half, FCVTXN; FCVTL to 4S and 2D, FCVT
///   from
///                     half to double
/// What rounds by MXCSR or FPCR is there once for each of their roundings, `VADDPS RC=zero`, `FADD 4S RMode=RZ` (SDM volume 1,
/// 10.2.3 and table 4-8; DDI 0487, FPCR). Exceptions are masked and nothing is flushed, whatever the caller's control word
/// says; it is left as it was.
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
